"""Documents and their passages: replaced, renamed, refreshed, listed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.opened import all_stamps, space_vectors, verify
from helpers.reading import counts, rows
from helpers.stores import contents, entry, made, source

from semsearch.errors import NotFound, UsageError
from semsearch.stores.filters import PathGlob


def test_replacing_is_idempotent_and_never_uses_an_id_again(folder: Path) -> None:
    store, space = made(folder, 3)
    before = contents(store)
    first = store.reader.passage_ids(["d1"])
    for _ in range(3):
        store.replace([entry("d1", "Engine number 1 runs. 日本語の文章 1")], space.id)
    assert contents(store) == before
    assert not set(first) & set(store.reader.passage_ids(["d1"]))
    store.delete(before)
    assert counts(store.reader) == {"documents": 0, "passages": 0, "vectors": {space.id: 0}}
    store.replace([entry("e", "New")], space.id)
    assert store.reader.passage_ids(["e"]).min() > 12
    assert verify(store) == []


def test_of_two_entries_with_one_id_the_last_counts(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry("a", "First"), entry("b", "Other"), entry("a", "Last")], space.id)
    assert contents(store) == {"a": ["Last"], "b": ["Other"]}
    assert verify(store) == []


def test_passages_come_in_the_order_asked_for_without_those_that_are_gone(folder: Path) -> None:
    store, _ = made(folder, 3)
    store.delete(["d1"])
    assert [p.id for p in store.reader.passages(np.array([6, 3, 1, 999, 1]))] == [6, 1, 1]
    assert space_vectors(store, 1).existing(np.array([6, 3, 1, 999, 1])).tolist() == [True, False, True, False, True]
    assert store.reader.passages([]) == []
    assert space_vectors(store, 1).existing([]).tolist() == []
    assert store.reader.passage_ids(["nothing"]).tolist() == []


def test_renaming_keeps_passages_and_vectors_and_drops_an_identity_with_the_old_name(folder: Path) -> None:
    store, space = made(folder, 2)
    ids = store.reader.passage_ids(["d0"])
    vectors = next(store.reader.vectors(space.id))[1]
    store.connection.raw.execute("UPDATE passages SET identity = 'as before schema 5' WHERE document = 1")
    store.revise("d0", new_uri="moved/d0")
    assert store.reader.passage_ids(["moved/d0"]).tolist() == ids.tolist()
    assert np.array_equal(next(store.reader.vectors(space.id))[1], vectors)
    found = store.connection.raw.execute("SELECT identity FROM passages WHERE document = 1").fetchall()
    assert set(found) == {("",)}
    assert verify(store) == []
    with pytest.raises(NotFound):
        store.revise("d0", new_uri="x")
    with pytest.raises(UsageError):
        store.revise("d1", new_uri="moved/d0")


def test_refreshing_changes_what_is_said_about_a_text_and_keeps_its_passages(folder: Path) -> None:
    store, _ = made(folder, 1)
    ids = store.reader.passage_ids(["d0"])
    before = all_stamps(store)["d0"]
    store.revise("d0", metadata={"year": 2024}, title="Engines")
    after = all_stamps(store)["d0"]
    assert after.sha256 == before.sha256
    assert after.meta_sha256 != before.meta_sha256
    passage = store.reader.passages(ids)[0]
    assert (passage.metadata, passage.title) == ({"year": 2024}, "Engines")
    assert verify(store) == []
    with pytest.raises(NotFound):
        store.revise("nothing", metadata={}, title=None)


def test_heads_of_many_documents_at_once(folder: Path) -> None:
    store, space = made(folder)
    uris = [f"d{n}\0odd" for n in range(1300)]
    store.replace([entry(uri, "x") for uri in uris], space.id)
    assert sorted(rows(store.reader, [*uris, "missing"])) == sorted(uris)
    assert len(all_stamps(store)) == 1300
    assert rows(store.reader, []) == {}


def test_documents_are_listed_by_id_a_page_at_a_time_and_by_path(folder: Path) -> None:
    store, space = made(folder)
    known = store.put_sources([source("notes/deep/a.md", mtime_ns=7)])[0]
    store.replace(
        [
            entry("notes/deep/a.md#1", "One. Two", source=known, metadata={"year": 3}, title="A"),
            entry("notes/b.md", "x"),
            entry("other/c.md", "x"),
        ],
        space.id,
    )
    assert store.reader.document_ids(None, limit=1) == ["notes/b.md"]
    (row,) = store.reader.document_rows(store.reader.document_ids(PathGlob("notes/**"))[1:])
    assert row.listed() == {
        "id": "notes/deep/a.md#1", "title": "A", "size": 8, "mtime": 7, "loader": "text", "metadata": {"year": 3},
        "root": "/notes", "path": "notes/deep/a.md", "passages": 2,
    }  # fmt: skip
    by_glob = {
        "notes": ["notes/b.md", "notes/deep/a.md#1"],
        "notes/": ["notes/b.md", "notes/deep/a.md#1"],
        "notes/*.md": ["notes/b.md"],
        "**/*.md": ["notes/b.md", "notes/deep/a.md#1", "other/c.md"],
        "nothing": [],
    }
    assert {glob: store.reader.document_ids(PathGlob(glob)) for glob in by_glob} == by_glob
