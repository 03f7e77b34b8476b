"""Grouping: from ranked passages to hits: one a document, near copies folded, gone files and weak ones left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from semsearch.documents.presence import FilePresence
from semsearch.search.near_copies import same_words
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import StoredPassage
from semsearch.types import Query

AT_ONCE = 2  # times k passages are read from the store at a time; most answers need no more


@dataclass(slots=True)
class CollapsedHit:
    """One hit: its best passage, how many more of the document were found, documents that say the same."""

    best: StoredPassage
    strength: float | None
    more: int = 0
    copies: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Collapsed:
    """At most k hits in order, and how many passages are hidden because their file is gone."""

    hits: list[CollapsedHit] = field(default_factory=list)
    gone: int = 0


def collapse(
    reader: StoreReader, ranked: Sequence[int], strengths: Mapping[int, float], query: Query, own: frozenset[int]
) -> Collapsed:
    """The best `query.k` of the passages `ranked`, best first, without `own`. Call it inside a snapshot."""
    wanted = [one for one in ranked if one not in own and strengths.get(one, 1.0) >= query.min_strength]
    members = _members(reader, wanted, query)
    collapsed = Collapsed()
    presence = FilePresence()
    firsts = list(members)
    for start in range(0, len(firsts), AT_ONCE * query.k):
        for passage in reader.passages(firsts[start : start + AT_ONCE * query.k]):
            if passage.root is not None and passage.path is not None and presence.is_gone(passage.root, passage.path):
                collapsed.gone += len(members[passage.id])
            elif query.group == "passage" or not _folded(passage, collapsed.hits):
                more = len(members[passage.id]) - 1
                collapsed.hits.append(CollapsedHit(passage, strengths.get(passage.id), more))
            if len(collapsed.hits) == query.k:
                return collapsed
    return collapsed


def _members(reader: StoreReader, ranked: Sequence[int], query: Query) -> dict[int, list[int]]:
    """The best passage of each group -> all that were found of it, in order."""
    if query.group == "passage":
        return {one: [one] for one in ranked}
    owners = reader.owners(ranked)
    groups: dict[int, list[int]] = {}
    for one in ranked:
        if one in owners:
            groups.setdefault(owners[one], []).append(one)
    return {found[0]: found for found in groups.values()}


def _folded(passage: StoredPassage, hits: Sequence[CollapsedHit]) -> bool:
    """True where an earlier hit says the same in the same words; it then carries this one's document."""
    for hit in hits:
        if same_words(hit.best.text, passage.text):
            hit.copies.append(passage.document)
            return True
    return False
