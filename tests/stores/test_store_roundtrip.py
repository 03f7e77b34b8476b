"""What goes into a store comes out unchanged, or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.opened import all_stamps, verify
from helpers.reading import full_document, rows
from helpers.stores import DIM, entry, made, source, vectors_of
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import SemsearchError, Unreadable
from semsearch.stores.local import LocalWriter
from semsearch.stores.records import Entry, meta_hash
from semsearch.types import Document, Mark, Passage

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
marks = st.lists(st.builds(Mark, st.integers(0, 99), st.none() | st.integers(1, 9), st.none() | texts), max_size=3).map(
    lambda found: tuple(sorted(found, key=lambda mark: mark.start))
)
documents = st.builds(
    Document,
    id=texts.filter(bool),
    text=texts,
    metadata=st.dictionaries(texts, json_values, max_size=3),
    title=st.none() | texts,
    marks=marks,
    lines=st.booleans(),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWriter]:
    store, _ = made(tmp_path_factory.mktemp("shared") / "notes")
    yield store
    assert verify(store) == []


@given(document=documents, page=st.none() | st.integers(1, 9), heading=st.none() | texts)
def test_a_document_comes_back_exactly(
    shared: LocalWriter, document: Document, page: int | None, heading: str | None
) -> None:
    middle = len(document.text) // 2
    cut = [Passage(0, middle, document.text[:middle], page, 1, heading)] if middle else []
    cut.append(Passage(middle, len(document.text), document.text[middle:], page, None, heading))
    shared.replace([Entry(document, None, cut, vectors_of([p.text for p in cut]))], 1)
    assert full_document(shared.reader, document.id) == document
    stored = shared.reader.passages(shared.reader.passage_ids([document.id]))
    assert [(p.start, p.end, p.text, p.page, p.line, p.heading) for p in stored] == [
        (p.start, p.end, p.text, p.page, p.line, p.heading) for p in cut
    ]
    assert {(p.document, p.title, str(p.metadata)) for p in stored} == {
        (document.id, document.title, str(document.metadata))
    }
    assert verify(shared) == []


def test_nul_and_what_follows_it_are_found_by_word(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry("nul", "before\0after diesel"), entry("cjk", "前\0日本語の文章")], space.id)
    find = "SELECT p.text FROM passages p JOIN passages_fts f ON f.rowid = p.id WHERE passages_fts MATCH ?"
    assert store.connection.raw.execute(find, ("diesel",)).fetchall() == [("before\0after diesel",)]
    store.delete(["nul", "cjk"])
    assert verify(store) == []


def test_metadata_whose_keys_are_numbers_come_back_as_json_has_them(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry("a", "x", metadata={10: "b", 2: "a", "1": {3: None}})], space.id)
    stored = full_document(store.reader, "a")
    assert stored and stored.metadata == {"10": "b", "2": "a", "1": {"3": None}}
    assert all_stamps(store)["a"].meta_sha256 == meta_hash(None, {10: "b", 2: "a", "1": {3: None}})
    assert verify(store) == []


HALF = "half \ud800 pair"


@pytest.mark.parametrize(
    "document",
    [
        Document("a", HALF),
        Document(HALF, "text"),
        Document("a", "text", title=HALF),
        Document("a", "text", {"key": [HALF]}),
        Document("a", "text", {HALF: 1}),
        Document("a", "text", marks=(Mark(0, heading=HALF),)),
        Document("a", "text", {"when": float("nan")}),
        Document("a", "text", {"when": object()}),
        Document("", "text"),
    ],
)
def test_a_document_that_cannot_be_kept_exactly_is_refused_with_its_batch(folder: Path, document: Document) -> None:
    store, space = made(folder, 1)
    bad = Entry(document, None, [], vectors_of([]))
    with pytest.raises(Unreadable):
        store.replace([entry("good", "text"), bad], space.id)
    assert set(all_stamps(store)) == {"d0"}
    assert verify(store) == []


def test_names_that_are_not_unicode_are_unknown_and_cannot_be_written(folder: Path) -> None:
    store, _ = made(folder)
    assert (rows(store.reader, [HALF]), store.reader.full_documents([HALF])) == ({}, [])
    for call in (
        lambda: store.put_sources([source(HALF)])[0],
        lambda: store.revise("d0", metadata={}, title=HALF),
    ):
        with pytest.raises(Unreadable):
            call()


@pytest.mark.parametrize(
    ("passages", "vectors"),
    [
        ([Passage(0, 4, "text")], vectors_of([])),
        ([Passage(0, 4, "text")], vectors_of(["text"], DIM + 1)),
        ([Passage(0, 4, "text")], np.full((1, DIM), np.nan, np.float32)),
        ([Passage(0, 4, "txet")], vectors_of(["text"])),
        ([Passage(-4, 4, "text")], vectors_of(["text"])),
        ([Passage(0, 9, "text")], vectors_of(["text"])),
    ],
)
def test_passages_and_vectors_that_do_not_fit_are_refused(folder: Path, passages: Any, vectors: Any) -> None:
    store, space = made(folder)
    with pytest.raises(SemsearchError):
        store.replace([Entry(Document("a", "text"), None, passages, vectors)], space.id)
    assert store.reader.state().documents == 0
