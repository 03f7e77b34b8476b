"""Train: a base model, an objective and examples to an encoder that is saved, searched with and exported like any.

`train` runs one seed and `train_seeds` several; both go on where a run of the same settings was cut off. What a run
leaves is told in semsearch.train.folder.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from semsearch import durable, objectives
from semsearch.encoders import _device
from semsearch.errors import UsageError
from semsearch.objectives import Recipe, _matryoshka
from semsearch.train import chance, checks, schedule, state
from semsearch.train.bases import Base, base
from semsearch.train.folder import Folder
from semsearch.train.learner import Learner
from semsearch.train.loop import Loop, Step, Teacher
from semsearch.train.settings import Settings

if TYPE_CHECKING:
    from semsearch.examples import Examples
    from semsearch.train.selection import Dev

__all__ = ["Result", "Settings", "Step", "Summary", "train", "train_seeds"]

SUMMARY = "summary.json"
Report = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What a run came to. `score` is the best on dev, in percent, reached after `step` steps; None without a dev."""

    folder: Path
    seed: int
    score: float | None
    measure: str
    step: int
    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Several seeds: the mean of their scores, the sample deviation (n - 1), and the folder of the best of them."""

    results: tuple[Result, ...]
    mean: float | None
    deviation: float | None

    @property
    def best(self) -> Result:
        return max(self.results, key=lambda each: -1.0 if each.score is None else each.score)


def train(
    settings: Settings,
    examples: Examples,
    out: str | Path,
    *,
    dev: Dev | None = None,
    teacher: Teacher | None = None,
    teacher_name: str = "",
    force: bool = False,
    trust_remote_code: bool = False,
    report: Report | None = None,
) -> Result:
    """Train one encoder into the folder `out`, going on where a run of the same settings was cut off.

    The encoder that is best on `dev` is kept, or the last without one. Raises UsageError where `out` holds something
    else (`force` starts anew), or where settings, data and base do not go together.
    """
    folder, device = Folder(Path(out).expanduser()), _device.torch_device(settings.device)
    recipe = settings.recipe()
    begins = base(settings.base, recipe, trust=trust_remote_code)
    _elsewhere(folder.path, begins)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    planned = schedule.plan(examples, recipe, steps=settings.steps or 0, micro=settings.micro, seed=settings.seed)
    told = _told(settings, recipe, begins, examples, device) | {
        "steps": planned.steps,
        "dev": dev.measure if dev else "",
        "teacher": teacher_name,
    }
    if (known := folder.result(told, force=force)) is not None:
        (folder.home / state.FILE).unlink(missing_ok=True)
        return Result(folder=folder.path, **known)
    with chance.seeded(device, settings.seed):
        kind, options = objectives.kind(settings.method), told["options"]
        learner = Learner(
            begins,
            recipe,
            device=device,
            precision=settings.precision,
            trust=trust_remote_code,
            frozen_copy=kind.frozen_copy,
            prepare=partial(kind.prepare, options=options),
            weights=kind.weights(device, options),
        )
        objective = _objective(settings, learner.shape, examples)
        checks.check(objective, learner, examples, settings.method, teacher=teacher is not None)
        going_on = folder.begin(told, force=force)
        name = folder.path.resolve().name
        run = Loop(
            learner,
            objective,
            examples,
            planned,
            folder.home,
            dev=dev,
            teacher=teacher,
            keep=lambda at: folder.keep(
                lambda new: learner.save(new, {"trained": {**told, "step": at.step, "score": at.best}}, name)
            ),
            report=report,
            title=f"{settings.method} on {Path(begins.trains.name).name}, seed {settings.seed}",
        )
        if going_on:
            run.resume()
        at = run.run()
    result = Result(
        folder=folder.path,
        seed=settings.seed,
        score=at.best,
        measure=told["dev"],
        step=at.best_step,
        steps=at.step,
        seconds=round(at.seconds, 3),
    )
    folder.end({key: value for key, value in asdict(result).items() if key != "folder"})
    return result


def train_seeds(
    settings: Settings,
    seeds: Sequence[int],
    examples: Examples,
    out: str | Path,
    *,
    dev: Dev | None = None,
    teacher: Teacher | None = None,
    teacher_name: str = "",
    force: bool = False,
    trust_remote_code: bool = False,
    report: Report | None = None,
) -> Summary:
    """`train` once a seed, into `out`/seed-N; mean and deviation in `out`/summary.json. Seeds that are done stay so."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise UsageError(f"the seeds are {list(seeds)}.", "Name one or several, each of them once.")
    results = tuple(
        train(
            replace(settings, seed=seed),
            examples,
            Path(out) / f"seed-{seed}",
            dev=dev,
            teacher=teacher,
            teacher_name=teacher_name,
            force=force,
            trust_remote_code=trust_remote_code,
            report=report,
        )
        for seed in seeds
    )
    scores = [each.score for each in results if each.score is not None]
    mean = statistics.fmean(scores) if scores else None
    summary = Summary(results, mean, statistics.stdev(scores) if len(scores) > 1 else None)
    content = {
        "mean": summary.mean,
        "deviation": summary.deviation,
        "measure": results[0].measure,
        "best": summary.best.folder.name,
        "seeds": {str(each.seed): {"score": each.score, "step": each.step} for each in results},
    }
    durable.write(Path(out).expanduser() / SUMMARY, json.dumps(content, indent=1) + "\n")
    return summary


def _objective(settings: Settings, shape: objectives.Shape, examples: Examples) -> objectives.Base:
    """The objective, which may have to serve the beginning of a vector too."""
    classes = objectives.kind(settings.method).labels == "class" and examples.labels
    full = replace(
        shape, columns=tuple(examples.columns), classes=objectives.classes(examples.labels or ()) if classes else 0
    )
    make = partial(objectives.make, settings.method, options=settings.options)
    return _matryoshka.Nested(full, settings.dims, make) if settings.dims else make(full)


def _elsewhere(out: Path, begins: Base) -> None:
    if out.resolve() in (begins.folder.resolve(), *begins.folder.resolve().parents):
        raise UsageError(f"{out} is where the base itself lies.", "Name another folder: -o DIR")


def _told(settings: Settings, recipe: Recipe, begins: Base, examples: Examples, device: str) -> dict[str, Any]:
    """What is needed to repeat a run, and to see whether another is the same: as JSON has it."""
    own = {key: getattr(settings, key) for key in ("method", "seed", "micro", "precision", "dims")}
    told = {
        **own,
        "options": objectives.options_of(settings.method) | dict(settings.options),
        "recipe": {each.name: getattr(recipe, each.name) for each in fields(Recipe)},
        "base": {
            "name": str(settings.base),
            "fingerprint": begins.trains.fingerprint,
            "serves": begins.serves.fingerprint,
        },
        "trains": begins.trains.prompts["passage"].text,
        "serves": begins.serves.prompts["passage"].text,
        "examples": {"source": examples.source, "count": len(examples), "rows_sha256": _hash(examples)},
        "versions": {name: version(name) for name in ("semsearch", "torch", "transformers")},
        "threads": torch.get_num_threads(),
        "device": device,
    }
    found: dict[str, Any] = json.loads(json.dumps(told, default=dict))
    return found


def _hash(examples: Examples) -> str:
    """What every row of the data is, in its order, under the names of the columns."""
    digest = hashlib.sha256(json.dumps(list(examples.columns)).encode())
    columns: list[Sequence[Any]] = list(examples.columns.values())
    for row in zip(*columns, *([] if examples.labels is None else [examples.labels]), strict=True):
        digest.update(json.dumps(row).encode())
    return digest.hexdigest()
