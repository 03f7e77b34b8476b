"""Train: a base model, an objective and examples to an encoder that is saved, searched with and exported like any.

`train` runs one seed and `train_seeds` several; both go on where a run of the same settings was cut off. What a run
leaves is told in semsearch.training.run_folder.folder.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from semsearch.encoders import device as _device
from semsearch.errors import UsageError
from semsearch.training import checks, objectives, rng, schedule
from semsearch.training.bases import Base, base
from semsearch.training.hyperparameters import Settings
from semsearch.training.loop import Loop, Step, Teacher
from semsearch.training.model import Learner
from semsearch.training.objectives import Recipe, _matryoshka
from semsearch.training.run_folder import manifest
from semsearch.training.run_folder.folder import Folder
from semsearch.utils import atomic_write

if TYPE_CHECKING:
    from semsearch.training.datasets.dataset import Examples
    from semsearch.training.run_folder.state import Progress
    from semsearch.training.selection import Dev

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
        return max(self.results, key=lambda each: -math.inf if each.score is None else each.score)


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
    named = {"dev": dev.measure if dev else "", "teacher": teacher_name, "device": device}
    told = manifest.settings(settings, recipe, begins, examples, planned, **named)
    if (known := folder.result(told, force=force)) is not None:
        return Result(folder=folder.path, **known)
    with rng.seeded(device, settings.seed):
        learner = _learner(settings, recipe, begins, device, trust_remote_code)
        objective = _objective(settings, learner.shape, examples)
        checks.check(objective, learner, examples, settings.method, teacher=teacher is not None, batch=planned.batch)
        name = folder.path.resolve().name
        run = Loop(
            learner,
            objective,
            examples,
            planned,
            folder.home,
            dev=dev,
            teacher=teacher,
            keep=lambda at: folder.keep(lambda new: learner.save(new, manifest.origin(told, at), name)),
            report=report,
            title=f"{settings.method} on {Path(begins.trains.name).name}, seed {settings.seed}",
        )
        with folder.held():
            if folder.begin(told, force=force):
                run.resume()
            return _ended(folder, settings.seed, named["dev"], run.run())


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
    atomic_write.write_text(Path(out).expanduser() / SUMMARY, json.dumps(content, indent=1) + "\n")
    return summary


def _learner(settings: Settings, recipe: Recipe, begins: Base, device: str, trust: bool) -> Learner:
    kind = objectives.kind(settings.method)
    options = objectives.options_of(settings.method) | dict(settings.options)
    return Learner(
        begins,
        recipe,
        device=device,
        precision=settings.precision,
        trust=trust,
        frozen_copy=kind.frozen_copy,
        prepare=partial(kind.prepare, options=options),
        weights=kind.weights(device, options),
    )


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


def _ended(folder: Folder, seed: int, measure: str, at: Progress) -> Result:
    """What a run that is done came to, which its folder says from now on."""
    found: dict[str, Any] = {"seed": seed, "score": at.best, "measure": measure, "step": at.best_step, "steps": at.step}
    found["seconds"] = round(at.seconds, 3)
    folder.end(found)
    return Result(folder.path, **found)
