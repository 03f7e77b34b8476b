"""Training runs on disk, readable while they grow and without PyTorch.

run/settings.json    the configuration          run/writer.pid    the process that is training
run/result.json      the result, once done     run/step          what is done at this moment, as one object of JSON
run/metrics.jsonl    a line for every few steps and for every validation:
    {"step": 10, "loss": 2.31, "rate": 1e-05, "seconds": 12.3}
    {"step": 125, "dev": 77.02, "measure": "Spearman on STS-B dev"}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from semsearch.errors import Corrupt, NotFound
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils import atomic_write, writer_lock

RUN = "run"
SETTINGS, METRICS, RESULT, STEP = "settings.json", "metrics.jsonl", "result.json", "step"
NOT_COMPARED = ("versions", "threads", "micro", "fingerprint", "serves", "rows_sha256")  # of no interest to a person
SHORT_NAMES = {
    "recipe": "",
    "options": "",
    "base.name": "base",
    "examples.source": "data",
    "examples.count": "examples",
}
START_ANEW = (  # in Python, and at the command line
    "Name another folder, or use force=True to start anew.",
    "Name another folder with -o, or use --force to start anew.",
)

State = Literal["running", "stopped", "done"]
Doing = Literal["training", "validating"]


@dataclass(frozen=True, slots=True)
class TrainingMoment:
    """The last step of a run: its own loss, the seconds spent so far and those that are left, None where not known.

    `doing` tells a validation, which may take longer than many steps, from training.
    """

    step: int = 0
    loss: float | None = None
    seconds: float = 0.0
    seconds_left: float | None = None
    doing: Doing = "training"


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One run. `metrics` are the lines described above; `pid` is the process of a "running" run.

    A "stopped" run continues when its command is repeated. `moment` is written at every step; a run of an earlier
    version has only the metrics.
    """

    folder: Path
    state: State
    settings: JsonMapping
    metrics: Sequence[JsonMapping]
    result: JsonMapping | None = None
    pid: int | None = None
    moment: TrainingMoment = TrainingMoment()

    @property
    def step(self) -> int:
        """The number of the last step."""
        return max(self.moment.step, *(int(line.get("step", 0)) for line in self.metrics), 0)

    @property
    def steps(self) -> int:
        """The number of all steps; 0 where it is not known."""
        return int(self.settings.get("steps") or 0)

    @property
    def losses(self) -> list[tuple[int, float]]:
        """Step and loss, the mean of up to ten steps; at last the loss of the latest step alone."""
        means = [(int(line["step"]), float(line["loss"])) for line in self.metrics if "loss" in line]
        last, loss = self.moment.step, self.moment.loss
        return [*means, (last, loss)] if loss is not None and last > (means[-1][0] if means else 0) else means

    @property
    def scores(self) -> list[tuple[int, float]]:
        """Step and validation score, in percent."""
        return [(int(line["step"]), float(line["dev"])) for line in self.metrics if line.get("dev") is not None]

    @property
    def best(self) -> tuple[int, float] | None:
        """The step with the highest validation score, the first of equals, and that score."""
        return max(self.scores, key=lambda each: each[1], default=None)

    @property
    def measure(self) -> str:
        """What the scores are; "" without a validation."""
        measures = [str(line["measure"]) for line in self.metrics if "measure" in line]
        return measures[-1] if measures else str(self.settings.get("dev") or "")


@dataclass(frozen=True, slots=True)
class RunDifference:
    """One setting in each of several runs, None where a run has none, and whether the runs differ in it."""

    name: str
    values: tuple[str | None, ...]
    differs: bool


def training_run(folder: str | Path) -> TrainingRun:
    """The run in `folder`, as it is now. Raises NotFound where there is none, Corrupt where it cannot be read."""
    path = Path(folder).expanduser()
    home = path / RUN
    settings = read_json(home / SETTINGS)
    if settings is None:
        raise NotFound(
            f"{path} is not the folder of a training run.",
            "Start one with semsearch.training.train.",
            "Start one: semsearch train … -o DIR",
        )
    pid = writer_lock.holder(home)  # before the result, which is written while the lock is held
    result = read_json(home / RESULT)
    state: State = "running" if pid else "done" if result else "stopped"
    return TrainingRun(path, state, settings, read_metrics(home), result, pid, _read_moment(home))


def training_runs(home: str | Path) -> list[TrainingRun]:
    """The runs in the folders of `home`, latest first, one per seed. Unreadable folders are skipped."""
    started = []
    for pattern in (f"*/{RUN}/{SETTINGS}", f"*/seed-*/{RUN}/{SETTINGS}"):
        for file in Path(home).expanduser().glob(pattern):
            with suppress(NotFound, Corrupt, OSError):
                started.append((training_run(file.parents[1]), file.stat().st_mtime))
    return [run for run, _ in sorted(started, key=lambda item: -item[1])]


def compare_settings(runs: Sequence[TrainingRun]) -> list[RunDifference]:
    """The settings of the runs side by side: those in which they differ first, each by its name.

    >>> one, other = (TrainingRun(Path("x"), "done", {"seed": seed, "recipe": {"batch": 8}}, ()) for seed in (0, 1))
    >>> [(each.name, each.values, each.differs) for each in compare_settings([one, other])]
    [('seed', ('0', '1'), True), ('batch', ('8', '8'), False)]
    """
    flat = [dict(_flat(run.settings)) for run in runs]
    names = dict.fromkeys(name for each in flat for name in each)
    rows = [
        RunDifference(name, values := tuple(each.get(name) for each in flat), len(set(values)) > 1) for name in names
    ]
    return sorted(rows, key=lambda each: (not each.differs, each.name))


def _flat(settings: JsonMapping, within: str = "") -> list[tuple[str, str]]:
    """Names and values in words; of parts that are settings themselves, those of each."""
    rows: list[tuple[str, str]] = []
    for key, value in settings.items():
        if key in NOT_COMPARED:
            continue
        name = SHORT_NAMES.get(f"{within}{key}", f"{within}{key}")
        if isinstance(value, Mapping):
            rows += _flat(value, f"{name}." if name else "")
        else:
            rows.append((name, _written(value)))
    return rows


def _written(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_written, value)) if isinstance(value, list) else str(value)


def base_model_of(name: str) -> str:
    """The base model of the encoder in the folder `name`, as Encoder.load accepts it; "" if unknown.

    In a folder that was copied from another machine, it may be a path that does not exist here.
    """
    folder = Path(Reference.parse(name).model).expanduser() if name else Path()
    if not name or not folder.is_dir():
        return ""
    settings, manifest = folder / RUN / SETTINGS, folder / bundles.MANIFEST
    for file, keys in ((settings, ("base", "name")), (manifest, ("origin", "trained", "base", "name"))):
        with suppress(Corrupt, KeyError, TypeError):
            value: Any = read_json(file)
            for key in keys:
                value = value[key]
            if value and isinstance(value, str):
                return value
    return ""


def read_metrics(home: Path) -> list[JsonObject]:
    """All complete lines in the folder `home`. The last may be cut off by a kill, or be zeros after a power failure."""
    try:
        text = (home / METRICS).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    rows = []
    for line in text.splitlines():
        with suppress(ValueError):
            rows.append(json.loads(line))
    return [line for line in rows if isinstance(line, dict)]


def write_moment(home: Path, moment: TrainingMoment) -> None:
    """Record the last step for those who watch the run; nothing is resumed from it."""
    (home / STEP).write_text(json.dumps(asdict(moment)), encoding="ascii")


def _read_moment(home: Path) -> TrainingMoment:
    """The last step; that of no step where there is none, or it is just being written."""
    with suppress(OSError, ValueError, TypeError):
        content: Any = json.loads((home / STEP).read_text(encoding="ascii"))
        return TrainingMoment(**content) if isinstance(content, dict) else TrainingMoment(int(content))
    return TrainingMoment()


def append_metrics(home: Path, line: Mapping[str, object]) -> None:
    """Write `line` at the end of the metrics, as one line of JSON."""
    with (home / METRICS).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def truncate_metrics(home: Path, step: int) -> None:
    """Remove the lines after `step`, which will be written again."""
    lines = [line for line in read_metrics(home) if line["step"] <= step]
    atomic_write.write_text(home / METRICS, "".join(f"{json.dumps(line)}\n" for line in lines))


def read_json(file: Path) -> JsonObject | None:
    """The object in `file`, None where there is no file. Raises Corrupt."""
    try:
        content: JsonObject = json.loads(file.read_text(encoding="utf-8"))
        return content
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Corrupt(f"{file} cannot be read: {error}.", *START_ANEW) from error
