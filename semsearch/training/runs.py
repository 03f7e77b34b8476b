"""Runs of training as they lie in their folders, read while they grow and without PyTorch.

run/settings.json    what it was told            run/metrics.jsonl    loss and scores, line by line
run/result.json      what it came to, once done  run/writer.pid       who is at it
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from semsearch.errors import Corrupt, NotFound
from semsearch.utils import writer_lock

RUN = "run"
SETTINGS, METRICS, RESULT = "settings.json", "metrics.jsonl", "result.json"


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One run. `metrics` are lines with step and loss, or with step and dev (percent) and what it measures.

    Of one that is "running" `pid` is the process; one that is "stopped" goes on as its command is given again.
    """

    folder: Path
    state: Literal["running", "stopped", "done"]
    settings: Mapping[str, Any]
    metrics: Sequence[Mapping[str, Any]]
    result: Mapping[str, Any] | None = None
    pid: int | None = None

    @property
    def step(self) -> int:
        """The last one that was told of."""
        return max((int(line.get("step", 0)) for line in self.metrics), default=0)


def training_run(folder: str | Path) -> TrainingRun:
    """The run in `folder`, as it is now. Raises NotFound where there is none, Corrupt where it cannot be read."""
    path = Path(folder).expanduser()
    home = path / RUN
    settings = _json(home / SETTINGS)
    if settings is None:
        raise NotFound(f"{path} holds no run of training.", "Begin one: semsearch train … -o DIR")
    pid, result = (
        writer_lock.holder(home),
        _json(home / RESULT),
    )  # in this order: the result is there before the lock is gone
    state: Literal["running", "stopped", "done"] = "running" if pid else "done" if result else "stopped"
    return TrainingRun(path, state, settings, lines(home / METRICS), result, pid)


def training_runs(home: str | Path) -> list[TrainingRun]:
    """The runs in the folders of `home`, the latest first, each seed of several as one. What cannot be read is none."""
    return [run for run, _ in sorted(_found(Path(home).expanduser()), key=lambda item: -item[1])]


def lines(file: Path) -> list[dict[str, Any]]:
    """All whole lines. One may have been cut short as the run was killed, or be zeros since the power failed."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [found for line in text.splitlines() if (found := _line(line)) is not None]


def _found(home: Path) -> Iterator[tuple[TrainingRun, float]]:
    """Each with the time at which it was begun, or begun again."""
    for pattern in (f"*/{RUN}/{SETTINGS}", f"*/seed-*/{RUN}/{SETTINGS}"):
        for file in home.glob(pattern):
            try:
                yield training_run(file.parents[1]), file.stat().st_mtime
            except (NotFound, Corrupt, OSError):
                continue


def _line(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _json(file: Path) -> dict[str, Any] | None:
    """The object in `file`, None where there is none. Raises Corrupt."""
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        again = "Name another folder with -o, or say --force to start anew."
        raise Corrupt(f"{file} cannot be read: {error}.", again) from error
