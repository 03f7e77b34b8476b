"""The texts of a long distillation, in shards: queries of several kinds, sentences and passages, each with its role.

None is a text of an STS set, a query of a test or one that a choice is made on, or a document that is judged relevant
to such a query. Each shard is a sample of the whole, in files of JSON lines, so that a run can stop anywhere. The texts
of a document are in one shard, so that queries have their documents among their nearest texts.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.encoders import texts
from scripts.encoders.choice import dev_queries, judged_files, rankings
from scripts.encoders.manuals import manuals
from scripts.encoders.texts import Allowed, query, telling
from scripts.shared.places import DATA
from semsearch.evaluation import retrieval
from semsearch.types import Role

SHARD = 8_064  # texts
SENTENCES = 60_000  # of Wikipedia
ASKED = 6  # one sentence in so many is a query, too: people search for claims
CLUSTERS = 2_048
MANUALS = 8_000  # paragraphs of technical documents
LENGTHS = (25, 50, 90, 150)  # words that a passage is cut to, so that it is read whole
WHOLE = 190  # words of a document that a student reads
LEAST_WORDS: dict[Role, int] = {"query": 1, "passage": 3}


class Text(NamedTuple):
    """A text, and whether it is read as a query or as a passage."""

    text: str
    role: Role


def shards(
    folder: Path, encode: Callable[[Sequence[str]], NDArray[np.float32]], seed: int = 0, views: int = 1
) -> list[Path]:
    """The files of the shards in `folder`, made if they are missing; `encode` tells which sentences are alike.

    With more `views` there are as many times the sentences, and each document is cut and asked for anew in each.
    """
    if not (folder / "complete").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        allowed = Allowed()
        rows = collected(groups(encode, allowed, random.Random(seed), views), allowed, random.Random(seed))
        for at in range(len(rows) // SHARD):
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows[at * SHARD : (at + 1) * SHARD])
            (folder / f"{at:03}.jsonl").write_text("".join(lines), encoding="utf-8")
        (folder / "complete").touch()
    return sorted(folder.glob("*.jsonl"))


def read(shard: Path) -> list[Text]:
    """The texts of a shard."""
    with shard.open(encoding="utf-8") as lines:
        return [Text(*json.loads(line)) for line in lines]


def groups(
    encode: Callable[[Sequence[str]], NDArray[np.float32]], allowed: Allowed, chance: random.Random, views: int = 1
) -> list[list[Text]]:
    """All texts, in groups that stay together."""
    wiki = balanced([each for each in texts.wiki(1_000_000) if allowed(each)], encode, views * SENTENCES)
    alone = [[Text(each, "passage")] for each in wiki]
    alone += [[Text(each, "query")] for each in wiki[::ASKED]]
    asked = [group for _ in range(views) for group in of_documents(chance)]
    return [*alone, *([each] for each in short(allowed)), *asked]


def collected(groups: list[list[Text]], allowed: Allowed, chance: random.Random) -> list[Text]:
    """The texts of the groups, which are shuffled, each text once in a role."""
    reserved = forbidden()
    chance.shuffle(groups)
    stripped = dict.fromkeys(Text(each.text.strip(), each.role) for group in groups for each in group)
    return [
        each
        for each in stripped
        if len(each.text.split()) >= LEAST_WORDS[each.role] and each.text not in reserved and allowed(each.text)
    ]


def balanced(sentences: Sequence[str], encode: Callable[[Sequence[str]], NDArray[np.float32]], count: int) -> list[str]:
    """`count` sentences, as evenly as can be from every cluster of their vectors."""
    from faiss import Kmeans

    vectors = np.concatenate([encode(sentences[at : at + SHARD]) for at in range(0, len(sentences), SHARD)])
    clusters = Kmeans(vectors.shape[1], CLUSTERS, niter=8, seed=0, spherical=True, max_points_per_centroid=64)
    clusters.train(vectors)
    return [sentences[at] for at in evenly(clusters.index.search(vectors, 1)[1][:, 0], count)]


def evenly(labels: NDArray[np.int64], count: int) -> list[int]:
    """The first `count` places when every label's first place is taken, then every label's second, and so on.

    >>> evenly(np.array([7, 7, 7, 1, 1, 4]), 4)
    [0, 3, 5, 1]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(labels[order])) + 1])
    turns = np.empty(len(labels), np.int64)
    turns[order] = np.arange(len(labels)) - np.repeat(starts, np.diff([*starts, len(labels)]))
    return [int(each) for each in np.lexsort((np.arange(len(labels)), turns))[:count]]


def short(allowed: Allowed) -> Iterator[Text]:
    """Captions, which are passages, and requests, which are queries.

    Only of sets whose licence lets their texts be used for any purpose.
    """
    for premise, hypothesis, _ in texts.nli(allowed):
        yield from (Text(premise, "passage"), Text(hypothesis, "passage"))
    for name in ("clinc/clinc-data.csv", "banking77/banking_data/train.csv"):
        yield from (Text(row[0], "query") for row in texts.table(name))


def of_documents(chance: random.Random) -> Iterator[list[Text]]:
    """Of each document its title, two to five telling words and three to eight others as queries; its beginning and
    first sentence as passages.

    The beginning is the whole document for half of them, and stands under the title for three of four. The first
    sentence of every fourth is a query, too.
    """
    pairs = documents(chance)
    rare = telling(text for _, text in pairs)
    for title, text in pairs:
        words = text.removeprefix(title).split()
        body = " ".join(words[: chance.choice((WHOLE, chance.choice(LENGTHS)))])
        start = chance.randrange(max(1, len(words) - LENGTHS[0]))
        sentence = first_sentence(text)
        group = [
            Text(title, "query"),
            Text(body if chance.randrange(4) == 0 else f"{title}\n{body}", "passage"),
            Text(sentence, "passage"),
            Text(query(words[start : start + LENGTHS[0]], chance), "query"),
            Text(rare(text, chance), "query"),
        ]
        yield group if chance.randrange(4) else [*group, Text(sentence, "query")]


def documents(chance: random.Random) -> list[texts.Pair]:
    """Title and text of articles, papers, answers and manuals, without those that choices are made on."""
    pairs: list[texts.Pair] = [*texts.leads(), *texts.abstracts(), *texts.answers()]
    pairs = [pair for pair in pairs if not texts.is_held_out(pair[0])]
    judged = {text for ranking in rankings().values() for text in ranking.passages}  # an answer may have two questions
    sections = [(heading or "", text) for heading, text in manuals(without=judged_files())]
    pairs += [*scifact(), *chance.sample(sections, min(MANUALS, len(sections)))]
    return [(title, text) for title, text in pairs if not judged.intersection((text, text.removeprefix(title).strip()))]


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!])\s", text.strip(), maxsplit=1)[0]


def scifact() -> Iterator[texts.Pair]:
    """Title and abstract of SciFact's papers, and its train queries as titles without text."""
    folder = DATA / "scifact" / "beir"
    queries, reserved = retrieval.beir_queries(folder), forbidden_documents()
    yield from ((queries[each], queries[each]) for each in sorted(retrieval.beir_qrels(folder, "train")))
    for each in retrieval.beir_corpus(folder):
        if each.id not in reserved:
            title, _, text = each.text.partition("\n")
            yield title, text.strip() or title


def forbidden_documents() -> set[str]:
    """Documents of SciFact that are relevant to a test query, or to one that choices are made on."""
    folder = DATA / "scifact" / "beir"
    judged = retrieval.beir_qrels(folder, "test")
    train, chosen = retrieval.beir_qrels(folder, "train"), dev_queries()
    return {one for each in judged.values() for one in each} | {one for each in chosen for one in train[each]}


def forbidden() -> set[str]:
    """Queries of tests, and those that choices are made on."""
    folder = DATA / "scifact" / "beir"
    queries = retrieval.beir_queries(folder)
    return {queries[each] for each in (*retrieval.beir_qrels(folder, "test"), *dev_queries())}
