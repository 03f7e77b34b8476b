"""The vectors of a store: unit rows by passage, for one encoder or several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.reading import counts
from helpers.stores import DIM, made

from semsearch.errors import SemsearchError
from semsearch.stores.records import Entry
from semsearch.types import Document, Passage


@pytest.mark.parametrize("number", [0, np.nan, np.inf, 1e-7, 1e6])
def test_a_vector_that_half_precision_cannot_hold_is_refused(folder: Path, number: float) -> None:
    store, space = made(folder)
    entry = Entry(Document("a", "x"), None, [Passage(0, 1, "x")], np.full((1, DIM), number, np.float32))
    before = counts(store.reader)
    with pytest.raises(SemsearchError, match=r"^a: the vector (contains NaN or infinity|is zero|has a largest number)"):
        store.replace([entry], space.id)
    assert counts(store.reader) == before
