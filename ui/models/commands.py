"""Commands of semsearch in processes of their own: hours of work, or gigabytes of memory, stay out of the server.

The folder of a training run records its command and its output, so that any page can watch, stop and resume it at any
time, even after a restart of the server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import streamlit as st

from semsearch import Progress, SemsearchError
from semsearch.training import TrainingRun
from semsearch.types import JsonObject

from ..shared.work import jobs

COMMAND, OUTPUT = "run/command.json", "run/output.log"
LINES = 40  # of the output
POLL = 0.3  # seconds between two looks at a process
PREPARING = "preparing: "  # how `semsearch train` begins a line about that


@dataclass(eq=False, slots=True)
class Processes:
    """The processes that this server has started, by the folder of their run, and the ids of those it has stopped."""

    of: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    stopping: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@st.cache_resource(show_spinner=False)
def _processes() -> Processes:
    return Processes()


def flags(form: str, names: Iterable[str]) -> list[str]:
    """The boxes of a form that are not empty, as flags; the key of a box is FORM.FLAG."""
    values = {name: st.session_state.get(f"{form}.{name}") for name in names}
    texts = {name: f"{value:g}" if isinstance(value, float) else str(value).strip() for name, value in values.items()}
    return [f"--{name}={text}" for name, text in texts.items() if text and values[name] is not None]


def process(arguments: Sequence[str], *, stdout: BinaryIO, stderr: BinaryIO | int) -> subprocess.Popen[bytes]:
    """Start the command; its stdin is closed, so that it cannot prompt."""
    command = [sys.executable, "-m", "semsearch", *arguments]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)


def run(arguments: Sequence[str], report: jobs.Report) -> tuple[bytes, list[str]]:
    """Run the command to its end, within a job: its stdout, and the lines of its stderr, the latest of which is shown.

    Raises Stopped where a person stops it: the command gets a Ctrl-C.
    """
    with tempfile.TemporaryDirectory(prefix="semsearch-") as place:
        answer, notes = Path(place, "answer"), Path(place, "notes")
        with answer.open("wb") as out, notes.open("wb") as err:
            running = process(arguments, stdout=out, stderr=err)
        try:
            while running.poll() is None:
                said = [line for line in _lines(notes) if not line.startswith("{")]
                report(Progress(0, 0, "texts", said[-1] if said else ""))
                time.sleep(POLL)
        finally:
            running.terminate()
            running.wait()
        return answer.read_bytes(), _lines(notes)


def answered(arguments: Sequence[str], report: jobs.Report) -> tuple[JsonObject, list[str]]:
    """Run the command with --json to its end: its answer, and the lines of its stderr.

    Raises SemsearchError where there is no answer, Stopped.
    """
    answer, lines = run(arguments, report)
    try:
        return dict(json.loads(answer)), lines
    except ValueError:
        raise SemsearchError("The command ended without a result.", lines[-1] if lines else "") from None


def _lines(notes: Path) -> list[str]:
    text = notes.read_text(encoding="utf-8", errors="replace").replace("\r", "\n")
    return [line for line in text.splitlines() if line.strip()]


def begin(folder: Path, arguments: Sequence[str]) -> None:
    """Start the run of `folder`, or resume it. Raises SemsearchError while it runs."""
    processes = _processes()
    with processes.lock:
        if is_alive(folder):
            raise SemsearchError(f"{folder.name} is running already.", "Wait for it, or stop it first.")
        try:
            (folder / COMMAND).parent.mkdir(parents=True, exist_ok=True)
            (folder / COMMAND).write_text(json.dumps({"arguments": list(arguments), "in": str(Path.cwd())}))
            with (folder / OUTPUT).open("wb") as output:
                processes.of[str(folder)] = process(arguments, stdout=output, stderr=subprocess.STDOUT)
        except OSError as error:
            raise SemsearchError(f"It could not be started: {error.strerror or error}.", "Check the folder.") from None
        processes.stopping.pop(str(folder), None)


def is_alive(folder: Path) -> bool:
    """Whether this server has started a process for the run that has not ended."""
    process = _processes().of.get(str(folder))
    return process is not None and process.poll() is None


def stop(folder: Path, run: TrainingRun | None) -> None:
    """Have the run save its state after the current step, and end."""
    processes = _processes()
    process = processes.of.get(str(folder))
    pid = run.pid if run and run.pid else process.pid if process and process.poll() is None else None
    if pid is not None and pid != os.getpid():
        processes.stopping[str(folder)] = pid
        try:
            os.kill(pid, signal.SIGTERM)  # a server in the background may have left SIGINT ignored
        except OSError as error:  # it has ended by itself, or belongs to another user
            raise SemsearchError(f"{folder.name} was not stopped: {error.strerror or error}.") from None


def stopping(folder: Path, pid: int | None) -> bool:
    """Whether that process was stopped from a page."""
    return pid is not None and _processes().stopping.get(str(folder)) == pid


def command_of(folder: Path) -> list[str]:
    """The arguments of the run's command; empty for a run that no page has started."""
    try:
        return [str(each) for each in json.loads((folder / COMMAND).read_text(encoding="utf-8"))["arguments"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def age(folder: Path) -> float:
    """The seconds since the run was started from a page; 0 where none has."""
    with suppress(OSError):
        return max(0.0, time.time() - (folder / COMMAND).stat().st_mtime)
    return 0.0


def output(folder: Path) -> list[str]:
    """The last lines of its output."""
    try:
        text = (folder / OUTPUT).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-LINES:]


def preparing(folder: Path) -> str:
    """What the run does before its first step, as its output says; "" where that says nothing of it."""
    steps = [line.removeprefix(PREPARING) for line in output(folder) if line.startswith(PREPARING)]
    return steps[-1] if steps else ""


def error(folder: Path) -> str:
    """The last error in its output."""
    errors = [line.removeprefix("error: ") for line in output(folder) if line.startswith("error: ")]
    return errors[-1] if errors else ""
