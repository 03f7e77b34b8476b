"""What `train` is told of the run itself: method, base, settings, options of the method, teacher.

Checked before torch is imported, as far as that can be known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import semsearch
from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.errors import UnknownName, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference
from semsearch.training import objectives, require_packages

if TYPE_CHECKING:
    from semsearch.settings import Settings as Usual
    from semsearch.training import TrainingConfig
    from semsearch.training.loop import Teacher

TAUGHT = "distil"
WORDS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Plan:
    """One or several runs. `told` are KEY=VALUE of the method, `given` settings by name, None where nothing is said."""

    method: str
    base: str
    template: str | None = None
    seeds: tuple[int, ...] = (0,)
    told: tuple[str, ...] = ()
    dims: tuple[int, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None

    @property
    def reference(self) -> str:
        """The base and how it is read, as one name."""
        return str(Reference.parse(self.base).with_(template=self.template))

    def check(self, out: Path, teacher: str | None, *, force: bool) -> None:
        """Raises UnknownName, NotFound, UsageError, MissingExtra for what cannot be, whatever the data."""
        known = objectives.names()
        if self.method.replace("_", "-") not in known:
            raise UnknownName("training method", self.method, known)
        if teacher is not None and self.method != TAUGHT:
            raise UsageError(f"{self.method} has no teacher.", f"Omit --teacher, or pass --method {TAUGHT}.")
        for word in self.told:
            if not all(word.partition("=")):
                raise UsageError(f"--set {word!r} has no value.", "Write --set KEY=VALUE.")
        require_packages()
        from semsearch.training import checks  # numpy, which --help does without

        checks.find_base(Reference.parse(self.reference))
        _check_folder(out, force=force)

    def jobs(self, out: Path, *, force: bool) -> list[str]:
        """What the runs are called that are not done yet."""
        if len(self.seeds) == 1:
            return [self.method]
        ends = {seed: out.expanduser() / f"seed-{seed}" / "run" / "result.json" for seed in self.seeds}
        left = [seed for seed, end in ends.items() if force or not end.is_file()]
        return [f"{self.method} seed {seed}" for seed in left or self.seeds]

    def config(self, usual: Usual) -> TrainingConfig:
        """As semsearch.training.train takes it. Raises UnknownName, UsageError for what the method does not know."""
        from semsearch.training import TrainingConfig

        given = {name: value for name, value in self.given.items() if value is not None}
        found = TrainingConfig(
            method=self.method,
            base=self.reference,
            seed=self.seeds[0],
            options=self.options(),
            matryoshka_dims=self.dims,
            device=usual.device,
            threads=usual.threads,
            **given,
        )
        found.hyperparameters()  # raises for an invalid value
        return found

    def options(self) -> dict[str, Any]:
        """The method's own, each of the type of what holds where nothing is said."""
        known = objectives.default_options(self.method)
        found: dict[str, Any] = {}
        for word in self.told:
            key, _, value = word.partition("=")
            if key not in known:
                raise UnknownName(f"option of {self.method}", key, known)
            found[key] = _typed(key, value, known[key])
        return found

    def uses(self, columns: Sequence[str]) -> list[str]:
        """Which columns the method reads of those there are."""
        return objectives.columns_read(self.method, columns, self.options())

    @property
    def tokens(self) -> int:
        """Of a text, that are read in training."""
        return int(self.given.get("max_length") or objectives.load(self.method).hyperparameters.max_length)

    @property
    def labels(self) -> Any:
        """What the method reads as labels: none, score, class, teacher."""
        return objectives.load(self.method).labels


def teacher_of(
    plan: Plan, name: str | None, device: str, options: Options, *, trust: bool
) -> tuple[Teacher | None, str]:
    """What teaches, where the method wants it, and its name: as told, else the base averaged over its tokens."""
    if plan.labels != "teacher":
        return None, ""
    called = name or _usual_teacher(Reference.parse(plan.base))
    encoder = semsearch.Encoder.load(called, device=device, trust_remote_code=trust)
    if not options.quiet:
        console.note(f"teacher: {called}")
    return encoder.encode, called


def _usual_teacher(base: Reference) -> str:
    """The base under `mean`; a trained encoder as it was trained."""

    plain = replace(base, template="", layer=None, options={})
    saved = (model_folders.find(base.model, base.revision) / bundles.MANIFEST).is_file()
    return str(plain if saved else plain.with_(template="mean"))


def _check_folder(out: Path, *, force: bool) -> None:
    """UsageError where `out` holds what is no run; the rest of it is checked by the run itself."""
    folder = out.expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{out} is a file.", "Name a folder: -o DIR")
    ours = ("run", "summary.json")
    there = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    if there and not any(each in ours or each.startswith("seed-") for each in there):
        raise UsageError(f"{out} is not empty and contains no training run.", "Name another folder: -o DIR")


def _typed(key: str, value: str, like: Any) -> Any:
    """`value` as the type of `like`. Raises UsageError.

    >>> _typed("third", "no", True), _typed("temperature", "1", 0.05), _typed("rank", "8", 64)
    (False, 1.0, 8)
    """
    try:
        return WORDS[value.lower()] if isinstance(like, bool) else type(like)(value)
    except (KeyError, ValueError):
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}[type(like)]
        raise UsageError(f"{value!r} is not a valid value for --set {key}.", f"It has to be {wanted}.") from None
