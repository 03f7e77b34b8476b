"""An audit measures what searches find, and finds what has gone stale or astray."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from semsearch import Document, Encoder, Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.vector_index.backends.compressed import Backend as Compressed
from semsearch.vector_index.planner import SMALL

COUNT, WIDTH = SMALL + 500, 16  # more than are searched without a cache


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of vectors of its own, searched through a compressed cache."""
    folder = tmp_path_factory.mktemp("many") / "many"
    rows = np.random.default_rng(0).normal(size=(COUNT, WIDTH)).astype(np.float32)
    with Index.create(folder, encoder=None, dimensions=WIDTH, backend="compressed") as index:
        index.add((Document(str(n), f"Passage {n}") for n in range(COUNT)), vectors=rows)
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.add([Document(f"d{n}", f"Engine {n} turns {n * n} times.", title=f"Engine {n}") for n in range(30)])
        yield index


def test_recall_is_that_of_searches_with_filters_and_without(many: Path) -> None:
    with Index.open(many) as index:
        found = index.analysis.audit(sample=40)
    assert not found["exact"] and found["plan"]["backend"].startswith("compressed")
    assert (found["queries"], found["k"]) == (40, 10)
    assert 0.95 <= found["recall_filtered"] <= 1 and 0.95 <= found["recall"] <= 1
    assert [(one["share"], one["exact"]) for one in found["filters"]] == [(0.5, False), (0.05, True), (0.001, True)]
    assert found["filters"][0]["recall"] == found["recall_filtered"]
    assert [one["recall"] for one in found["filters"][1:]] == [None, None]
    assert found["ms"] > 0 and found["ms_exact"] > 0


def test_a_vector_index_that_misses_neighbours_is_noticed(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Compressed.search
    monkeypatch.setattr(Compressed, "search", lambda self, queries, *rest: right(self, -queries, *rest))
    with Index.open(many) as index:
        found = index.analysis.audit(sample=20)
    assert found["recall"] < 0.5 and found["recall_filtered"] < 0.5


def test_exact_search_is_called_exact_instead_of_measured(notes: Index) -> None:
    found = notes.analysis.audit()
    assert found["exact"] and found["recall"] is None and found["recall_filtered"] is None
    assert found["queries"] == 30


def test_an_empty_index_is_no_error(tmp_path: Path) -> None:
    with Index.create(tmp_path / "empty", encoder="hashing") as index:
        found = index.analysis.audit()
    assert (found["queries"], found["recall"], found["files"]) == (0, None, {})
    assert found["drift"]["passages"] == found["duplicates"]["passages"] == 0


def test_repeated_passages_and_near_copies_are_counted(notes: Index) -> None:
    assert notes.analysis.audit()["duplicates"]["passages"] == 0
    notes.add([Document(f"copy{n}", "Engine 7 turns 49 times.", title="Engine 7") for n in range(10)])
    found = notes.analysis.audit()["duplicates"]
    assert found["passages"] == 10
    assert found["near"] >= 11 / 40


def test_vectors_that_the_encoder_would_not_give_any_more_are_drift(notes: Index) -> None:
    assert notes.analysis.audit()["drift"] == {"passages": 30, "changed": 0, "lowest_cosine": 1.0, "documents": []}

    class Changed(HashingEncoder):
        """Under the same fingerprint, another vector for one text."""

        def encode(self, texts: list[str], /, *, role: str) -> np.ndarray:  # type: ignore[override]
            return super().encode([text.replace("Engine 3 ", "A soup ") for text in texts], role=role)  # type: ignore[arg-type]

    with Index.open(notes.path, encoder=Encoder(Changed())) as index:
        found = index.analysis.audit()["drift"]
    assert found["changed"] == 1 and found["documents"] == ["d3"]
    assert found["lowest_cosine"] < 0.9


def test_orphans_are_counted(notes: Index) -> None:
    assert notes.analysis.audit()["orphans"] == {"vectors": 0, "passages": 0, "documents": 0}
    notes.close()
    with closing(sqlite3.connect(notes.path / "store.db")) as store, store:
        store.execute("DELETE FROM vectors WHERE passage = 4")
        store.execute("DELETE FROM passages WHERE id = 9")
        store.execute("UPDATE meta SET value = value - 1 WHERE key = 'passages'")
    with Index.open(notes.path) as index:
        assert index.analysis.audit()["orphans"] == {"vectors": 1, "passages": 1, "documents": 2}


def test_files_that_have_changed_are_counted(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"The {name} of it.", encoding="utf-8")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([tmp_path / f"{name}.txt" for name in ("a", "b", "c")])
        (tmp_path / "a.txt").write_text("Another text.", encoding="utf-8")
        (tmp_path / "b.txt").unlink()
        assert index.analysis.audit()["files"] == {"changed": 1, "gone": 1, "current": 1}
