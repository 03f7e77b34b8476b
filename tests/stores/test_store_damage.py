"""Damaged files: a right answer or an error, never a wrong answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.opened import verify
from helpers.reading import full_document
from helpers.stores import contents, made

from semsearch.errors import Corrupt, SemsearchError
from semsearch.stores.local import open_reader


def test_a_damaged_text_or_vector_is_never_returned(folder: Path) -> None:
    store, space = made(folder, 3)
    store.connection.raw.execute("UPDATE passages SET text = 'Another text' WHERE id = 3")
    store.connection.raw.execute("UPDATE vectors SET vector = zeroblob(32) WHERE passage = 4")
    store.connection.raw.execute("UPDATE documents SET body = x'00' WHERE uri = 'd2'")
    with pytest.raises(Corrupt, match="passage 3"):
        store.reader.passages([1, 3])
    with pytest.raises(Corrupt, match="passage 4"):
        list(store.reader.vectors(space.id))
    with pytest.raises(Corrupt, match="d2"):
        full_document(store.reader, "d2")
    assert len(store.reader.passages([1, 2])) == 2


def test_vectors_that_changed_places_are_noticed(folder: Path) -> None:
    store, space = made(folder, 1)
    (one, two) = store.connection.raw.execute("SELECT crc, vector FROM vectors ORDER BY passage").fetchall()
    for passage, (crc, vector) in ((1, two), (2, one)):
        store.connection.raw.execute("UPDATE vectors SET crc = ?, vector = ? WHERE passage = ?", (crc, vector, passage))
    with pytest.raises(Corrupt):
        list(store.reader.vectors(space.id))


# SQLite cannot hand damaged text to a function of ours: Python reports that beside the error that is raised
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_flipped_bytes_give_the_right_answer_or_an_error_of_ours(folder: Path, tmp_path: Path) -> None:
    store, space = made(folder, 60)
    store.compact()
    right = contents(store)
    documents = {uri: full_document(store.reader, uri) for uri in right}
    rows = np.concatenate([rows for _, rows in store.reader.vectors(space.id)])
    store.close()
    good = (folder / "store.db").read_bytes()
    rng = np.random.default_rng(5)
    used = np.flatnonzero(np.frombuffer(good, np.uint8))
    noticed = 0
    for number in range(60):
        bad = bytearray(good)
        at = int(rng.choice(used))
        bad[at : at + 8] = rng.bytes(8)[: len(bad) - at]
        damaged = tmp_path / f"n{number}"
        damaged.mkdir()
        (damaged / "store.db").write_bytes(bad)
        try:
            with open_reader(damaged) as reader:
                noticed += bool(verify(reader))
                found = {uri: [p.text for p in reader.passages(reader.passage_ids([uri]))] for uri in right}
                for uri in right:  # where an index was hit, something may be missing; nothing may be wrong
                    assert set(found[uri]) <= set(right[uri]), (at, uri, found[uri], right[uri])
                assert all(full_document(reader, uri) in (None, documents[uri]) for uri in right)
                for ids, part in reader.vectors(space.id):
                    assert np.array_equal(part, rows[ids - 1])
        except SemsearchError:
            noticed += 1
    assert noticed > 45  # the rest fell on what was deleted, or on full text that the reader's sample does not see
