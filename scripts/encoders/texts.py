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
from semsearch.training import Dataset

WHITENED = 5_000  # sentences that whitening is fitted on
HELD_OUT = 20  # one question of MedQuAD, article and paper in so many is kept for choices
WORD = re.compile(r"[a-z][a-z0-9-]{2,}")
SHORT = 12  # characters, of letters and figures alone: a text below it may be in an STS set by chance

Pair = tuple[str, str]


def mixed(chance: random.Random) -> Dataset:
    """Pairs of sentences and of passages, so that the encoder learns both lengths and their relations."""
    allowed = Allowed()
    sentences = [each for each in wiki(120_000) if allowed(each)]
    chance.shuffle(sentences)
    pairs = list(zip(sentences[0::2], sentences[1::2], strict=False))[:24_000]
    pairs += [(a, b) for a, b, _ in nli(allowed)][:8_000]
    pairs += [(title, f"{title}\n\n{text}") for title, text in leads()[:8_000]]
    questions = answers()
    chance.shuffle(questions)
    pairs += [(question, beginning(answer, chance)) for question, answer in questions[:8_000]]
    chance.shuffle(pairs)
    return examples(pairs, "wiki sentences, SNLI, article leads, MedQuAD")


def widened(chance: random.Random) -> Dataset:
    """The same kinds anew, by another chance, with abstracts of papers among them."""
    more = mixed(random.Random(chance.random()))
    rows = list(zip(more.columns["anchor"], more.columns["positive"], strict=True))[:46_400]
    rows += abstracts() * 2
    chance.shuffle(rows)
    return examples(rows, f"{more.source}, arXiv abstracts")


def triplets(chance: random.Random) -> Dataset:
    """Premises of SNLI with a hypothesis that follows and one that contradicts."""
    found = [
        (a, *(chance.choice(texts[label]) for label in ("entailment", "contradiction"))) for a, texts in hypotheses()
    ]
    chance.shuffle(found)
    return examples(found, "SNLI triplets")


def ranked(chance: random.Random) -> Dataset:
    """Premises of SNLI with a hypothesis of each label: contradiction 0, neutral 1, entailment 2."""
    labels = ("contradiction", "neutral", "entailment")
    rows = [(a, chance.choice(texts[label]), at) for a, texts in hypotheses() for at, label in enumerate(labels)]
    chance.shuffle(rows)
    columns = {"anchor": [row[0] for row in rows], "positive": [row[1] for row in rows]}
    return Dataset(columns, [float(row[2]) for row in rows], "SNLI, three labels")


def hypotheses() -> list[tuple[str, dict[str, list[str]]]]:
    """Every premise that has hypotheses of all three labels, with them."""
    found: dict[str, dict[str, list[str]]] = {}
    for premise, hypothesis, label in nli(Allowed()):
        found.setdefault(premise, {}).setdefault(label, []).append(hypothesis)
    wanted = {"entailment", "neutral", "contradiction"}
    return [(premise, texts) for premise, texts in found.items() if wanted <= set(texts)]


def sentences(chance: random.Random) -> Dataset:
    """Sentences of Wikipedia, none of an STS set."""
    allowed = Allowed()
    found = [each for each in wiki(40_000) if allowed(each)]
    chance.shuffle(found)
    return Dataset({"anchor": found}, None, "wiki sentences")


def examples(rows: Sequence[Sequence[str]], source: str) -> Dataset:
    names = ("anchor", "positive", "negative")
    return Dataset(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=False)}, None, source
    )


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


def beginning(text: str, chance: random.Random) -> str:
    """The first 40, 80 or 140 words of a text."""
    return " ".join(text.split()[: chance.choice((40, 80, 140))])


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
