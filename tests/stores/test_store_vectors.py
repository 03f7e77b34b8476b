"""The vectors of a store: unit rows by passage, for one encoder or several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.opened import space_vectors
from helpers.reading import counts
from helpers.stores import DIM, entry, made, vectors_of

from semsearch.errors import NotFound, SemsearchError
from semsearch.stores.records import Entry, Space
from semsearch.types import Document, Passage


def test_vectors_come_back_as_unit_rows_in_ascending_order_of_their_passages(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry(f"d{n}", ". ".join(f"text {n} {i}" for i in range(7))) for n in range(30)], space.id)
    pieces = list(store.reader.vectors(space.id, chunk=64))
    ids = np.concatenate([ids for ids, _ in pieces])
    rows = np.concatenate([rows for _, rows in pieces])
    assert [len(ids) for ids, _ in pieces] == [64, 64, 64, 18]
    assert ids.dtype == np.int64
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert (np.diff(ids) > 0).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    wanted = vectors_of([p.text for p in store.reader.passages(ids)])
    assert np.abs(rows - wanted).max() < 1e-3  # fp16


def test_vectors_can_be_asked_for_by_id_and_from_an_id_on(folder: Path) -> None:
    store, space = made(folder, 10)
    everything, rows = next(store.reader.vectors(space.id))
    ids, chosen = next(store.reader.vectors(space.id, ids=np.array([9, 4, 4, 999])))
    assert ids.tolist() == [4, 9]
    assert np.array_equal(chosen, rows[np.isin(everything, [4, 9])])
    assert [ids.tolist() for ids, _ in store.reader.vectors(space.id, after=17)] == [[18, 19, 20]]
    assert [ids.tolist() for ids, _ in store.reader.vectors(space.id, after=17, ids=np.array([3, 18]))] == [[18]]
    assert list(store.reader.vectors(space.id, ids=np.array([], dtype=np.int64))) == []
    assert list(store.reader.vectors(space.id, after=20)) == []
    assert (
        space_vectors(store, space).highest_id(),
        space_vectors(store, space).count_after(17),
        space_vectors(store, space).count_after(0),
    ) == (20, 3, 20)
    with pytest.raises(NotFound):
        next(store.reader.vectors(77))


@pytest.mark.parametrize("number", [0, np.nan, np.inf, 1e-7, 1e6])
def test_a_vector_that_half_precision_cannot_hold_is_refused(folder: Path, number: float) -> None:
    store, space = made(folder)
    entry = Entry(Document("a", "x"), None, [Passage(0, 1, "x")], np.full((1, DIM), number, np.float32))
    before = counts(store.reader)
    with pytest.raises(SemsearchError, match=r"^a: the vector (contains NaN or infinity|is zero|has a largest number)"):
        store.replace([entry], space.id)
    assert counts(store.reader) == before


def test_a_second_encoder_has_a_space_of_its_own(folder: Path) -> None:
    store, space = made(folder, 4)
    other = store.put_space(Space(0, "other", "wider", 8, {}))
    assert store.put_space(Space(0, "other", "wider", 8, {})) == other
    assert space_vectors(store, other).highest_id() == 0
    assert store.reader.state().vectors == {space.id: 8, other.id: 0}
