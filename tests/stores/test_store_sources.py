"""The files that documents come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.opened import sources_by_key, verify
from helpers.stores import entry, made, source

from semsearch.errors import NotFound, UsageError


def test_a_source_keeps_its_id_and_its_documents_follow_it(folder: Path) -> None:
    store, space = made(folder)
    known = store.put_sources([source("a.md", mtime_ns=1)])[0]
    store.replace([entry("a.md#1", "x", source=known), entry("a.md#2", "y", source=known)], space.id)
    assert store.put_sources([source("a.md", mtime_ns=2)])[0] == known
    assert sources_by_key(store)["/notes", "a.md"].mtime_ns == 2
    assert [stamp.uri for stamp in store.reader.document_rows(source=known)] == ["a.md#1", "a.md#2"]
    assert [one.documents for one in store.reader.sources(ids=[known, 99])] == [2]
    assert {row.mtime for row in store.reader.document_rows()} == {2}
    store.put_sources([replace(source("b.md", mtime_ns=3), id=known)])
    passage = store.reader.passages(store.reader.passage_ids(["a.md#1"]))[0]
    assert (passage.root, passage.path) == ("/notes", "b.md")
    other = store.put_sources([source("c.md")])[0]
    with pytest.raises(UsageError):
        store.put_sources([replace(source("b.md"), id=other)])
    with pytest.raises(NotFound):
        store.put_sources([replace(source("z.md"), id=999)])
    assert store.delete(sources=[known, other]) == 2
    assert sources_by_key(store) == {}
    assert store.reader.state().passages == 0
    assert verify(store) == []


def test_a_document_of_an_unknown_source_is_refused(folder: Path) -> None:
    store, space = made(folder)
    with pytest.raises(NotFound):
        store.replace([entry("a", "x", source=9)], space.id)


def test_a_new_state_of_a_file_touches_its_documents_only_if_their_columns_change(folder: Path) -> None:
    store, space = made(folder)
    begun = replace(source("a.jsonl", mtime_ns=1), size=-1)
    known = store.put_sources([begun])[0]
    store.replace([entry(f"a.jsonl#{n}", "x", source=known) for n in range(50)], space.id)
    before = store.connection.raw.total_changes
    store.put_sources([begun])[0]
    store.put_sources([replace(begun, size=100)])[0]
    assert store.connection.raw.total_changes - before == 6  # each the source, its checksum and the version
    assert sources_by_key(store)["/notes", "a.jsonl"].size == 100
    store.put_sources([replace(begun, mtime_ns=2)])[0]
    assert {row.mtime for row in store.reader.document_rows([f"a.jsonl#{n}" for n in range(50)])} == {2}
