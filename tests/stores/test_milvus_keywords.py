"""Search by words over Milvus finds what a local store finds, though only few texts are read."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.remote_stores import MILVUS
from helpers.stores import DIM, entry

from semsearch.stores import local
from semsearch.stores.milvus.keywords import candidates, lists
from semsearch.stores.milvus.keywords.search import MilvusMatching
from semsearch.stores.protocol import StoreReader

WORDS = [f"word{letter}" for letter in "abcdefghijklmnop"]
ASKED = ["wordp", "worda wordb", "wordo wordb worda", '"worda wordb"', "wordn wordm wordl wordc wordb", "wordk absent"]


pytestmark = pytest.mark.scale


@pytest.fixture(scope="module", params=MILVUS, ids=lambda made: made.__name__)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[StoreReader, StoreReader]]:
    """The same 900 passages in Milvus and in a local store; the later a word, the rarer it is."""
    folder = tmp_path_factory.mktemp("keywords")
    chance = random.Random(7)
    texts = itertools.islice(iter(lambda: _text(chance), None), 900)
    entries = [entry(f"d{at}", text) for at, text in enumerate(texts)]
    with request.param(folder) as driver:
        opened: list[Any] = [driver.create(folder / "there"), local.create(folder / "here")]
        for writer in opened:
            writer.replace(entries, writer.add_space("fingerprint", "stand-in", DIM, {}).id)
        yield opened[0].reader, opened[1].reader
        for writer in opened:
            writer.close()


def _text(chance: random.Random) -> str:
    words = [word for at, word in enumerate(WORDS) for _ in range(chance.randrange(4)) if chance.random() < 0.7**at]
    chance.shuffle(words)
    return " ".join([*words, *["filler"] * chance.randrange(30), "end"])


def found(reader: StoreReader, text: str, k: int, only: list[str] | None = None) -> list[tuple[str, float]]:
    """(document, score) of the hits; those that are as good as the last one are in the order of their documents."""
    allowed = None
    if only is not None:
        allowed = reader.only(np.concatenate([reader.passage_ids(uri) for uri in only]))
    hits = reader.lexical(text, k, allowed)
    documents = [one.document for one in reader.passages(hits.ids)]
    return sorted(zip(documents, hits.scores.round(6).tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))


def certain(hits: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Those that are better than the last one, which others may equal."""
    return [hit for hit in hits if hit[1] > hits[-1][1]]


@pytest.mark.parametrize("frequent", [False, True])
@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize("text", ASKED)
def test_the_best_passages_and_their_scores_are_those_of_a_local_store(
    text: str, k: int, frequent: bool, both: tuple[StoreReader, StoreReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIRST", 10)
    monkeypatch.setattr(candidates, "PIECE", 20)
    if frequent and '"' not in text:  # a phrase of frequent words is weighed by how many passages have them all
        monkeypatch.setattr(lists, "LISTED", 60)
    there, here = both
    assert certain(found(there, text, k)) == certain(found(here, text, k))
    assert [score for _, score in found(there, text, k)] == [score for _, score in found(here, text, k)]


@pytest.mark.parametrize("every", [2, 1], ids=["one condition", "several conditions"])
@pytest.mark.parametrize("text", ASKED)
def test_within_some_passages_the_best_are_those_of_a_local_store(
    text: str, every: int, both: tuple[StoreReader, StoreReader]
) -> None:
    there, here = both
    only = [f"d{at}" for at in range(0, 800, every)]
    assert certain(found(there, text, 20, only)) == certain(found(here, text, 20, only))


def test_few_texts_are_read(both: tuple[StoreReader, StoreReader], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "FIRST", 10)
    monkeypatch.setattr(candidates, "PIECE", 20)
    read: list[int] = []
    remember = MilvusMatching._remember
    monkeypatch.setattr(MilvusMatching, "_remember", lambda self, ids: (read.extend(ids), remember(self, ids))[1])
    there, _ = both
    asked = "wordp wordm worde wordd"
    assert len(there.lexical(asked, 10).ids) == 10
    few = len(set(read))
    assert few < len(there.lexical(asked, 900).ids) / 3
