"""Validation set of `train`: STS-B dev, a file, or held-out training data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from semsearch import evaluation, training
from semsearch.cli.lookup import check_split
from semsearch.cli.options import value
from semsearch.errors import NotFound, UsageError
from semsearch.settings import DATA

if TYPE_CHECKING:
    from semsearch.training import Dataset, Validation

STSB, HELD_OUT, NONE = "stsb", "held-out", "none"


@dataclass(frozen=True, slots=True)
class ValidationSource:
    """The options that choose the validation set. By default STS-B dev if available, else held-out examples."""

    HEADING: ClassVar[str] = "Validation"
    validation: Annotated[
        str | None,
        value(
            "SET", "Validation set: stsb, a file, held-out[:N] or none.  [default: stsb where available, else held-out]"
        ),
    ] = None
    data_dir: Annotated[Path | None, value("DIR", f"Folder of STS test sets.  [default: {DATA}]")] = None

    def check(self, *, yes: bool) -> None:
        """Raises NotFound, UsageError, GuardRail for errors that do not depend on the training data."""
        if self.validation in (None, STSB, NONE) or self._held_out() is not None:
            return
        assert self.validation is not None
        path = Path(self.validation).expanduser()
        if not path.exists():
            raise NotFound(
                f"{self.validation} does not exist.", f"Name a file, or write {STSB}, {HELD_OUT}[:N] or {NONE}."
            )
        check_split(path, "an encoder", yes=yes)

    def split(self, examples: Dataset, *, yes: bool) -> tuple[Dataset, Validation | None, str]:
        """The examples that remain for training, the validation set, and its description."""
        count = self._held_out()
        if self.validation == NONE:
            return examples, None, "none; the last checkpoint is saved"
        if self.validation in (None, STSB) and (stsb := self._stsb()) is not None:
            return examples, stsb, "STS-B dev"
        if self.validation is None or count is not None:
            return self._hold_out(examples, count or 0)
        path = Path(self.validation)
        dev = training.validation_of(training.read_dataset(path, yes=yes), path.name)
        return examples, dev, dev.measure

    def _hold_out(self, examples: Dataset, count: int) -> tuple[Dataset, Validation | None, str]:
        count = count or training.validation.default_held_out(len(examples))
        try:
            remaining, dev = training.hold_out(examples, count)
        except UsageError as error:
            if self.validation is not None:
                raise
            return examples, None, f"none, because {error.message} The last checkpoint is saved."
        overlapping = len(examples) - len(remaining) - count
        more = f"; {overlapping:,} more are skipped, since they share a text with them" if overlapping else ""
        return remaining, dev, f"{dev.measure}: {count:,} of {len(examples):,} examples{more}"

    def _held_out(self) -> int | None:
        """N of held-out:N, 0 of held-out; None for anything else. Raises UsageError."""
        word, colon, number = (self.validation or "").partition(":")
        if word != HELD_OUT:
            return None
        if colon and not (number.isdecimal() and int(number) > 1):
            raise UsageError(
                f"--validation {self.validation} holds out no examples.", "Write --validation held-out:200"
            )
        return int(number or 0)

    def _stsb(self) -> Validation | None:
        """STS-B dev; None where it is neither requested nor available."""
        folder = self.data_dir or os.environ.get(DATA)
        if not folder and self.validation is None:
            return None
        if not folder:
            raise UsageError("the folder of STS-B is not known.", f"Pass --data-dir DIR, or set {DATA}.")
        try:
            dev = evaluation.sts_pairs("stsb", Path(folder), "dev")["dev"]
        except NotFound as error:
            if self.validation is None and self.data_dir is None:
                return None
            fix = "Pass the folder that contains STS/ and SICK/: --data-dir DIR."  # other commands have another flag
            raise NotFound(error.message, fix) from error
        return training.SimilarityValidation(dev.pairs, dev.gold)
