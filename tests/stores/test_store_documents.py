"""Documents and their passages: replaced, renamed, refreshed, listed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.opened import all_stamps, verify
from helpers.reading import rows
from helpers.stores import entry, made

from semsearch.errors import NotFound, UsageError


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


def test_heads_of_many_documents_at_once(folder: Path) -> None:
    store, space = made(folder)
    uris = [f"d{n}\0odd" for n in range(1300)]
    store.replace([entry(uri, "x") for uri in uris], space.id)
    assert sorted(rows(store.reader, [*uris, "missing"])) == sorted(uris)
    assert len(all_stamps(store)) == 1300
    assert rows(store.reader, []) == {}
