"""The trainer: one run, or one run per seed, from a base model and a dataset to a saved encoder.

Both continue an interrupted run of the same settings. semsearch.training.run_folder.folder describes the files.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import torch

from semsearch.encoders import device as _device
from semsearch.errors import UsageError
from semsearch.training import checks, objectives
from semsearch.training.base_model import load_base
from semsearch.training.datasets.dataset import Dataset
from semsearch.training.hyperparameters import Shape
from semsearch.training.loop import Loop, Teacher, TrainingStep
from semsearch.training.model import TrainableModel
from semsearch.training.objectives._base import BaseObjective
from semsearch.training.objectives._matryoshka import MatryoshkaObjective
from semsearch.training.optimisation import rng, schedule
from semsearch.training.run_folder import manifest
from semsearch.training.run_folder.folder import RunFolder
from semsearch.training.training_config import TrainingConfig
from semsearch.training.validation import Validation
from semsearch.utils import atomic_write

SUMMARY = "summary.json"


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """What a run is given beside its configuration and its data.

    The encoder with the best score on `validation` is saved, without a validation the last. `teacher` returns vectors
    (n, d) of texts, for distillation, and is recorded as `teacher_name`. `force` replaces another run in the folder.
    Code that comes with a model runs only with `trust_remote_code`. `report` is called after every step, `preparing`
    with words for what is done before the first.
    """

    validation: Validation | None = None
    teacher: Teacher | None = None
    teacher_name: str = ""
    force: bool = False
    trust_remote_code: bool = False
    report: Callable[[TrainingStep], None] | None = None
    preparing: Callable[[str], object] = str


DEFAULTS = TrainingOptions()


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a run. `score` is the best validation score in percent (None without a validation).

    It was reached after `step` of `steps` steps.
    """

    folder: Path
    seed: int
    score: float | None
    measure: str
    step: int
    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SeedsResult:
    """The runs of several seeds: mean and sample standard deviation (n - 1) of their scores."""

    results: tuple[TrainingResult, ...]
    mean: float | None
    deviation: float | None

    @property
    def best(self) -> TrainingResult:
        """The run with the highest score."""
        return max(self.results, key=lambda each: -math.inf if each.score is None else each.score)


def train(
    config: TrainingConfig, dataset: Dataset, out: str | Path, options: TrainingOptions = DEFAULTS
) -> TrainingResult:
    """Train one encoder into the folder `out`, continuing an interrupted run of the same settings.

    Raises UsageError where `out` has other contents, or where configuration, dataset and base model do not go together.
    """
    validation, preparing = options.validation, options.preparing
    folder, device = RunFolder(Path(out).expanduser()), _device.torch_device(config.device)
    hyperparameters = config.hyperparameters()
    preparing(f"loading the base model {config.base}")
    base = load_base(config.base, hyperparameters, trust=options.trust_remote_code)
    if folder.path.resolve() in (base.folder.resolve(), *base.folder.resolve().parents):
        raise UsageError(
            f"{folder.path} contains the base model itself.", "Name another folder.", "Name another folder: -o DIR"
        )
    if config.threads:
        torch.set_num_threads(config.threads)
    plan = schedule.plan(
        dataset, hyperparameters, steps=config.steps or 0, grad_cache_size=config.grad_cache_size, seed=config.seed
    )
    measure = validation.measure if validation else ""
    preparing(f"comparing the {len(dataset):,} examples with an earlier run")
    settings = manifest.settings(
        config, hyperparameters, base, dataset, plan, dev=measure, teacher=options.teacher_name, device=device
    )
    if (earlier := folder.result(settings, force=options.force)) is not None:
        return TrainingResult(folder=folder.path, **earlier)
    with rng.seeded(device, config.seed):
        preparing(f"building the model on {device}")
        model = TrainableModel(
            base,
            hyperparameters,
            config.method,
            config.options,
            device=device,
            precision=config.precision,
            trust=options.trust_remote_code,
        )
        objective = _objective(config, model.shape, dataset)
        checks.check_data(
            objective, dataset, config.method, has_teacher=options.teacher is not None, batch_size=plan.batch_size
        )
        model.check_prompts(objective.views)
        name = folder.path.resolve().name
        loop = Loop(
            model,
            objective,
            dataset,
            plan,
            folder.home,
            validation=validation,
            teacher=options.teacher,
            save_best=lambda at: folder.save_best(lambda new: model.save(new, manifest.origin(settings, at), name)),
            report=options.report,
            title=f"{config.method} on {Path(base.training.name).name}, seed {config.seed}",
            save_seconds=config.save_seconds,
        )
        with folder.locked():
            if folder.begin(settings, force=options.force):
                preparing("reading the saved state")
                loop.resume()
            preparing("the first step")
            end = loop.run()
            seconds = round(end.seconds, 3)
            result = TrainingResult(folder.path, config.seed, end.best, measure, end.best_step, end.step, seconds)
            folder.end({key: value for key, value in asdict(result).items() if key != "folder"})
            return result


def train_seeds(
    config: TrainingConfig,
    seeds: Sequence[int],
    dataset: Dataset,
    out: str | Path,
    options: TrainingOptions = DEFAULTS,
) -> SeedsResult:
    """`train` once per seed, into `out`/seed-N; `out`/summary.json has mean and deviation. Complete runs are reused."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise UsageError(f"the seeds are {list(seeds)}.", "Name one or more, each once.")
    results = tuple(train(replace(config, seed=seed), dataset, Path(out) / f"seed-{seed}", options) for seed in seeds)
    scores = [each.score for each in results if each.score is not None]
    mean = statistics.fmean(scores) if scores else None
    summary = SeedsResult(results, mean, statistics.stdev(scores) if len(scores) > 1 else None)
    content = {
        "mean": summary.mean,
        "deviation": summary.deviation,
        "measure": results[0].measure,
        "best": summary.best.folder.name,
        "seeds": {str(each.seed): {"score": each.score, "step": each.step} for each in results},
    }
    atomic_write.write_text(Path(out).expanduser() / SUMMARY, json.dumps(content, indent=1) + "\n")
    return summary


def _objective(config: TrainingConfig, shape: Shape, dataset: Dataset) -> BaseObjective:
    """The objective, applied at several lengths of the vectors where the configuration names them."""
    classes = dataset.class_count() if objectives.load(config.method).labels == "class" else 0
    shape = replace(shape, columns=tuple(dataset.columns), classes=classes)
    make = partial(objectives.make, config.method, options=config.options)
    return MatryoshkaObjective(shape, config.matryoshka_dims, make) if config.matryoshka_dims else make(shape)
