"""Queries made of the texts of shards, and the number of lists that each kind of question needs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers.shard_folders import note, write

from semsearch import Index, Query
from semsearch.scale.searching.building import build
from semsearch.stores.query_words import words_of
from semsearch.stores.shards import likely_queries
from semsearch.stores.shards import manifest as manifests
from semsearch.types import Document
from semsearch.utils.languages.stop_words import MULTILINGUAL
from semsearch.vector_index.on_disk import merging, parts
from semsearch.vector_index.on_disk.searching import TARGET, ListsOnDisk

DIM = 16
SHARDS, OF_EACH = 4, 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("made") / "shards"
    numbers = [range(at * OF_EACH, (at + 1) * OF_EACH) for at in range(SHARDS)]
    write(found, [[note(n) for n in each] for each in numbers])
    build(found)
    return found


def test_queries_are_titles_and_words_of_passages_from_every_shard(folder: Path) -> None:
    shards = manifests.read(folder).shards
    found = likely_queries.made(folder, shards)
    assert found == likely_queries.made(folder, shards)
    titles = {note(n).title: n for n in range(SHARDS * OF_EACH)}
    assert {*found["titles"]} <= {*titles} and len(found["titles"]) >= likely_queries.MOST // 2
    taken = Counter(titles[title] // OF_EACH for title in found["titles"])
    assert len(taken) == SHARDS and min(taken.values()) >= likely_queries.MOST // 16
    texts = [words_of(note(n).text) for n in range(SHARDS * OF_EACH)]
    for query in found["words"]:
        words = query.split(" ")
        assert 1 <= len(words) <= likely_queries.MOST_WORDS
        assert not any(word.casefold() in MULTILINGUAL for word in words)
        assert any(in_order(words, text) for text in texts)
    assert len(found["words"]) > likely_queries.MOST // 2


def in_order(words: list[str], text: list[str]) -> bool:
    rest = iter(text)
    return all(word in rest for word in words)


@pytest.mark.parametrize(
    ("text", "longest"),
    [("The of and with", 0), ("日本語の文章はここに長くつづくことがあります", likely_queries.LONGEST_RUN), ("", 0)],
)
def test_words_are_taken_of_any_text(text: str, longest: int) -> None:
    for seed in range(20):
        query = likely_queries.some_words(text, np.random.default_rng(seed))
        assert len(query) == longest and query in text


def test_texts_without_titles_and_words_leave_the_questions_that_vectors_make(tmp_path: Path) -> None:
    write(tmp_path / "shards", [[Document(f"d{n}", "It is. " * (n + 1)) for n in range(30)]])
    build(tmp_path / "shards")
    found = likely_queries.made(tmp_path / "shards", manifests.read(tmp_path / "shards").shards)
    assert found == {"titles": [], "words": []}
    with Index.open(tmp_path / "shards") as index:
        assert index.verify() == [] and len(index.search("it is", mode="semantic", k=3)) == 3


def test_the_lists_that_are_read_are_enough_for_every_kind_of_query(folder: Path) -> None:
    with Index.open(folder) as index:
        space = index.info()["spaces"][0]
        queries = likely_queries.made(folder, manifests.read(folder).shards)
        for texts in queries.values():
            near, exact = (nearest(index, texts, exact=way) for way in (False, True))
            shared = [len(one & other) / 10 for one, other in zip(near, exact, strict=True)]
            assert np.mean(shared) >= space["recall"] - 0.01 >= TARGET - 0.01


def nearest(index: Index, texts: list[str], *, exact: bool) -> list[set[int]]:
    found = (index.search(Query(text, k=10, mode="semantic", group="passage", exact=exact)) for text in texts)
    return [{hit.id for hit in hits} for hits in found]


def lists_of(place: Path, vectors: np.ndarray) -> ListsOnDisk:
    learned = parts.centroids(vectors, len(vectors))
    np.save(place / "part.npy", parts.part(learned, np.arange(1, len(vectors) + 1), vectors))
    merging.merge([place / "part.npy"], learned, place, lambda *_: None)
    return ListsOnDisk(place)


def test_each_kind_of_question_reaches_the_target(tmp_path: Path) -> None:
    random = np.random.default_rng(1)

    def unit(rows: np.ndarray) -> np.ndarray:
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    centres = unit(random.normal(size=(50, DIM)))
    vectors = unit(centres[random.integers(50, size=2_000)] + 0.1 * random.normal(size=(2_000, DIM)))
    lists = lists_of(tmp_path, vectors)
    part = np.load(tmp_path / "part.npy")
    easy, hard = vectors[:380], unit(random.normal(size=(20, DIM)))
    right = parts.nearest(np.concatenate([easy, hard]), part)
    asked = np.concatenate([easy, hard])
    together, _ = lists.fewest(asked, right)
    probes, recall = lists.fewest(asked, right, [380, 20])
    only, least = lists.fewest(hard, parts.Nearest(right.ids[380:], right.scores[380:]))
    assert (probes, recall) == (only, least) and recall >= TARGET
    assert together < probes
