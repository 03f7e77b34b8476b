"""Training data of `train`: a file, a folder or an index, and its summary on stderr."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import semsearch
from semsearch.cli.encoders.template_search import check_split
from semsearch.cli.lookup import existing_index
from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.cli.train.plan import Plan
    from semsearch.training import Dataset

LISTED = 5  # reasons why records were left out
SAMPLE = 1000  # texts whose length is looked at
TOKENS_A_WORD = 1.4  # of English by WordPiece, roughly


@dataclass(frozen=True, slots=True)
class Source:
    """A file, a folder or an index, and how it is read."""

    options: Options
    data: Path | None
    index: str | None
    columns: tuple[str, ...]
    labels: str | None
    unit: Literal["sentences", "passages"] | None
    limit: int | None
    yes: bool

    def read(self, prefer: Literal["score", "label"] = "score") -> Dataset:
        """All of it. Raises NotFound, UsageError."""
        if self.data is not None and self.index is not None:
            raise UsageError("--data and --from-index exclude each other.", "Train on one, then on the other.")
        if self.data is None and self.index is None:
            raise UsageError("there is no training data.", "Pass --data FILE or --from-index NAME.")
        from semsearch.training import dataset_of_texts, read_dataset
        from semsearch.training.datasets._columns import parse_columns

        if self.index is not None:
            return self._passages(dataset_of_texts)
        assert self.data is not None
        check_split(self.data, "an encoder", yes=True)
        return read_dataset(
            self.data,
            columns=parse_columns(self.columns),
            labels=[each.strip() for each in self.labels.split(",")] if self.labels else (),
            prefer=prefer,
            granularity=self.unit or "sentences",
            max_samples=self.limit,
            yes=self.yes,
        )

    def fitted(self, examples: Dataset, plan: Plan) -> Dataset:
        """The examples as the method reads them; says what they are and what was left out."""
        from semsearch.training.datasets.adaptation import adapt

        if plan.labels == "class" and any(label != int(label) for label in examples.labels or ()):
            examples = self.read("label")
        found, made = adapt(examples, plan.uses, plan.labels)
        if not self.options.quiet:
            self._tell(examples, found, made, plan)
        return found

    def _passages(self, of_texts: Callable[..., Dataset]) -> Dataset:
        for flag, value in (("--columns", self.columns), ("--labels", self.labels)):
            if value:
                raise UsageError(f"the passages of an index have no {flag[2:]}.", f"Omit {flag}.")
        existing_index(self.options, str(self.index))
        with semsearch.Index.open(str(self.index), home=self.options.folder()) as index:
            unit = self.unit or "passages"
            return of_texts(index.texts(), f"index {self.index}", granularity=unit, max_samples=self.limit)

    def _tell(self, examples: Dataset, found: Dataset, made: str, plan: Plan) -> None:
        console.note(f"data: {examples.source}, {kind(examples)}")
        if made:
            console.note(f"read as {kind(found)}: {made}")
        skipped = found.skipped
        for reason, count in list(skipped.items())[:LISTED]:
            console.note(f"skipped {count:,}: {reason}")
        if len(skipped) > LISTED:
            console.note(f"skipped {sum(list(skipped.values())[LISTED:]):,} for other reasons")
        _tell_length(found, plan)


def kind(examples: Dataset) -> str:
    """
    >>> from semsearch.training import Dataset
    >>> kind(Dataset({"anchor": ["a"], "positive": ["b"]}, [1.0]))
    '1 pair with labels'
    """
    noun = {1: "text", 2: "pair", 3: "triplet"}[len(examples.columns)]
    return console.count(len(examples), noun) + ("" if examples.labels is None else " with labels")


def _tell_length(examples: Dataset, plan: Plan) -> None:
    """Print a hint if training would truncate most of the texts."""
    from statistics import median

    longest = list(examples.columns.values())[-1][:SAMPLE]
    words: Any = median(len(text.split()) for text in longest) if longest else 0
    if words * TOKENS_A_WORD > 1.5 * plan.tokens:
        console.note(
            f"half of the texts have {words:.0f} words or more, but training reads only {plan.tokens} tokens of each: "
            "raise --max-length, or pass --granularity sentences to split documents into sentences"
        )
