"""What choices are made on: sentences to compare, and queries of every kind that people type, none of them in a test.

    python -m scripts.encoders.choice MODEL …        the figures of each, a line of JSON

Claims (SciFact, train), questions (MedQuAD), titles and two to five telling words of articles and papers, headings of
manuals, and the choosing half of our own questions about them. No set decides alone.
"""

from __future__ import annotations

import json
import lzma
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scripts.encoders import texts
from scripts.encoders.manuals import FOLDERS, files, paragraphs
from scripts.shared.places import CHECKOUT, DATA
from semsearch import Encoder
from semsearch.evaluation import retrieval, sts_benchmarks
from semsearch.training import SimilarityValidation

if TYPE_CHECKING:
    from semsearch.types import Role, Vectors

    Encode = Callable[[Sequence[str], Role], Vectors]

CLAIMS, DISTRACTORS = 200, 600  # of SciFact train: its queries, and documents beside the relevant ones
QUERIES = 400  # of MedQuAD, of titles, and of telling words
ARTICLES = 800  # that titles and telling words are looked for in
FILES, PARAGRAPHS = 60, 6  # of manuals beside the judged ones, and of each file
HEADING_WORDS = 8
QUESTIONS = CHECKOUT / "tests" / "fixtures" / "questions"


class Ranking(NamedTuple):
    """Queries, documents, and for each query the places of the documents that answer it.

    `owners` tells of several passages which document each belongs to; the best one counts.
    """

    queries: Sequence[str]
    passages: Sequence[str]
    relevant: Sequence[frozenset[int]]
    owners: Sequence[int] | None = None

    def ndcg(self, encode: Encode) -> float:
        """Mean nDCG@10 in percent."""
        scores = encode(self.queries, "query") @ encode(self.passages, "passage").T
        if self.owners is not None:
            by_document = np.full((len(self.queries), max(self.owners) + 1), -np.inf, np.float32)
            np.maximum.at(by_document.T, np.asarray(self.owners), scores.T)
            scores = by_document
        best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        gains = [
            retrieval.ndcg([str(at) for at in row], dict.fromkeys(map(str, right), 1))
            for row, right in zip(best.tolist(), self.relevant, strict=True)
        ]
        return float(100 * np.mean(gains))


class Sets(NamedTuple):
    """All that choices are made on, which can be written to a file and read where the data are not."""

    pairs: Sequence[tuple[str, str]]
    gold: Sequence[float]
    rankings: Mapping[str, Ranking]

    @classmethod
    def read_all(cls) -> Sets:
        """From the data."""
        dev = sts_benchmarks.sts_pairs("stsb", DATA, "dev")["dev"]
        return cls(dev.pairs, dev.gold, rankings())

    def write(self, file: Path) -> None:
        ranked = {
            name: {**ranking._asdict(), "relevant": [sorted(each) for each in ranking.relevant]}
            for name, ranking in self.rankings.items()
        }
        with lzma.open(file, "wt", encoding="utf-8") as lines:
            json.dump({"pairs": self.pairs, "gold": self.gold, "rankings": ranked}, lines)

    @classmethod
    def read(cls, file: Path) -> Sets:
        """From a file that `write` made."""
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            content = json.load(lines)
        ranked = {
            name: Ranking(**{**one, "relevant": [frozenset(each) for each in one["relevant"]]})
            for name, one in content["rankings"].items()
        }
        return cls([(a, b) for a, b in content["pairs"]], content["gold"], ranked)


def figures(encode: Encode, sets: Sets | None = None) -> dict[str, float]:
    """STS-B dev (Spearman, both sentences as passages) and nDCG@10 of every ranking, in percent."""
    pairs, gold, ranked = sets or Sets.read_all()
    alike = SimilarityValidation(pairs, gold).score(lambda sentences: encode(sentences, "passage"))
    return {"stsb_dev": alike} | {name: ranking.ndcg(encode) for name, ranking in ranked.items()}


def stsb_dev(encode: Callable[[Sequence[str]], Vectors]) -> float:
    """Spearman on STS-B dev, in percent."""
    dev = sts_benchmarks.sts_pairs("stsb", DATA, "dev")["dev"]
    return SimilarityValidation(dev.pairs, dev.gold).score(encode)


@cache
def rankings() -> dict[str, Ranking]:
    """Every ranking by name."""
    return {
        "claims": claims(),
        "questions": questions(),
        **articles(),
        "headings": headings(),
        **{name: own_questions(name) for name in FOLDERS},
    }


def claims() -> Ranking:
    """200 train queries of SciFact among their relevant documents and 600 others, whole documents up to the limit."""
    folder, chance = DATA / "scifact" / "beir", random.Random(1)
    documents, queries = list(retrieval.beir_corpus(folder)), retrieval.beir_queries(folder)
    qrels = retrieval.beir_qrels(folder, "train")
    chosen = dev_queries(chance)
    relevant = {document for query in chosen for document in qrels[query]}
    others = [each for each in documents if each.id not in relevant]
    sample = [each for each in documents if each.id in relevant] + chance.sample(others, DISTRACTORS)
    place = {each.id: at for at, each in enumerate(sample)}
    right = [frozenset(place[one] for one in qrels[query]) for query in chosen]
    return Ranking([queries[each] for each in chosen], [each.text for each in sample], right)


def dev_queries(chance: random.Random | None = None) -> list[str]:
    """The ids of the train queries of SciFact that choices are made on."""
    qrels = retrieval.beir_qrels(DATA / "scifact" / "beir", "train")
    return (chance or random.Random(1)).sample(sorted(qrels), CLAIMS)


def questions() -> Ranking:
    """400 held-out questions of MedQuAD among their answers."""
    pairs = [pair for pair in texts.answers() if texts.is_held_out(pair[0])]
    random.Random(2).shuffle(pairs)
    return one_to_one(pairs[:QUERIES])


def articles() -> dict[str, Ranking]:
    """400 titles, and telling words, of held-out articles and papers among 800 of them without their titles."""
    chance, pairs = random.Random(3), [*texts.leads(), *texts.abstracts()]
    rare = texts.telling(text for _, text in pairs)
    held_out = [(title, text.removeprefix(title).strip()) for title, text in pairs if texts.is_held_out(title)]
    chance.shuffle(held_out)
    held_out = held_out[:ARTICLES]
    bodies, right = [text for _, text in held_out], [frozenset([at]) for at in range(QUERIES)]
    return {
        "titles": Ranking([title for title, _ in held_out[:QUERIES]], bodies, right),
        "keywords": Ranking([rare(text, chance) for text in bodies[:QUERIES]], bodies, right),
    }


def headings() -> Ranking:
    """Headings of the judged files of manuals among the first paragraphs below them."""
    unique: dict[str, str] = {}
    repeated = set()
    for path in sorted(judged_files()):
        own: dict[str, str] = {}
        for heading, text in paragraphs(path):
            if 1 < len(heading.split()) <= HEADING_WORDS:
                own.setdefault(heading, text)
        repeated |= own.keys() & unique.keys()
        unique |= own
    pairs = [pair for pair in unique.items() if pair[0] not in repeated]
    random.Random(4).shuffle(pairs)
    return one_to_one(pairs[:QUERIES])


def own_questions(name: str) -> Ranking:
    """The choosing half of our questions about a manual, among the beginnings of its judged files and some others."""
    chosen = judged(name)[::2]
    right = {path for _, paths in judged(name) for path in paths}
    others = [path for path in files(name) if path not in right]
    sample = [*sorted(right), *random.Random(5).sample(others, FILES)]
    passages = [
        (at, f"{heading}\n{text}".strip())
        for at, path in enumerate(sample)
        for heading, text in paragraphs(path)[:PARAGRAPHS]
    ]
    place = {path: at for at, path in enumerate(sample)}
    return Ranking(
        [question for question, _ in chosen],
        [text for _, text in passages],
        [frozenset(place[path] for path in paths) for _, paths in chosen],
        [at for at, _ in passages],
    )


def judged_files() -> set[Path]:
    """The files of manuals that answer a question of ours, of either half: none of them is trained on."""
    return {path for name in FOLDERS for _, paths in judged(name) for path in paths}


def judged(name: str) -> list[tuple[str, list[Path]]]:
    """Our questions about a manual with the files that answer them; every second one is for choosing."""
    lines = (QUESTIONS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return [(question, [DATA / FOLDERS[name] / each for each in files.split()]) for question, files in rows]


def one_to_one(pairs: Iterable[tuple[str, str]]) -> Ranking:
    """Each query with its own passage."""
    queries, passages = zip(*pairs, strict=True)
    return Ranking(queries, passages, [frozenset([at]) for at in range(len(queries))])


def main() -> None:
    for model in sys.argv[1:]:
        print(json.dumps({"model": model} | figures(by_role(Encoder.load(model, device="cpu")))), flush=True)


def by_role(encoder: Encoder) -> Encode:
    return lambda sentences, role: encoder.encode(sentences, role=role)


if __name__ == "__main__":
    main()
