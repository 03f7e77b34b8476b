"""Training data of `train`: a file, a folder or an index, and its summary on stderr."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from semsearch import training
from semsearch.cli.lookup import check_split, open_index
from semsearch.cli.options import Options, value
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from semsearch.cli.train.plan import Plan
    from semsearch.training import Dataset

MAX_REASONS = 5  # number of reasons for skipping records that are printed
SAMPLE = 1000  # texts whose length is measured
TOKENS_PER_WORD = 1.4  # of English under WordPiece, roughly


@dataclass(frozen=True, slots=True)
class DataSource:
    """The options that choose the training data: a file, a folder or an index, and how it is read."""

    HEADING: ClassVar[str] = "Training data"
    data: Annotated[
        Path | None, value("FILE", "Training data: a folder, a text file, JSON lines, CSV or TSV; also .gz and .xz.")
    ] = None
    from_index: Annotated[str | None, value("NAME", "Train on the passages of an index.")] = None
    columns: Annotated[
        list[str] | None, value("ROLE=NAME,…", "Columns of the data by role: anchor, positive, negative, score, label.")
    ] = None
    labels: Annotated[str | None, value("L,L,…", "Labels of the data, from least to most similar.")] = None
    granularity: Annotated[
        Literal["sentences", "passages"] | None,
        typer.Option(help="How to split documents.  [default: sentences; passages of an index]"),
    ] = None
    max_samples: Annotated[int | None, value("N", "Train on a random sample of N examples.", min=2)] = None

    def read(self, options: Options, prefer: Literal["score", "label"] = "score", *, yes: bool) -> Dataset:
        """The whole data set. Raises NotFound, UsageError; GuardRail for a test set, unless `yes`."""
        if self.data is not None and self.from_index is not None:
            raise UsageError("--data and --from-index exclude each other.", "Train on one, then on the other.")
        if self.data is None and self.from_index is None:
            raise UsageError("there is no training data.", "Pass --data FILE or --from-index NAME.")
        if self.data is None:
            return self._passages(options, self.from_index or "")
        check_split(self.data, "an encoder", yes=True)
        return training.read_dataset(
            self.data,
            columns=training.parse_columns(self.columns or ()),
            labels=[each.strip() for each in self.labels.split(",")] if self.labels else (),
            prefer=prefer,
            granularity=self.granularity or "sentences",
            max_samples=self.max_samples,
            yes=yes,
        )

    def adapted(self, examples: Dataset, plan: Plan, options: Options, *, yes: bool) -> Dataset:
        """The examples in the form that the method reads; a summary and the skipped records are printed."""
        from semsearch.training.datasets.adaptation import adapt  # numpy, which `train --help` does without

        if plan.labels == "class" and any(label != int(label) for label in examples.labels or ()):
            examples = self.read(options, "label", yes=yes)
        adapted, conversion = adapt(examples, plan.uses, plan.labels)
        if not options.quiet:
            _print_summary(examples, adapted, conversion, plan)
        return adapted

    def _passages(self, options: Options, name: str) -> Dataset:
        for option, chosen in (("--columns", self.columns), ("--labels", self.labels)):
            if chosen:
                raise UsageError(f"the passages of an index have no {option[2:]}.", f"Omit {option}.")
        granularity = self.granularity or "passages"
        with open_index(options, name) as index:
            return training.dataset_of_texts(
                index.analysis.texts(), f"index {name}", granularity=granularity, max_samples=self.max_samples
            )


def _print_summary(examples: Dataset, adapted: Dataset, conversion: str, plan: Plan) -> None:
    """Notes on stderr, with a hint if training would truncate most of the texts."""
    console.note(f"data: {examples.source}, {_description(examples)}")
    if conversion:
        console.note(f"read as {_description(adapted)}: {conversion}")
    reasons = list(adapted.skipped.items())
    for reason, skipped in reasons[:MAX_REASONS]:
        console.note(f"skipped {skipped:,}: {reason}")
    if len(reasons) > MAX_REASONS:
        console.note(f"skipped {sum(count for _, count in reasons[MAX_REASONS:]):,} for other reasons")
    longest = list(adapted.columns.values())[-1][:SAMPLE]
    words = sorted(len(text.split()) for text in longest)[len(longest) // 2] if longest else 0
    if words * TOKENS_PER_WORD > 1.5 * plan.max_length:
        console.note(
            f"half of the texts have {words} words or more, but training reads only {plan.max_length} tokens of "
            "each: raise --max-length, or pass --granularity sentences to split documents into sentences"
        )


def _description(examples: Dataset) -> str:
    """
    >>> from semsearch.training import Dataset
    >>> _description(Dataset({"anchor": ["a"], "positive": ["b"]}, [1.0]))
    '1 pair with labels'
    """
    noun = {1: "text", 2: "pair", 3: "triplet"}[len(examples.columns)]
    return count(len(examples), noun) + ("" if examples.labels is None else " with labels")
