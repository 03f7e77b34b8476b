"""Programs that a script starts and measures."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """What a program took, by the clock, of the processor and of memory at its peak, and what it wrote."""

    seconds: float
    cpu: float
    megabytes: float
    out: str
    err: str


def command(module: str, *words: object) -> list[str]:
    """The command that runs `scripts.MODULE` with these words; its process has to start in the checkout."""
    return [sys.executable, "-m", f"scripts.{module}", *map(str, words)]


def run(command: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Run:
    """Run a program to its end; one that fails ends this one with its last lines."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        written = []
        for file in (out, err):
            file.seek(0)
            written.append(file.read().decode())
    if process.returncode:
        last = " ".join(written[1].splitlines()[-5:])
        sys.exit(f"error: exit {process.returncode}: {' '.join(command)}: {last}")
    return Run(took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, *written)
