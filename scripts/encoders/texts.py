"""The texts that the encoder is trained on; none of an STS set is among them."""

from __future__ import annotations

import csv
import hashlib
import json
import lzma
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from scripts.shared.places import DATA

WHITENED = 5_000  # sentences that whitening is fitted on
HELD_OUT = 20  # one question of MedQuAD, article and paper in so many is kept for choices
WORD = re.compile(r"[a-z][a-z0-9-]{2,}")
SHORT = 12  # characters, of letters and figures alone: a text below it may be in an STS set by chance

Pair = tuple[str, str]


class Allowed:
    """Whether a text is in none of the STS sets, case and punctuation aside."""

    def __init__(self) -> None:
        files = [file for file in (DATA / "sts").rglob("*") if file.is_file()]
        lines = (line for file in files for line in file.read_text(encoding="utf-8", errors="replace").split("\n"))
        self._seen = {key for line in lines for cell in line.split("\t") if len(key := plain(cell)) > SHORT}

    def __call__(self, text: str) -> bool:
        return plain(text) not in self._seen


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def wiki(count: int) -> list[str]:
    """The first `count` sentences of the sample."""
    with lzma.open(DATA / "wiki_sentences_1m" / "wiki1m.txt.xz", "rt", encoding="utf-8") as lines:
        return [line.strip() for _, line in zip(range(count), lines, strict=False)]


def leads() -> list[Pair]:
    """Title and first paragraph of articles."""
    return [(each["title"], each["text"]) for each in records("enwiki_leads/corpus.jsonl.xz")]


def abstracts() -> list[Pair]:
    """Title and abstract of papers."""
    with (DATA / "arxiv_csv" / "arxiv_papers.csv").open(encoding="utf-8-sig", newline="") as file:
        return [(row["title"], f"{row['title']}\n\n{row['abstract']}") for row in csv.DictReader(file)]


def answers() -> list[Pair]:
    """Medical questions with their answers; MedQuAD's own, none of LiveQA's."""
    return [(each["question"], each["answer"]) for each in records("medquad/medquad_qa.jsonl.xz") if each["answer"]]


def is_held_out(title: str) -> bool:
    """Whether a question of MedQuAD with its answer, or the title of an article or paper with its text, is kept for
    choices."""
    return int(hashlib.sha256(title.encode()).hexdigest(), 16) % HELD_OUT == 0


def query(words: Sequence[str], chance: random.Random) -> str:
    """Three to eight of the longer words, in their order, as people type them."""
    long = [at for at, word in enumerate(words) if len(word) > 3]
    chosen = sorted(chance.sample(long, min(len(long), chance.randint(3, 8))))
    return " ".join(words[at].strip(".,;:()[]\"'").lower() for at in chosen)


def telling(corpus: Iterable[str]) -> Callable[[str, random.Random], str]:
    """What makes a query of two to five words of a text: of its twelve rarest in `corpus`, in their order.

    A word that stands in no other text is left out: it would name the text, not describe it.
    """
    spread = Counter(word for text in corpus for word in set(WORD.findall(text.lower())))

    def chosen(text: str, chance: random.Random) -> str:
        words = list(dict.fromkeys(WORD.findall(text.lower())))
        rare = sorted((word for word in words if spread[word] > 1), key=spread.__getitem__)[:12]
        picked = set(chance.sample(rare, min(len(rare), chance.randint(2, 5))))
        return " ".join(word for word in words if word in picked)

    return chosen


def nli(allowed: Allowed) -> list[tuple[str, str, str]]:
    """Premise, hypothesis and label of SNLI's dev and test parts; its train part is not at hand."""
    rows = []
    for part in ("dev", "test"):
        columns = [
            (DATA / "snli_dev_test" / f"{name}.{part}").read_text(encoding="utf-8") for name in ("s1", "s2", "labels")
        ]
        rows += list(zip(*(column.splitlines() for column in columns), strict=True))
    return [(a, b, label) for a, b, label in rows if allowed(a) and allowed(b)]


def table(name: str) -> Iterator[list[str]]:
    """The rows of a file of comma-separated values, without its head."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        yield from islice(csv.reader(file), 1, None)


def records(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(DATA / name, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def wikipedia() -> list[str]:
    """The sentences that whitening is fitted on."""
    allowed = Allowed()
    return [each for each in wiki(WHITENED) if allowed(each)]
