"""Validation set of `train`: STS-B dev, a file, or a held-out part of the training data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.cli.encoders.template_search import check_split
from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.errors import NotFound, UsageError
from semsearch.settings import DATA

if TYPE_CHECKING:
    from semsearch.training import Dataset, Validation

STSB, HELD_OUT, NONE = "stsb", "held-out", "none"


@dataclass(frozen=True, slots=True)
class Chooser:
    """`told`: stsb, a file, held-out[:N], none; None for STS-B dev where it is known, else a slice of the data."""

    options: Options
    told: str | None
    folder: Path | None
    yes: bool

    def check(self) -> None:
        """Raises NotFound, UsageError, GuardRail for what cannot be, whatever the data."""
        self._held_out()
        if self.told is None or self.told in (STSB, NONE) or self.told.partition(":")[0] == HELD_OUT:
            return

        path = Path(self.told).expanduser()
        if not path.exists():
            raise NotFound(f"{self.told} does not exist.", f"Name a file, or write {STSB}, {HELD_OUT}[:N] or {NONE}.")
        check_split(path, "an encoder", yes=self.yes)

    def chosen(self, examples: Dataset) -> tuple[Dataset, Validation | None]:
        """The examples that are left to train on, and what judges; says which on stderr."""
        left, dev, told = self._chosen(examples)
        if not self.options.quiet:
            console.note(f"validation: {told}")
        return left, dev

    def _chosen(self, examples: Dataset) -> tuple[Dataset, Validation | None, str]:
        count = self._held_out()
        if self.told == NONE:
            return examples, None, "none; the last checkpoint is kept"
        if self.told == STSB or (self.told is None and self._stsb_is_known()):
            return examples, self._stsb(), "STS-B dev"
        if self.told is None or count is not None:
            return self._slice(examples, count or 0)
        from semsearch.training import read_dataset, validation_of

        path = Path(self.told)
        dev = validation_of(read_dataset(path, yes=self.yes), path.name)
        return examples, dev, dev.measure

    def _slice(self, examples: Dataset, count: int) -> tuple[Dataset, Validation | None, str]:
        from semsearch.training.validation import default_held_out, hold_out

        count = count or default_held_out(len(examples))
        try:
            left, dev = hold_out(examples, count)
        except UsageError as error:
            if self.told is not None:
                raise
            return examples, None, f"none, because {error.message} The last checkpoint is kept."
        alike = len(examples) - len(left) - count
        more = f"; {alike:,} more are skipped, since they share a text with them" if alike else ""
        return left, dev, f"{dev.measure}: {count:,} of {len(examples):,} examples{more}"

    def _held_out(self) -> int | None:
        """N of held-out:N, 0 of held-out; None for anything else. Raises UsageError."""
        word, colon, number = (self.told or "").partition(":")
        if word != HELD_OUT:
            return None
        if colon and not (number.isdecimal() and int(number) > 1):
            raise UsageError(f"--validation {self.told} holds out no examples.", "Write --validation held-out:200")
        return int(number or 0)

    def _stsb(self) -> Validation:
        from semsearch.evaluation import sts_pairs
        from semsearch.training import SimilarityValidation

        place = self.folder or os.environ.get(DATA)
        if not place:
            raise UsageError("the folder of STS-B is not known.", f"Pass --data-dir DIR, or set {DATA}.")
        try:
            dev = sts_pairs("stsb", Path(place), "dev")["dev"]
        except NotFound as error:  # other commands have another flag for it
            raise NotFound(error.message, "Pass the folder that contains STS/ and SICK/: --data-dir DIR.") from error
        return SimilarityValidation(dev.pairs, dev.gold)

    def _stsb_is_known(self) -> bool:
        if self.folder is None and not os.environ.get(DATA):
            return False
        try:
            self._stsb()
        except NotFound:
            if self.folder is not None:
                raise
            return False
        return True
