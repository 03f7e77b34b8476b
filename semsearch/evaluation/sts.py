"""Semantic textual similarity: cosines of sentence pairs, and how well they rank pairs as people do.

Tasks and their aggregation follow SentEval (Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449) as SimCSE's
fork runs it: 'all' is one correlation over the joined subsets, 'mean' the mean over subsets, 'wmean' that mean
weighted by pairs. Pairs without a gold score are dropped. Spearman takes average ranks for ties. Correlations are in
percent. Left out: training a regressor on top, which the papers of this field do not do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders.base import as_encoder
from semsearch.encoders.encoder import Encoder
from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.utils import calibration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import EncoderLike, EncoderProtocol, Vectors

SUBSETS = {
    "sts12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "sts13": ("FNWN", "headlines", "OnWN"),  # SMT is not free to distribute, and no paper has it
    "sts14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "sts15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "sts16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
TASKS = (*SUBSETS, "stsb", "sickr")
SICK_FILES = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StsResult:
    """One row a pair. `strengths` are None where the encoder has no background of unrelated texts to compare with."""

    pairs: tuple[Pair, ...]
    cosines: tuple[float, ...]
    strengths: tuple[float | None, ...]
    spearman: float | None = None
    pearson: float | None = None

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores of the pairs: their cosines."""
        return self.cosines


@dataclass(frozen=True, slots=True)
class Subset:
    """Sentence pairs with the similarity people gave them, 0 … 5."""

    pairs: tuple[Pair, ...]
    gold: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One correlation in percent, taken in the three ways that papers report; compare like with like."""

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


def sts(
    pairs: Sequence[Pair], encoder: EncoderLike | str | Path = "default", gold: Sequence[float] | None = None
) -> StsResult:
    """Cosine and strength of each pair of texts; with `gold`, also how well the cosines follow it, in percent.

    >>> found = sts([("a red car", "a red car"), ("a red car", "soup")], encoder="hashing", gold=[5, 0])
    >>> [round(cosine, 2) for cosine in found.cosines], round(found.spearman)
    ([1.0, 0.0], 100)
    """
    if gold is not None and len(gold) != len(pairs):
        raise UsageError(f"{len(pairs)} pairs were given with {len(gold)} gold scores.", "One score a pair is needed.")
    loaded = Encoder.load(encoder) if isinstance(encoder, str | Path) else as_encoder(encoder)
    values = cosines(pairs, loaded)
    background = loaded.background
    strengths = calibration.calibrate(values, background).tolist() if len(background) else [None] * len(values)
    scored = gold is not None and len(pairs) > 1
    return StsResult(
        pairs=tuple((a, b) for a, b in pairs),
        cosines=tuple(values.tolist()),
        strengths=tuple(strengths),
        spearman=100 * spearman(values, gold) if scored and gold is not None else None,
        pearson=100 * pearson(values, gold) if scored and gold is not None else None,
    )


def run_task(name: str, data: Path, encoder: EncoderProtocol, split: str = "test") -> TaskResult:
    """The scores of `encoder` on the task `name` (sts12 … sts16, stsb, sickr), read below `data`."""
    subsets = task_pairs(name, data, split)
    values = {key: cosines(subset.pairs, encoder) for key, subset in subsets.items()}
    return aggregate(name, values, {key: subset.gold for key, subset in subsets.items()})


def aggregate(task: str, values: Mapping[str, NDArray[np.float64]], gold: Mapping[str, Sequence[float]]) -> TaskResult:
    """Similarities and gold scores by subset -> the task's scores in percent."""
    each = {key: (100 * spearman(values[key], gold[key]), 100 * pearson(values[key], gold[key])) for key in values}
    joined = np.concatenate([values[key] for key in values])
    wanted = np.concatenate([np.asarray(gold[key], dtype=np.float64) for key in values])
    weights = [len(gold[key]) for key in values]
    ranked, linear = (
        Aggregate(
            all=100 * measure(joined, wanted),
            mean=float(np.mean([scores[at] for scores in each.values()])),
            wmean=float(np.average([scores[at] for scores in each.values()], weights=weights)),
        )
        for at, measure in enumerate((spearman, pearson))
    )
    return TaskResult(task, spearman=ranked, pearson=linear, subsets=each, pairs=len(wanted))


def task_pairs(name: str, data: Path, split: str = "test") -> dict[str, Subset]:
    """The subsets of a task by name, read from SentEval's files at or below `data` (data/sts/senteval).

    Only stsb and sickr have a `split` other than test. Raises NotFound where the files are not there.
    """
    files = task_files(name, data, split)
    if name not in SUBSETS:
        first, second, score = (5, 6, 4) if name == "stsb" else (1, 2, 3)
        rows = _rows(files[0], max(first, second) + 1)[1 if name == "sickr" else 0 :]  # SICK has a head
        return {split: _subset([(row[first], row[second]) for row in rows], [row[score] for row in rows], files[0])}
    texts = zip(SUBSETS[name], files[::2], files[1::2], strict=True)
    return {key: _senteval(sentences, gold) for key, sentences, gold in texts}


def task_files(name: str, data: Path, split: str = "test") -> list[Path]:
    """The files of a task, whether they are there or not; of subsets first the sentences and then the gold scores.

    Raises UnknownName, UsageError, and NotFound where no tasks are at or below `data`.
    """
    if name not in TASKS:
        raise UnknownName("STS task", name, TASKS)
    if split not in SICK_FILES or (split != "test" and name in SUBSETS):
        raise UsageError(f"{name} has no split {split!r}.", "stsb and sickr have train, dev and test.")
    root = _root(Path(data))
    if name == "stsb":
        return [root / "STS" / "STSBenchmark" / f"sts-{split}.csv"]
    if name == "sickr":
        return [root / "SICK" / SICK_FILES[split]]
    folder = root / "STS" / f"{name.upper()}-en-test"
    return [folder / f"STS.{kind}.{key}.txt" for key in SUBSETS[name] for kind in ("input", "gs")]


def average(scores: Sequence[float]) -> float:
    """The mean that tables print: of scores of two decimals, to two decimals.

    >>> average([72.374, 80.604])
    76.48
    """
    return round(float(np.mean([round(score, 2) for score in scores])), 2)


def cosines(pairs: Sequence[Pair], encoder: EncoderProtocol) -> NDArray[np.float64]:
    """Cosine of each pair, (n,); a zero vector has cosine 0 with everything, as in SentEval."""
    return compared(pairs, lambda texts: encoder.encode(texts, role="passage"))


def compared(pairs: Sequence[Pair], embed: Callable[[Sequence[str]], Vectors]) -> NDArray[np.float64]:
    """The same by what gives unit rows for texts. A text that several pairs share is embedded once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    place = {text: at for at, text in enumerate(texts)}
    vectors = embed(texts)
    left, right = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    values = np.einsum("nd,nd->n", vectors[left], vectors[right], dtype=np.float64)
    return np.asarray(np.clip(np.nan_to_num(values), -1, 1))


def spearman(values: Sequence[float] | NDArray[np.float64], gold: Sequence[float] | NDArray[np.float64]) -> float:
    """Rank correlation in -1 … 1, ties at their average rank; NaN where either side is constant."""
    return pearson(ranks(values), ranks(gold))


def pearson(values: Sequence[float] | NDArray[np.float64], gold: Sequence[float] | NDArray[np.float64]) -> float:
    """Linear correlation in -1 … 1; NaN where either side is constant."""
    a, b = (np.asarray(side, dtype=np.float64) - np.mean(side) for side in (values, gold))
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / lengths) if lengths > 0 else float("nan")


def ranks(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """1-based ranks, (n,); equal values share the average of the ranks they take up."""
    _, group, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[group.reshape(-1)], dtype=np.float64)


def _subset(pairs: Sequence[Pair], gold: Sequence[str], file: Path) -> Subset:
    """The pairs that have a score. Raises UsageError where `file` has one that is no number, too few, or none."""
    try:
        kept = [(pair, float(score)) for pair, score in zip(pairs, gold, strict=True) if score.strip()]
    except ValueError as error:
        raise UsageError(f"{file}: scores and sentences do not fit: {error}.", "Use SentEval's files.") from None
    if not kept or not np.isfinite([score for _, score in kept]).all():
        told = "a score is no number" if kept else "no pair has a score"
        raise UsageError(f"{file}: {told}.", "Use SentEval's files.")
    return Subset(tuple(pair for pair, _ in kept), tuple(score for _, score in kept))


def _senteval(sentences: Path, gold: Path) -> Subset:
    return _subset([(row[0], row[1]) for row in _rows(sentences, 2)], _lines(gold), gold)


def _rows(file: Path, least: int) -> list[list[str]]:
    """The columns of each line; UsageError, with the line, where there are fewer than `least`."""
    rows = [line.split("\t") for line in _lines(file)]
    for number, row in enumerate(rows, 1):
        if len(row) < least:
            raise UsageError(f"{file}:{number}: {len(row)} columns, where {least} are needed.", "Use SentEval's files.")
    return rows


def _root(data: Path) -> Path:
    """SentEval's folder, with STS/ and SICK/ in it: `data` itself or below it."""
    for root in (data, data / "senteval", data / "sts" / "senteval"):
        if (root / "STS").is_dir():
            return root
    raise NotFound(f"no STS tasks are at {data}.", "Give the folder that holds STS/ and SICK/: --data DIR.")


def _lines(file: Path) -> list[str]:
    """Lines of a file; empty ones count, since gold scores stand against sentences by line number."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(f"the task's file {file} is not there.", "Give the right folder: --data DIR.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 (byte {error.start}).", "Use SentEval's files.") from None
    return text.removesuffix("\n").split("\n")
