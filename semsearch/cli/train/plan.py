"""Plan of a `train` command: method, base, hyperparameters, options of the method, teacher.

As far as possible it is checked before torch is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import semsearch
from semsearch import training
from semsearch.cli.options import Options, value
from semsearch.cli.output import console
from semsearch.errors import UnknownName, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference
from semsearch.training import objectives, require_packages
from semsearch.types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from semsearch.settings import Settings
    from semsearch.training import TrainingConfig
    from semsearch.training.datasets.dataset import Labels
    from semsearch.training.loop import Teacher

DISTILLATION = "distil"
BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class HyperparameterOptions:
    """The options for hyperparameters; each defaults to the method's own value."""

    HEADING: ClassVar[str] = "Hyperparameters  [default: the method's own]"
    epochs: Annotated[float | None, value("E", "Passes over the data.")] = None
    steps: Annotated[int | None, value("N", "Training steps, instead of epochs.", min=1)] = None
    batch_size: Annotated[int | None, value("N", "Examples per step.", min=1)] = None
    learning_rate: Annotated[float | None, value("R", "Peak learning rate.")] = None
    warmup: Annotated[float | None, value("W", "Warm-up: a share of the steps below 1, else a number of steps.")] = None
    max_length: Annotated[int | None, value("N", "Truncate texts to N tokens in training.", min=1)] = None
    eval_every: Annotated[int | None, value("N", "Validate every N steps.", min=1)] = None
    grad_cache_size: Annotated[
        int | None, value("N", "Encode N texts at a time to save memory; the loss still sees the whole batch.", min=1)
    ] = None
    ema_decay: Annotated[float | None, value("D", "Average the weights with this decay, for example 0.999.")] = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One or several runs.

    `assignments` are options of the method as KEY=VALUE; `hyperparameters` are by name, None for the default.
    """

    method: str
    base: str
    template: str | None = None
    seeds: tuple[int, ...] = (0,)
    assignments: tuple[str, ...] = ()
    hyperparameters: JsonMapping = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The base with its template, as one name."""
        return str(Reference.parse(self.base).with_(template=self.template))

    def check(self, out: Path, teacher: str | None, *, force: bool) -> None:
        """Raises UnknownName, NotFound, UsageError, MissingExtra for errors that do not depend on the data."""
        methods = objectives.names()
        if self.method.replace("_", "-") not in methods:
            raise UnknownName("training method", self.method, methods)
        if teacher is not None and self.method != DISTILLATION:
            raise UsageError(f"{self.method} has no teacher.", f"Omit --teacher, or pass --method {DISTILLATION}.")
        for word in self.assignments:
            if not all(word.partition("=")):
                raise UsageError(f"--set {word!r} has no value.", "Write --set KEY=VALUE.")
        require_packages()
        from semsearch.training import checks  # numpy, which --help does without

        checks.find_base(Reference.parse(self.reference))
        _check_folder(out, force=force)

    def jobs(self, out: Path, *, force: bool) -> list[str]:
        """The names of the runs that are not finished yet."""
        if len(self.seeds) == 1:
            return [self.method]
        folders = {seed: out.expanduser() / f"seed-{seed}" for seed in self.seeds}
        unfinished = [seed for seed in self.seeds if force or not (folders[seed] / "run" / "result.json").is_file()]
        return [f"{self.method} seed {seed}" for seed in unfinished or self.seeds]

    def config(self, settings: Settings) -> TrainingConfig:
        """The configuration of the first run. Raises UnknownName, UsageError for options that the method lacks."""
        changed = {name: value for name, value in self.hyperparameters.items() if value is not None}
        config = training.TrainingConfig(
            method=self.method,
            base=self.reference,
            seed=self.seeds[0],
            options=self.options(),
            device=settings.device,
            threads=settings.threads,
            **changed,
        )
        config.hyperparameters()  # raises for an invalid value
        return config

    def options(self) -> JsonObject:
        """The options of the method, each of the type of its default."""
        defaults = objectives.default_options(self.method)
        options: JsonObject = {}
        for word in self.assignments:
            key, _, value = word.partition("=")
            if key not in defaults:
                raise UnknownName(f"option of {self.method}", key, defaults)
            options[key] = _typed(key, value, defaults[key])
        return options

    def uses(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns that the method reads."""
        return objectives.columns_read(self.method, columns, self.options())

    @property
    def max_length(self) -> int:
        """Tokens of a text that are read in training."""
        return int(self.hyperparameters.get("max_length") or objectives.load(self.method).hyperparameters.max_length)

    @property
    def labels(self) -> Labels:
        """The kind of labels that the method reads."""
        return objectives.load(self.method).labels


def load_teacher(
    plan: Plan, name: str | None, device: str, options: Options, *, trust: bool
) -> tuple[Teacher | None, str]:
    """The teacher and its name; (None, "") for a method without teacher.

    By default it is the base with mean pooling, or a trained encoder as it was trained.
    """
    if plan.labels != "teacher":
        return None, ""
    if name is None:
        base = replace(Reference.parse(plan.base), template="", layer=None, options={})
        saved = (model_folders.find(base.model, base.revision) / bundles.MANIFEST).is_file()
        name = str(base if saved else base.with_(template="mean"))
    encoder = semsearch.Encoder.load(name, device=device, trust_remote_code=trust)
    if not options.quiet:
        console.note(f"teacher: {name}")
    return encoder.encode, name


def _check_folder(out: Path, *, force: bool) -> None:
    """UsageError where `out` contains anything but a training run; the run itself checks the rest."""
    folder = out.expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{out} is a file.", "Name a folder: -o DIR")
    files = ("run", "summary.json")
    there = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    if there and not any(each in files or each.startswith("seed-") for each in there):
        raise UsageError(f"{out} is not empty and contains no training run.", "Name another folder: -o DIR")


def _typed(key: str, value: str, like: Any) -> Any:
    """`value` as the type of `like`. Raises UsageError.

    >>> _typed("third", "no", True), _typed("temperature", "1", 0.05), _typed("rank", "8", 64)
    (False, 1.0, 8)
    """
    try:
        return BOOLEANS[value.lower()] if isinstance(like, bool) else type(like)(value)
    except (KeyError, ValueError):
        expected = {bool: "true or false", int: "a whole number", float: "a number"}[type(like)]
        raise UsageError(f"{value!r} is not a valid value for --set {key}.", f"It has to be {expected}.") from None
