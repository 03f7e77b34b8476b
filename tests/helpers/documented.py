"""Pages of the documentation as what people type: their blocks of code, and their commands, run in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from helpers.commandline import Ran, run_console

CHECKOUT = Path(__file__).resolve().parents[2]
SHELL = re.compile(r"[|<>;&]|^(?!semsearch )")  # what only a shell can run


def page(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def console(text: str, places: dict[str, str]) -> Iterator[tuple[str, Ran]]:
    """Each command of a page that is typed after `$`, and what it did: it has to succeed and to print something.

    It runs in the checkout with `places` in the environment and no settings of its own; in this process, or in a shell
    where it needs one.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SEMSEARCH_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    before = Path.cwd()
    os.chdir(CHECKOUT)
    try:
        for command in re.findall(r"^\$ (.*)$", "\n".join(blocks(text, "console")), flags=re.MULTILINE):
            if SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
                done = subprocess.run(
                    ["bash", "-c", command], env={**kept, "PATH": path, **places}, capture_output=True
                )
                ran = Ran(done.returncode, done.stdout, done.stderr.decode())
            else:
                ran = run_console(command, places)
            assert ran.code == 0, f"{command}\n{ran.err}"
            assert ran.out.strip(), command
            yield command, ran
    finally:
        os.chdir(before)
