"""The files that documents come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from helpers.opened import sources_by_key
from helpers.stores import entry, made, source


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
