"""Documents are looked up for the first candidates only: the hits are those of looking them all up."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from semsearch import Document, Index
from semsearch.chunking.splitter import Splitter
from semsearch.search import fusion, grouping
from semsearch.stores.local import LocalReader
from semsearch.types import Hit

if TYPE_CHECKING:
    from semsearch.encoders.hashing import HashingEncoder

WORDS = [
    f"{first}{last}" for first in ("stone", "river", "cloud", "maple", "amber") for last in ("s", "ed", "fall", "er")
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, hashing: HashingEncoder) -> Iterator[Index]:
    """150 documents, a few of them with many passages; some are copies."""
    chance = random.Random(4)
    sentences = [" ".join(chance.choices(WORDS, k=chance.randint(4, 9))) + "." for _ in range(500)]
    documents = [
        Document(str(n), " ".join(chance.choices(sentences, k=40 if n % 25 == 0 else chance.randint(1, 3))))
        for n in range(150)
    ]
    folder = tmp_path_factory.mktemp("first") / "index"
    with Index.create(folder, encoder=hashing, splitter=Splitter(size=16, overlap=0)) as made:
        made.add([*documents, *(Document(f"copy of {n}", documents[n].text.upper()) for n in range(1, 20))])
        yield made


def everything(hits: Sequence[Hit]) -> list[object]:
    return [(h.id, h.rank, h.score, h.strength, h.more_in_document, h.near_copies, h.scores, h.parts) for h in hits]


def test_the_hits_are_the_same_whether_some_or_all_documents_are_looked_up(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, asked = random.Random(6), list[tuple[int, int | None]]()
    owners = LocalReader.owners

    def counted(reader: LocalReader, ids: Sequence[int], *, first: int | None = None, **which: bool) -> dict[int, int]:
        asked.append((len(ids), first))
        return owners(reader, ids, first=first, **which)

    monkeypatch.setattr(LocalReader, "owners", counted)
    for n in range(24):
        query = " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))
        how = {"mode": ("hybrid", "keyword")[n % 2], "k": (1, 3, 10)[n % 3], "min_strength": (0.0, 0.4)[n % 5 == 0]}
        found = index.search(query, **how)
        with monkeypatch.context() as patched:
            patched.setattr(fusion, "enough", lambda ranked, k: len(ranked.ids))
            patched.setattr(grouping, "FIRST", 1_000_000)
            assert everything(found) == everything(index.search(query, **how)), (query, how)
    assert any(first is not None and 2 * first <= n for n, first in asked)  # else nothing was tried


@pytest.mark.parametrize("seed", range(20))
def test_what_is_certain_stays_on_top_when_all_documents_are_known(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 120))
    parts = np.round(random.random((2, n)) ** 2, int(random.integers(1, 4)))  # with equal scores
    scores = parts.sum(axis=0)
    order = np.argsort(-scores, kind="stable")
    fused = fusion.Fused(np.arange(n)[order] + 1, scores[order], parts[:, order])
    owners = {one: int(random.integers(0, 1 + n // 2)) for one in fused.ids.tolist()}
    whole = fusion.by_document(fused, owners)
    for first in (1, n // 4 + 1, fusion.enough(fused, 3), n):
        some = {owners[one] for one in fused.ids[:first].tolist()}
        known = np.array([owners[one] in some for one in fused.ids.tolist()])
        raised = fusion.by_document(fusion.Fused(fused.ids[known], fused.scores[known], fused.parts[:, known]), owners)
        certain = fusion.certain(raised, fused, first)
        assert raised.ids[:certain].tolist() == whole.ids[:certain].tolist()
        assert raised.scores[:certain].tolist() == whole.scores[:certain].tolist()
    assert certain == n
