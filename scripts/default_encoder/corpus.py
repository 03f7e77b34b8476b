"""The texts of a long distillation, in shards: sentences, questions, and passages of several lengths.

None is a text of an STS set, a query of a test or one that a choice is made on, or a document that is judged relevant
to such a query. Each shard is a sample of the whole, in files of JSON lines, so that a run can stop anywhere.

There are two kinds. `mixed`: sentences above all, and every text for itself. `search`: documents above all, many of
them as long as a student reads, under their titles as searches read them; the texts of a document are in one shard, so
that queries have their documents among their nearest texts.
"""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from default_encoder import texts
from default_encoder.choice import dev_queries
from default_encoder.texts import DATA, Allowed
from semsearch.evaluation import retrieval

SHARD = 8_064  # texts
SENTENCES = 300_000  # of Wikipedia
CLUSTERS = 2_048
MANUALS = 8_000  # paragraphs of technical documents
LEAST_WORDS = 3
LENGTHS = (25, 50, 90, 150)  # words that a passage is cut to, so that it is read whole
WHOLE = 190  # words of a document that a student reads
SENTENCES_BESIDE = 60_000  # of Wikipedia, in the kind `search`
KINDS = ("mixed", "search")
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


def shards(folder: Path, encode: Encode, kind: str = "mixed", seed: int = 0) -> list[Path]:
    """The files of the shards in `folder`, made if they are missing; `encode` tells which sentences are alike."""
    if not (folder / "complete").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        allowed = Allowed()
        found = collected(groups(kind, encode, allowed, random.Random(seed)), allowed, random.Random(seed))
        for at in range(len(found) // SHARD):
            rows = found[at * SHARD : (at + 1) * SHARD]
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (folder / f"{at:03}.jsonl").write_text(lines, encoding="utf-8")
        (folder / "complete").touch()
    return sorted(folder.glob("*.jsonl"))


def read(shard: Path) -> list[str]:
    """The texts of a shard."""
    with shard.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def groups(kind: str, encode: Encode, allowed: Allowed, chance: random.Random) -> list[Sequence[str]]:
    """All texts of a kind, in groups that stay together."""
    wiki = [each for each in texts.wiki(1_000_000) if allowed(each)]
    count = SENTENCES if kind == "mixed" else SENTENCES_BESIDE
    alone, together = [*balanced(wiki, encode, count), *short(allowed)], list[list[str]]()
    if kind == "mixed":
        alone += passages(chance)
    else:
        together += in_search(chance)
    return [*([each] for each in alone), *together]


def collected(found: list[Sequence[str]], allowed: Allowed, chance: random.Random) -> list[str]:
    """The texts of the groups, which are shuffled, each text once."""
    reserved = forbidden()
    chance.shuffle(found)
    wanted = dict.fromkeys(each.strip() for group in found for each in group if len(each.split()) >= LEAST_WORDS)
    return [each for each in wanted if each not in reserved and allowed(each)]


def balanced(sentences: Sequence[str], encode: Encode, count: int) -> list[str]:
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


def short(allowed: Allowed) -> Iterator[str]:
    """Sentences and questions that are not of Wikipedia: captions, requests, medicine.

    Only of sets whose licence lets their texts be used for any purpose.
    """
    for premise, hypothesis, _ in texts.nli(allowed):
        yield from (premise, hypothesis)
    for name in ("clinc/clinc-data.csv", "banking77/banking_data/train.csv"):
        yield from (row[0] for row in texts.table(name))
    yield from (question for question, _ in texts.answers() if not texts.is_held_out(question))


def passages(chance: random.Random) -> Iterator[str]:
    """Of each document its title, first sentence, two cuts, and a query of its words."""
    for title, text in documents(chance):
        words = text.split()
        yield title
        yield " ".join(words[: chance.choice(LENGTHS)])
        yield first_sentence(text)
        if len(words) > LENGTHS[0]:
            start = chance.randrange(len(words) - LENGTHS[0])
            yield " ".join(words[start : start + chance.choice(LENGTHS)])
            yield query(words[start : start + LENGTHS[0]], chance)


def in_search(chance: random.Random) -> Iterator[list[str]]:
    """Of each document its title, its beginning, first sentence, and a query of its words.

    The beginning is the whole document for half of them, and stands under the title for three of four.
    """
    for title, text in documents(chance):
        words = text.removeprefix(title).split()
        body = " ".join(words[: chance.choice((WHOLE, chance.choice(LENGTHS)))])
        start = chance.randrange(max(1, len(words) - LENGTHS[0]))
        yield [
            title,
            body if chance.randrange(4) == 0 else f"{title}\n{body}",
            first_sentence(text),
            query(words[start : start + LENGTHS[0]], chance),
        ]


def documents(chance: random.Random) -> list[texts.Pair]:
    """Title and text of articles, papers, answers and manuals."""
    found = [*texts.leads(), *texts.abstracts(), *scifact(), *chance.sample(list(manuals()), MANUALS)]
    return found + [(question, answer) for question, answer in texts.answers() if not texts.is_held_out(question)]


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!])\s", text.strip(), maxsplit=1)[0]


def query(words: Sequence[str], chance: random.Random) -> str:
    """Three to eight of the longer words, in their order, as people type them."""
    known = [at for at, word in enumerate(words) if len(word) > 3]
    chosen = sorted(chance.sample(known, min(len(known), chance.randint(3, 8))))
    return " ".join(words[at].strip(".,;:()[]\"'").lower() for at in chosen)


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


def manuals() -> Iterator[texts.Pair]:
    """Headings and paragraphs of technical documents: PEPs, and the manual of a web server."""
    for path in sorted((DATA / "docs_peps_rst").glob("pep-*.rst")):
        yield from paragraphs(path.read_text(encoding="utf-8", errors="replace"))
    for path in sorted((DATA / "docs_httpd_html").rglob("*.html*")):
        text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", "\n", path.read_text(encoding="utf-8", errors="replace"))
        yield from paragraphs(html.unescape(text))


def paragraphs(text: str) -> Iterator[texts.Pair]:
    """The paragraphs of 25 words and more, each with the last line above it that is short."""
    heading = ""
    for block in re.split(r"\n\s*\n", text):
        words = re.sub(r"[=~`*^-]{3,}", " ", block).split()
        if len(words) >= LENGTHS[0]:
            yield heading or " ".join(words[:8]), " ".join(words)
        elif words:
            heading = " ".join(words)
