"""STS benchmarks: STS12 to STS16, STS-B and SICK-R, read from SentEval's files and scored as SentEval scores them.

Source: SentEval, Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449, as SimCSE's fork runs it: 'all' is one
correlation over the joined subsets, 'mean' the mean over subsets, 'wmean' that mean weighted by their number of pairs.
Pairs without a gold score are dropped. Correlations are in percent. Training a regressor on the vectors is left out, as
in the papers of this field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.evaluation.encoding_windows import WINDOW, OnProgress, encode_passages, lookup
from semsearch.evaluation.sts import Pair, pair_cosines, pearson, spearman
from semsearch.settings import data_folder
from semsearch.types import EncoderLike

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUBSETS = {
    "sts12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "sts13": ("FNWN", "headlines", "OnWN"),  # SMT is not free to distribute, and no paper has it
    "sts14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "sts15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "sts16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
TASKS = (*SUBSETS, "stsb", "sickr")
SICK_FILES = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


@dataclass(frozen=True, slots=True)
class Subset:
    """Sentence pairs with their human similarity scores, 0 … 5."""

    pairs: tuple[Pair, ...]
    gold: tuple[float, ...]

    def thinned(self, limit: int) -> Subset:
        """At most `limit` pairs, evenly spread: files of pairs are sorted by source."""
        chosen = spread(len(self.pairs), limit)
        return Subset(tuple(self.pairs[at] for at in chosen), tuple(self.gold[at] for at in chosen))


def spread(size: int, limit: int) -> list[int]:
    """At most `limit` of the places 0 … size - 1, evenly spread.

    >>> spread(10, 4)
    [0, 2, 5, 7]
    """
    return list(range(size)) if limit >= size else [at * size // limit for at in range(limit)]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One correlation in percent, aggregated in the three ways that papers report; compare like with like."""

    all: float
    mean: float
    wmean: float


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task's scores. `spearman.all` is the number in the tables of SimCSE, PromptBERT and CoT-BERT."""

    task: str
    spearman: Aggregate
    pearson: Aggregate
    subsets: Mapping[str, tuple[float, float]]  # name -> (spearman, pearson)
    pairs: int
    cosines: NDArray[np.float64] = field(compare=False, repr=False)  # (pairs,), subset after subset


def sts_tasks(data: Path | None = None, split: str = "test") -> list[str]:
    """The tasks of sts12 … sts16, stsb, sickr whose files are all present at or below `data`, or SEMSEARCH_DATA.

    Raises UsageError if neither is given, NotFound if there is no task at all.
    """
    folder = data_folder(data)
    present = [
        name
        for name in TASKS
        if (split == "test" or name not in SUBSETS) and all(file.is_file() for file in task_files(name, folder, split))
    ]
    return present or _missing(folder)


def sts_pairs(task: str, data: Path | None = None, split: str = "test") -> dict[str, Subset]:
    """The subsets of a task by name, from SentEval's files at or below `data`, or SEMSEARCH_DATA.

    stsb and sickr have one subset, named after the `split`: train, dev or test; the other tasks have test only.
    Raises UnknownName, UsageError, and NotFound if the files are missing.
    """
    files = task_files(task, data, split)
    if task not in SUBSETS:
        first, second, score = (5, 6, 4) if task == "stsb" else (1, 2, 3)
        rows = _rows(files[0], max(first, second) + 1)[1 if task == "sickr" else 0 :]  # SICK has a header
        return {split: _subset([(row[first], row[second]) for row in rows], [row[score] for row in rows], files[0])}
    return {
        key: _subset([(row[0], row[1]) for row in _rows(sentences, 2)], _lines(gold), gold)
        for key, sentences, gold in zip(SUBSETS[task], files[::2], files[1::2], strict=True)
    }


def sts_task(
    task: str,
    encoder: EncoderLike,
    data: Path | None = None,
    split: str = "test",
    progress: OnProgress | None = None,
    *,
    window: int = WINDOW,
) -> TaskResult:
    """How well the cosines of `encoder` follow human scores on a task; `spearman.all` is what papers print.

    `progress` is called before every `window` texts and may raise to stop. Raises UnknownName, UsageError, NotFound.
    """
    subsets = sts_pairs(task, data, split)
    texts = list(dict.fromkeys(text for subset in subsets.values() for pair in subset.pairs for text in pair))
    embed = lookup(texts, encode_passages(encoder, texts, progress, item=task, window=window))
    values = {key: pair_cosines(subset.pairs, embed) for key, subset in subsets.items()}
    return aggregate(task, values, {key: subset.gold for key, subset in subsets.items()})


def aggregate(task: str, values: Mapping[str, NDArray[np.float64]], gold: Mapping[str, Sequence[float]]) -> TaskResult:
    """The scores of a task, in percent, from the similarities and gold scores (n,) of the pairs of each subset."""
    each = {key: (100 * spearman(values[key], gold[key]), 100 * pearson(values[key], gold[key])) for key in values}
    weights = [len(gold[key]) for key in values]
    all_values, all_gold = (np.concatenate([side[key] for key in values]) for side in (values, gold))
    ranked, linear = (
        Aggregate(
            all=100 * measure(all_values, all_gold),
            mean=float(np.mean([scores[at] for scores in each.values()])),
            wmean=float(np.average([scores[at] for scores in each.values()], weights=weights)),
        )
        for at, measure in enumerate((spearman, pearson))
    )
    return TaskResult(task, ranked, linear, each, len(all_gold), all_values)


def average(scores: Sequence[float]) -> float:
    """The average that tables print: of scores rounded to two decimals, to two decimals.

    >>> average([72.374, 80.604])
    76.48
    """
    return round(float(np.mean([round(score, 2) for score in scores])), 2)


def task_files(task: str, data: Path | None = None, split: str = "test") -> list[Path]:
    """The files of a task, present or not; for each subset the sentences, then the gold scores.

    Raises UnknownName, UsageError, and NotFound if there are no tasks at or below `data`.
    """
    if task not in TASKS:
        raise UnknownName("STS task", task, TASKS)
    if split not in SICK_FILES or (split != "test" and task in SUBSETS):
        raise UsageError(f"{task} has no split {split!r}.", "stsb and sickr have train, dev and test.")
    root = _root(data_folder(data))
    if task == "stsb":
        return [root / "STS" / "STSBenchmark" / f"sts-{split}.csv"]
    if task == "sickr":
        return [root / "SICK" / SICK_FILES[split]]
    folder = root / "STS" / f"{task.upper()}-en-test"
    return [folder / f"STS.{kind}.{key}.txt" for key in SUBSETS[task] for kind in ("input", "gs")]


def _subset(pairs: Sequence[Pair], gold: Sequence[str], file: Path) -> Subset:
    """The pairs that have a score. Raises UsageError if a score in `file` is no number, or the counts differ."""
    try:
        scored = [(pair, float(score)) for pair, score in zip(pairs, gold, strict=True) if score.strip()]
    except ValueError as error:
        raise UsageError(f"{file}: scores and sentences do not match: {error}.", "Use SentEval's files.") from None
    if not scored or not np.isfinite([score for _, score in scored]).all():
        problem = "a score is not a number" if scored else "no pair has a score"
        raise UsageError(f"{file}: {problem}.", "Use SentEval's files.")
    return Subset(tuple(pair for pair, _ in scored), tuple(score for _, score in scored))


def _rows(file: Path, columns: int) -> list[list[str]]:
    """The columns of each line. Raises UsageError, with the line number, for fewer than `columns`."""
    rows = [line.split("\t") for line in _lines(file)]
    for number, row in enumerate(rows, 1):
        if len(row) < columns:
            raise UsageError(f"{file}:{number}: {len(row)} columns instead of {columns}.", "Use SentEval's files.")
    return rows


def _root(data: Path) -> Path:
    """SentEval's folder, which contains STS/ and SICK/: `data` itself or below it."""
    roots = (data, data / "senteval", data / "sts" / "senteval")
    return next((root for root in roots if (root / "STS").is_dir()), None) or _missing(data)


def _missing(data: Path) -> NoReturn:
    raise NotFound(
        f"there are no STS tasks in {data}.",
        "Name the folder that contains STS/ and SICK/.",
        "Name the folder that contains STS/ and SICK/: --data DIR.",
    )


def _lines(file: Path) -> list[str]:
    """Lines of a file, including empty ones: gold scores belong to sentences by line number."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(
            f"the task's file {file} does not exist.", "Check the folder.", "Check the folder: --data DIR."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 (byte {error.start}).", "Use SentEval's files.") from None
    return text.removesuffix("\n").split("\n")
