"""Commands of semsearch in processes of their own: what takes hours, or gigabytes, does not do so in the server.

A run of training keeps in its folder what it was begun by and what it said, so that it can be watched, stopped and
resumed by any page at any time, also by a server that was started since.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import SemsearchError, TrainingRun

COMMAND, OUTPUT = "run/command.json", "run/output.log"
LINES = 40  # of what it said


@dataclass(eq=False, slots=True)
class Started:
    """The processes that this server has begun, by the folder of their run, and those that were asked to stop."""

    of: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    stopping: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@st.cache_resource(show_spinner=False)
def _started() -> Started:
    return Started()


def written(arguments: Sequence[str]) -> str:
    """The command as it is typed."""
    return shlex.join(["semsearch", *arguments])


def process(arguments: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """The command, running. It is not asked anything."""
    return subprocess.Popen([sys.executable, "-m", "semsearch", *arguments], stdin=subprocess.DEVNULL, **how)


def begin(folder: Path, arguments: Sequence[str]) -> None:
    """Begin the run of `folder`, or go on with it. Raises SemsearchError where it runs."""
    started = _started()
    with started.lock:
        if alive(folder):
            raise SemsearchError(f"{folder.name} is running already.", "Wait for it, or stop it first.")
        try:
            (folder / COMMAND).parent.mkdir(parents=True, exist_ok=True)
            (folder / COMMAND).write_text(json.dumps({"arguments": list(arguments), "in": str(Path.cwd())}))
            with (folder / OUTPUT).open("wb") as output:
                started.of[str(folder)] = process(arguments, stdout=output, stderr=subprocess.STDOUT)
        except OSError as error:
            raise SemsearchError(f"it could not be begun: {error.strerror or error}.", "Check the folder.") from None
        started.stopping.pop(str(folder), None)


def alive(folder: Path) -> bool:
    """Whether the process that this server began for the run is there."""
    known = _started().of.get(str(folder))
    return known is not None and known.poll() is None


def stop(folder: Path, run: TrainingRun | None) -> None:
    """Have the run save where it stands, and end, once the step that it is in is done."""
    started = _started()
    known = started.of.get(str(folder))
    pid = run.pid if run and run.pid else known.pid if known and known.poll() is None else None
    if pid is not None and pid != os.getpid():
        started.stopping[str(folder)] = pid
        try:
            os.kill(pid, signal.SIGTERM)  # a server in the background may have left SIGINT ignored
        except OSError as error:  # it has ended by itself, or is another user's
            raise SemsearchError(f"{folder.name} was not stopped: {error.strerror or error}.") from None


def stopping(folder: Path, pid: int | None) -> bool:
    """Whether that process was asked to stop."""
    return pid is not None and _started().stopping.get(str(folder)) == pid


def begun_by(folder: Path) -> list[str]:
    """What the run was begun by; empty where no page has begun it."""
    try:
        return [str(each) for each in json.loads((folder / COMMAND).read_text(encoding="utf-8"))["arguments"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def said(folder: Path) -> list[str]:
    """The last lines of what it said."""
    try:
        text = (folder / OUTPUT).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-LINES:]


def error(folder: Path) -> str:
    """The last error that it told of."""
    found = [line.removeprefix("error: ") for line in said(folder) if line.startswith("error: ")]
    return found[-1] if found else ""
