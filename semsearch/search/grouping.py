"""Grouping of ranked passages to hits: one per document, near copies folded, gone files and weak ones left out.

Near copies are found by their words. Vectors cannot do it: two invoices that differ in their number are closer together
than two wordings of one thought. So nearly all runs of five words have to be shared (shingles, Broder 1997).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from semsearch.documents.file_access import FilePresence
from semsearch.errors import TooLarge
from semsearch.search import shared_words

if TYPE_CHECKING:
    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import StoredPassage
    from semsearch.types import Query

FIRST = 4  # passages for each hit, whose documents are looked up first
READ = 100  # passages that are read at once: each may have metadata of 1 MB
SHINGLE = 5
SHARED = 0.9  # one word changed in a passage of 100 leaves 91 of 96 shingles


@dataclass(frozen=True, slots=True)
class CollapsedHit:
    """One hit: its best passage, how many more of the document were found, documents with nearly the same text."""

    best: StoredPassage
    strength: float | None
    more: int = 0
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collapsed:
    """At most k hits in order, and how many passages are hidden because their file is gone."""

    hits: tuple[CollapsedHit, ...]
    gone: int


def collapse(
    reader: StoreReader,
    ranked: Sequence[int],
    strengths: Mapping[int, float],
    query: Query,
    own: frozenset[int],
    owners: Mapping[int, int] | None = None,
    certain: int | None = None,
    most_characters: int | None = None,
) -> Collapsed:
    """The best `query.k` of the passages `ranked`, best first, without `own`. Call it inside a snapshot.

    `owners`: the documents of all of them, as the reader's method gives them, where they are known. `certain`: only
    the first so many are sure of their place, so only they become hits, which may be less than there are. Raises
    TooLarge where they have more than `most_characters` before the last one.
    """
    left = [one for one in ranked if one not in own and strengths.get(one, 1.0) >= query.min_strength]
    if owners is None and query.group != "passage" and len(left) > 2 * (first := FIRST * query.k):
        there = reader.owners(left, first=first)
        few = collapse(reader, left, strengths, query, own, there, first, most_characters)
        if len(few.hits) == query.k:
            return few
    members = _members(reader, left, query, owners)
    hits: list[CollapsedHit] = []
    gone, presence, sure = 0, FilePresence(), frozenset(ranked[:certain])
    firsts = [one for one in members if one in sure]
    step, size = min(query.k, READ), 0  # most answers need no more than the first k
    for start in range(0, len(firsts), step):
        for passage in reader.passages(firsts[start : start + step]):
            same = None if query.group != "document" else _same(passage, hits)
            if passage.root is not None and passage.path is not None and presence.is_gone(passage.root, passage.path):
                gone += len(members[passage.id])
            elif same is not None:
                hits[same] = replace(hits[same], copies=(*hits[same].copies, passage.document))
            else:
                if query.rerank is None and len(hits) < query.offset:  # nobody will see it
                    passage = replace(passage, metadata={}, characters=len(passage.text))
                if most_characters is not None and size > most_characters:
                    raise TooLarge(f"the hits have more than {most_characters >> 20} MB.", "Ask for fewer at once.")
                size += passage.characters
                more = len(members[passage.id]) - 1
                hits.append(CollapsedHit(passage, strengths.get(passage.id), more))
            if len(hits) == query.k:
                return Collapsed(tuple(hits), gone)
    return Collapsed(tuple(hits), gone)


def _members(
    reader: StoreReader, ranked: Sequence[int], query: Query, owners: Mapping[int, int] | None
) -> dict[int, list[int]]:
    """The best passage of each group -> all passages of it that were found, in order."""
    if query.group == "passage":
        return {one: [one] for one in ranked}
    owners = reader.owners(ranked) if owners is None else owners
    groups: dict[int, list[int]] = {}
    for one in ranked:
        if one in owners:
            groups.setdefault(owners[one], []).append(one)
    return {members[0]: members for members in groups.values()}


def _same(passage: StoredPassage, hits: Sequence[CollapsedHit]) -> int | None:
    """The place of the first hit that the passage is a near copy of; None for none."""
    return next((at for at, hit in enumerate(hits) if same_words(hit.best.text, passage.text)), None)


def same_words(first: str, second: str) -> bool:
    """Whether two texts differ only in case, spacing and punctuation, or in a few words.

    >>> same_words("Stop the engine first.", "stop the ENGINE, first")
    True
    >>> same_words("Invoice 12 is due in May.", "Invoice 13 is due in May.")
    False
    """
    if not 0.8 < (len(first) + 1) / (len(second) + 1) < 1.25:
        return False
    (these, ours), (those, theirs) = _read(first), _read(second)
    if these == those:
        return True
    if not (ours and theirs):
        return False
    common = len(ours & theirs)
    return common >= SHARED * (len(ours) + len(theirs) - common)


@lru_cache(maxsize=1024)  # a search for 100 documents compares each of them with all before it
def _read(text: str) -> tuple[tuple[str, ...], frozenset[tuple[str, ...]]]:
    """The words of `text`, and its runs of five of them."""
    words = tuple(shared_words.words(text))
    return words, frozenset(words[at : at + SHINGLE] for at in range(len(words) - SHINGLE + 1))
