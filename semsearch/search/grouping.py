"""From ranked passages to what is shown: one a document, copies folded, what is gone or weak left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from semsearch.search.near_copies import same_words
from semsearch.stores.local.store import Store, StoredPassage
from semsearch.types import Query

AT_ONCE = 2  # times k passages are read from the store at a time; most answers need no more


@dataclass(slots=True)
class Group:
    """A hit in the making: its passage, how many more of the document were found, documents that say the same."""

    best: StoredPassage
    strength: float | None
    more: int = 0
    copies: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Picked:
    """At most k groups in order, and how many passages are hidden because their file is gone."""

    groups: list[Group] = field(default_factory=list)
    gone: int = 0


def pick(
    store: Store, ranked: Sequence[int], strengths: Mapping[int, float], query: Query, own: frozenset[int]
) -> Picked:
    """The best `query.k` of the passages `ranked`, best first, without `own`. Call it inside a snapshot."""
    kept = [one for one in ranked if one not in own and strengths.get(one, 1.0) >= query.min_strength]
    members = _members(store, kept, query)
    picked = Picked()
    folders: dict[str, bool] = {}
    firsts = list(members)
    for start in range(0, len(firsts), AT_ONCE * query.k):
        for passage in store.passages(firsts[start : start + AT_ONCE * query.k]):
            if _is_gone(passage, folders):
                picked.gone += len(members[passage.id])
            elif query.group == "passage" or not _folded(passage, picked.groups):
                more = len(members[passage.id]) - 1
                picked.groups.append(Group(passage, strengths.get(passage.id), more))
            if len(picked.groups) == query.k:
                return picked
    return picked


def _members(store: Store, ranked: Sequence[int], query: Query) -> dict[int, list[int]]:
    """The best passage of each group -> all that were found of it, in order."""
    if query.group == "passage":
        return {one: [one] for one in ranked}
    owners = store.owners(ranked)
    groups: dict[int, list[int]] = {}
    for one in ranked:
        if one in owners:
            groups.setdefault(owners[one], []).append(one)
    return {found[0]: found for found in groups.values()}


def _is_gone(passage: StoredPassage, folders: dict[str, bool]) -> bool:
    """A file that is no longer in a folder that still is (a folder that is away says nothing, R13)."""
    if passage.root is None or passage.path is None:
        return False
    if "\\x" in passage.path:
        return False  # stands for a name that is not UTF-8: the name itself is not known here
    try:
        if passage.root not in folders:
            folders[passage.root] = Path(passage.root).is_dir()
        return folders[passage.root] and not Path(passage.root, passage.path).exists()
    except OSError:
        return False  # a folder that may not be looked into says nothing either


def _folded(passage: StoredPassage, groups: Sequence[Group]) -> bool:
    """True where an earlier hit says the same in the same words; it then carries this one's document."""
    for group in groups:
        if same_words(group.best.text, passage.text):
            group.copies.append(passage.document)
            return True
    return False
