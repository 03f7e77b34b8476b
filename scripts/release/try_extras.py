#!/usr/bin/env python3
"""Install every extra from the wheel, each in an environment of its own, and use it from an empty folder; as Markdown.

    pip install uv
    python -m scripts.release.try_extras [--wheel FILE] [--python 3.11 3.12 …] [--extra cpu …]
        [--constraint torch==2.13.0]

Without --wheel, the last commit is built first. The Pythons are those that uv finds on this machine. For a Python that
it does not find, all that is checked is whether every package has a wheel for it. The extra `gpu` is only resolved.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.release import build_package
from scripts.shared.places import CHECKOUT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LEFT_OUT = ("dev", "bench")  # for work on semsearch itself
RESOLVED = ("gpu",)
SECONDS = 900.0  # an installation, or a command
IMPORTED = {"docs": "pypdfium2", "map": "umap", "train": "torch, transformers, peft, onnx, onnxscript"}
SERVERS = {"serve": ("serve", "/healthz"), "ui": ("ui", "/_stcore/health")}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--python", nargs="+", default=PYTHONS, metavar="X.Y")
    parser.add_argument("--extra", nargs="+", default=extras(), metavar="NAME")
    parser.add_argument("--constraint", nargs="+", default=[], metavar="PACKAGE==VERSION")
    options = parser.parse_args()
    print("| Python | extra | installed in | size | |\n|---|---|---|---|---|", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel or build_package.build(CHECKOUT, Path(folder))[-1]
        limits = Path(folder, "constraints.txt")
        limits.write_text("\n".join(options.constraint), encoding="utf-8")
        for python in options.python:
            for extra in options.extra:
                tried = Trial(python, extra, wheel.resolve(), limits)
                problem = tried.resolve() if extra in RESOLVED or not installed(python) else tried.install(Path(folder))
                failed += bool(problem)
                result = problem or tried.said
                print(
                    f"| {python} | `{extra}` | {tried.seconds:.0f} s | {tried.megabytes:.0f} MB | {result} |",
                    flush=True,
                )
    return 1 if failed else 0


def extras() -> list[str]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in project["optional-dependencies"] if name not in LEFT_OUT]


def installed(python: str) -> bool:
    return not _problem("uv", "python", "find", "--no-python-downloads", python)


class Trial:
    """One extra under one Python."""

    def __init__(self, python: str, extra: str, wheel: Path, limits: Path) -> None:
        self.python, self.extra, self.limits = python, extra, limits
        self.requirement = f"semsearch[{','.join(dict.fromkeys(('cpu', extra)))}] @ {wheel.as_uri()}"
        if extra == "gpu":
            self.requirement = f"semsearch[gpu] @ {wheel.as_uri()}"
        self.seconds, self.megabytes, self.said = 0.0, 0.0, ""

    def resolve(self) -> str:
        """Look for a wheel of every package; the problem, or an empty text."""
        file = self.limits.with_name("wanted.in")
        file.write_text(self.requirement, encoding="utf-8")
        self.said = "every package has a wheel; not run"
        words = ("--python-version", self.python, "--only-binary", ":all:", "--constraint", str(self.limits))
        return _problem("uv", "pip", "compile", "-q", *words, str(file))

    def install(self, folder: Path) -> str:
        """Install, and use what the extra is for; the problem, or an empty text."""
        venv = folder / "venv"
        shutil.rmtree(venv, ignore_errors=True)
        began = time.monotonic()
        problem = _problem("uv", "venv", "-q", "--no-python-downloads", "--python", self.python, str(venv)) or _problem(
            *("uv", "pip", "install", "-q", "--python", str(venv)), "--constraint", str(self.limits), self.requirement
        )
        self.seconds = time.monotonic() - began
        self.megabytes = sum(file.lstat().st_size for file in venv.rglob("*") if file.is_file()) / 1e6
        return problem or self._use(venv, folder / "empty")

    def _use(self, venv: Path, folder: Path) -> str:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "notes").mkdir()
        (folder / "notes" / "bread.txt").write_text("The dough has to rise overnight.", encoding="utf-8")
        (folder / "notes" / "brakes.txt").write_text("Squealing pads are worn down.", encoding="utf-8")
        program = str(venv / ("Scripts" if os.name == "nt" else "bin") / "semsearch")
        for words in (("index", "notes"), ("query", "a loaf of bread"), ("doctor",)):
            if problem := _problem(program, *words, cwd=folder):
                return problem
        self.said = "index, query, doctor"
        if modules := IMPORTED.get(self.extra):
            self.said += f", import {modules}"
            python = venv / ("Scripts" if os.name == "nt" else "bin") / "python"
            return _problem(str(python), "-c", f"import {modules}", cwd=folder)
        if self.extra not in SERVERS:
            return ""
        command, path = SERVERS[self.extra]
        self.said += f", {command}"
        return answers(lambda port: [program, command, "--port", str(port)], path, folder)


def answers(command: Callable[[int], Sequence[str]], path: str, folder: Path) -> str:
    """Start a server and wait until it answers at `path`; the problem, or an empty text."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command(port), cwd=folder, env=_bare(folder), stdout=log, stderr=log)
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end and server.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5)
                return ""
            except urllib.error.HTTPError as error:
                return "" if error.code in (401, 403) else f"answered {error.code}"
            except OSError:
                time.sleep(0.2)
    finally:
        server.terminate()
        server.wait()
    return "did not answer: " + _end((folder / "log").read_bytes())


def _bare(folder: Path) -> dict[str, str]:
    """An environment without settings of this machine's user."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEMSEARCH", "PYTHON", "XDG"))}
    return kept | {"HOME": str(folder), "BROWSER": "true"}


def _problem(*words: str, cwd: Path | None = None) -> str:
    """Run a command; why it failed, or an empty text."""
    env = _bare(cwd) if cwd is not None else None
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, timeout=SECONDS, check=False)
    return f"{words[0].rpartition('/')[2]} {words[1]}: {_end(done.stderr)}" if done.returncode else ""


def _end(output: bytes) -> str:
    return " ".join(output.decode(errors="replace").split()[-40:]).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
