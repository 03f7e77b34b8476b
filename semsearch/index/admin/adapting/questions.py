"""Questions that an index asks of itself: its titles and headings, each of which names a text to be found without it.

Documents are split into three parts by a hash of their ids, before anything of them is read: training, choice and test.
A title or heading is asked as it stands, and as keywords. Of texts without either, the first sentence is asked for the
rest; for training alone, since it is seldom a question that somebody would ask.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

from semsearch.chunking.sentences import sentences
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import StoredPassage
from semsearch.utils.batches import batches
from semsearch.utils.languages import stop_words
from semsearch.utils.languages.writing_systems import EAST_ASIAN

Part = Literal["train", "choice", "test"]
Kind = Literal["title", "heading", "first sentence", "judged"]
SHARES: tuple[tuple[Part, int], ...] = (("test", 20), ("choice", 30), ("train", 100))  # percent, cumulative
MOST_DOCUMENTS = 20_000  # of an index, at most; by the same hash, so that they are always the same ones
READ_AT_ONCE = 64  # documents
MOST_OF_ONE = 40  # pairs of a document
LONGEST = 200_000  # characters of a document that is searched; longer ones are trained on only
MIN_LETTERS = 80  # of a text that a question is asked about
MIN_WORDS, MAX_WORDS = 2, 24  # of a question; below, a name that many texts could have
DENSE = 2  # characters of Chinese or Japanese that count as a word
_MARKUP = " \t#=*_~`-–—:.|"
_WORD = re.compile(rf"[{EAST_ASIAN}]+|[^\W_]+(?:[-'.][^\W_]+)*")
_EAST = re.compile(rf"[{EAST_ASIAN}]")


class Pair(NamedTuple):
    """A question, and the text that answers it: a part of `document`, without the question itself."""

    question: str
    text: str
    document: str
    kind: Kind
    passage: int = 0  # its id, whose stored vector tells what is like it


@dataclass(frozen=True, slots=True)
class Collection:
    """The documents of one part without their titles and headings, by id, and the pairs that are asked of them."""

    documents: dict[str, str]
    pairs: list[Pair]

    def names(self) -> list[Pair]:
        """The pairs that may be asked to measure a search: titles and headings of documents that are searched."""
        return [pair for pair in self.pairs if pair.kind != "first sentence" and pair.document in self.documents]


def part_of(name: str) -> Part:
    """The part of a document, or of a judged question, by its id alone.

    >>> Counter(part_of(f"notes/{at}.md") for at in range(1000)).most_common()
    [('train', 701), ('test', 191), ('choice', 108)]
    """
    place = _hash(name) % 100
    return next(part for part, until in SHARES if place < until)


def keywords(question: str) -> str:
    """The words of a question but for those of grammar, in lower case.

    >>> keywords("How to build a Kettle that does not whistle?")
    'build kettle whistle'
    """
    words = _WORD.findall(question.lower())
    return " ".join(word for word in words if word not in stop_words.QUERY | stop_words.ENGLISH) or question


def read(reader: StoreReader) -> dict[Part, Collection]:
    """The documents of an index, at most so many, and what is asked of them.

    A name that several documents have, such as "Introduction", is no question.
    """
    names = sorted(reader.document_ids(None), key=_hash)[:MOST_DOCUMENTS]
    found = {part: Collection({}, []) for part, _ in SHARES}
    used: Counter[str] = Counter()
    for some in batches(sorted(names), READ_AT_ONCE):
        by_document: dict[str, list[StoredPassage]] = {}
        with reader.snapshot():
            for passage in reader.passages(reader.passage_ids(some)):
                by_document.setdefault(passage.document, []).append(passage)
        for name, passages in by_document.items():
            collection, pairs = found[part_of(name)], list(islice(_pairs(name, passages), MOST_OF_ONE))
            if len(text := "\n\n".join(_without_names(passages))) <= LONGEST:
                collection.documents[name] = text
            collection.pairs.extend(pairs)
            used.update(pair.question.casefold() for pair in pairs)
    unique = {part: [pair for pair in one.pairs if used[pair.question.casefold()] == 1] for part, one in found.items()}
    return {part: replace(one, pairs=unique[part]) for part, one in found.items()}


def _pairs(name: str, passages: Sequence[StoredPassage]) -> Iterator[Pair]:
    """A pair for the title and for each heading, with the first text below it; else one for each first sentence."""
    texts = list(zip(passages, _without_names(passages), strict=True))
    seen: set[str] = set()
    for kind in ("title", "heading"):
        for passage, text in texts:
            question = " ".join((getattr(passage, kind) or "").split())
            if question.casefold() not in seen and len(text) >= MIN_LETTERS and is_question(question):
                seen.add(question.casefold())
                yield Pair(question, text, name, "title" if kind == "title" else "heading", passage.id)
    for passage, text in () if seen else texts:
        spans = sentences(text)
        if len(spans) > 2 and is_question(first := " ".join(text[slice(*spans[0])].split())):
            rest = text[spans[1][0] :]
            if len(rest) >= MIN_LETTERS:
                yield Pair(first, rest, name, "first sentence", passage.id)


def is_question(text: str) -> bool:
    """Whether a name says enough to find a text by it."""
    words = len(_WORD.findall(keywords(text))) + len(_EAST.findall(text)) // DENSE
    return words >= MIN_WORDS and len(text.split()) <= MAX_WORDS and any(map(str.isalpha, text))


def _without_names(passages: Iterable[StoredPassage]) -> list[str]:
    """The texts of a document's passages without the lines that are its title or one of its headings."""
    listed = list(passages)
    names = {_plain(one) for each in listed for one in (each.title, each.heading) if one}
    return ["\n".join(line for line in each.text.splitlines() if _plain(line) not in names).strip() for each in listed]


def _plain(line: str) -> str:
    return " ".join(line.strip(_MARKUP).split()).casefold()


def spread(items: Sequence[Pair], most: int, seed: int = 0) -> list[Pair]:
    """At most so many of the pairs, at random, of as many documents as possible."""
    shuffled = random.Random(seed).sample(items, len(items))
    turn: Counter[str] = Counter()
    ranked: list[tuple[int, int, Pair]] = []
    for pair in shuffled:
        turn[pair.document] += 1
        ranked.append((turn[pair.document], len(ranked), pair))
    return [pair for _, _, pair in sorted(ranked)[:most]]


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8])
