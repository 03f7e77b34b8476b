"""Transactions: all of a change or none of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.opened import all_stamps, verify
from helpers.stores import contents, entry, made

from semsearch.errors import SemsearchError
from semsearch.stores.local import open_reader


def test_a_write_inside_a_snapshot_is_refused(folder: Path) -> None:
    store, space = made(folder)
    with store.reader.snapshot(), pytest.raises(SemsearchError, match="snapshot"):
        store.replace([entry("a", "x")], space.id)
    store.replace([entry("a", "x")], space.id)


def test_a_reader_refuses_to_write(folder: Path) -> None:
    made(folder)[0].close()
    refused = pytest.raises(SemsearchError, match="reading only")
    with open_reader(folder) as reader, refused, reader.connection.transaction():
        pytest.fail("a reader may not write")


@pytest.mark.parametrize("nested", [False, True])
def test_a_full_disk_loses_nothing_and_is_an_error_of_ours(folder: Path, nested: bool) -> None:
    store, space = made(folder, 20)
    before = contents(store)
    pages = store.connection.raw.execute("PRAGMA page_count").fetchone()[0]
    store.connection.raw.execute(f"PRAGMA max_page_count={pages + 2}")
    many = [entry(f"big{n}", f"{n} " + "word " * 200) for n in range(200)]
    with pytest.raises(SemsearchError, match="disk is full"):
        if nested:
            with store.transaction():
                store.delete(["d0"])
                store.replace(many, space.id)
        else:
            store.replace(many, space.id)
    assert contents(store) == before
    store.connection.raw.execute("PRAGMA max_page_count=1000000")
    store.replace(many, space.id)
    assert verify(store) == []


def test_a_transaction_that_a_full_disk_ended_cannot_go_on(folder: Path) -> None:
    store, space = made(folder, 1)
    with pytest.raises(SemsearchError), store.transaction():
        store.delete(["d0"])
        store.connection.raw.execute("ROLLBACK")  # as SQLite does by itself
        store.replace([entry("a", "x")], space.id)
    assert set(all_stamps(store)) == {"d0"}
