"""Training and test data by name, read from one folder (--data).

wiki1m           wiki1m_for_simcse.txt, else wiki_sentences_1m/wiki1m.txt.xz: one sentence per line
nli              nli_for_simcse.csv: sent0, sent1, hard_neg
nli-sentences    both sentences of nli
stsb, stsb-train all sentences of STS-B, or of its train part, without labels and with repetitions
snli             snli_dev_test: dev to train on, test to measure on
atec bq lcqmc pawsx stsb-cn    senteval_cn/ATEC/ATEC.train.data …: two sentences and a label, separated by tabs
nli-cn           senteval_cn/NLI/NLI.train.data, labels 0 contradiction, 1 neutral, 2 entailment
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from scripts.papers.jobs import Absent
from semsearch.evaluation import sts_pairs
from semsearch.training import Dataset

WIKI = ("wiki1m_for_simcse.txt", "wiki_sentences_1m/wiki1m.txt.xz", "wiki_sentences_1m/wiki1m.txt")
CHINESE = {"atec": "ATEC", "bq": "BQ", "lcqmc": "LCQMC", "pawsx": "PAWSX", "stsb-cn": "STS-B", "nli-cn": "NLI"}
ORDER = {"contradiction": 0.0, "neutral": 1.0, "entailment": 2.0}  # CoSENT: the least similar first
Pairs = tuple[list[tuple[str, str]], list[float]]


def examples(name: str, data: Path, most: int = 0) -> Dataset:
    """The first `most` rows of the data called `name`. Raises Absent if its file does not exist."""
    limit = most or None
    if name == "wiki1m":
        return Dataset({"anchor": list(islice(sentences(data), limit))}, source=name)
    if name == "nli":
        return _triplets(data, limit)
    if name == "nli-sentences":
        results = _triplets(data, None)
        both = [
            text for pair in zip(results.columns["anchor"], results.columns["positive"], strict=True) for text in pair
        ]
        return Dataset({"anchor": both[:limit]}, source=name)
    if name in ("stsb", "stsb-train"):
        splits = ("train", "dev", "test") if name == "stsb" else ("train",)
        sts = [pair for split in splits for pair in sts_pairs("stsb", data, split)[split].pairs]
        return Dataset({"anchor": [text for pair in sts for text in pair]}, source=name)
    pairs, labels = labelled(name, data, "train")
    columns = {"anchor": [one for one, _ in pairs[:limit]], "positive": [other for _, other in pairs[:limit]]}
    return Dataset(columns, labels[:limit], source=name)


def sentences(data: Path) -> Iterator[str]:
    """Sentences of Wikipedia, one by one. Raises Absent."""
    path = next((data / name for name in WIKI if (data / name).is_file()), None)
    if path is None:
        raise Absent(f"{data / WIKI[0]} is not here")
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        yield from (line.strip() for line in lines if line.strip())


def labelled(name: str, data: Path, split: str) -> Pairs:
    """Pairs of sentences with ordered labels; split is train, valid or test. Raises Absent."""
    if name == "snli":
        return _snli(data, {"train": "dev", "test": "test"}[split])
    folder = CHINESE[name]
    path = data / "senteval_cn" / folder / f"{folder}.{split}.data"
    if not path.is_file():
        raise Absent(f"the Chinese data are not here: {path.relative_to(data)}")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row[0], row[1]) for row in rows], [float(row[2]) for row in rows]


def _snli(data: Path, part: str) -> Pairs:
    folder = data / "snli_dev_test"
    if not (folder / f"labels.{part}").is_file():
        raise Absent("SNLI's dev and test are not here: snli_dev_test")
    one, other, labels = (
        (folder / f"{name}.{part}").read_text(encoding="utf-8").splitlines() for name in ("s1", "s2", "labels")
    )
    rows = [(a.strip(), b.strip(), ORDER[word]) for a, b, word in zip(one, other, labels, strict=True) if word in ORDER]
    return [(a, b) for a, b, _ in rows], [order for _, _, order in rows]


def _triplets(data: Path, limit: int | None) -> Dataset:
    path = data / "nli_for_simcse.csv"
    if not path.is_file():
        raise Absent(f"SNLI's train part and MultiNLI are not here: {path.name}")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(islice(csv.DictReader(lines), limit))
    columns = {"anchor": "sent0", "positive": "sent1", "negative": "hard_neg"}
    return Dataset({role: [row[name] for row in rows] for role, name in columns.items()}, source="nli")
