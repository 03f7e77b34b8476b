"""Training runs on disk, readable while they grow and without PyTorch.

run/settings.json    the configuration          run/metrics.jsonl    loss and scores, line by line
run/result.json      the result, once done      run/writer.pid       the process that is training
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from semsearch.errors import Corrupt, NotFound
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference
from semsearch.types import JsonObject
from semsearch.utils import writer_lock

RUN = "run"
SETTINGS, METRICS, RESULT = "settings.json", "metrics.jsonl", "result.json"
START_ANEW = "Name another folder with -o, or use --force to start anew."

State = Literal["running", "stopped", "done"]


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One run. `metrics` are lines with step and loss, or with step, dev (a score in percent) and its measure.

    `pid` is the process of a "running" one. A "stopped" run continues when its command is given again.
    """

    folder: Path
    state: State
    settings: Mapping[str, Any]
    metrics: Sequence[Mapping[str, Any]]
    result: Mapping[str, Any] | None = None
    pid: int | None = None

    @property
    def step(self) -> int:
        """The last step in the metrics."""
        return max((int(line.get("step", 0)) for line in self.metrics), default=0)


def training_run(folder: str | Path) -> TrainingRun:
    """The run in `folder`, as it is now. Raises NotFound where there is none, Corrupt where it cannot be read."""
    path = Path(folder).expanduser()
    home = path / RUN
    settings = read_json(home / SETTINGS)
    if settings is None:
        raise NotFound(f"{path} is not the folder of a training run.", "Start one: semsearch train … -o DIR")
    pid = writer_lock.holder(home)  # before the result, which is written while the lock is held
    result = read_json(home / RESULT)
    state: State = "running" if pid else "done" if result else "stopped"
    return TrainingRun(path, state, settings, read_lines(home / METRICS), result, pid)


def training_runs(home: str | Path) -> list[TrainingRun]:
    """The runs in the folders of `home`, latest first, one per seed. Unreadable folders are skipped."""
    return [run for run, _ in sorted(_find_runs(Path(home).expanduser()), key=lambda item: -item[1])]


def base_model_of(name: str) -> str:
    """The model that the encoder in the folder `name` was trained from, as Encoder.load accepts it; "" if unknown.

    In a folder that was copied from another machine, the name may be a path that does not exist here.
    """
    folder = Path(Reference.parse(name).model).expanduser() if name else Path()
    if not name or not folder.is_dir():
        return ""
    base = _lookup(folder / RUN / SETTINGS, "base", "name")
    base = base or _lookup(folder / bundles.MANIFEST, "origin", "trained", "base", "name")
    return base if isinstance(base, str) else ""


def read_lines(file: Path) -> list[JsonObject]:
    """All complete JSON lines. The last may be cut short by a kill, or be zeros after a power failure."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [found for line in text.splitlines() if (found := _parse_line(line)) is not None]


def read_json(file: Path) -> JsonObject | None:
    """The object in `file`, None where there is no file. Raises Corrupt."""
    try:
        found: JsonObject = json.loads(file.read_text(encoding="utf-8"))
        return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Corrupt(f"{file} cannot be read: {error}.", START_ANEW) from error


def _find_runs(home: Path) -> Iterator[tuple[TrainingRun, float]]:
    """Each run with the time at which it was last started."""
    for pattern in (f"*/{RUN}/{SETTINGS}", f"*/seed-*/{RUN}/{SETTINGS}"):
        for file in home.glob(pattern):
            try:
                yield training_run(file.parents[1]), file.stat().st_mtime
            except (NotFound, Corrupt, OSError):
                continue


def _parse_line(text: str) -> JsonObject | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _lookup(file: Path, *keys: str) -> object:
    """The value below these keys of a JSON file; None where it is missing or cannot be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
