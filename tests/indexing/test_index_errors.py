"""Mistakes in calls of `Index`: each error says what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch import Document, Index, Splitter, admin
from semsearch.encoders.base import BaseEncoder
from semsearch.errors import NotFound, SemsearchError, Unreadable, UsageError


class Constant(BaseEncoder):
    """An encoder that no registry knows."""

    name, fingerprint, dim = "constant", "0123456789", 4

    def encode(self, texts: Any, /, *, role: str) -> np.ndarray:
        return np.tile(np.eye(1, 4, dtype=np.float32), (len(texts), 1))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["x"], "Document objects, not str"),
        (Document("a", "b"), "in a list"),
        ([Document(5, "w")], "id of a Document must be a str, not int: 5"),  # type: ignore[arg-type]
        ([Document("a", None)], "text of a Document must be a str, not NoneType"),  # type: ignore[arg-type]
        ([Document("a", "b", title=1)], "title of a Document must be a str, not int"),  # type: ignore[arg-type]
        ([Document("a", "b", 3)], "metadata of a Document must be a Mapping, not int"),  # type: ignore[arg-type]
    ],
)
def test_add_says_what_it_takes(tmp_path: Path, documents: Any, message: str) -> None:
    with Index.create(tmp_path / "one", encoder="hashing") as index:
        with pytest.raises(UsageError, match=message):
            index.add(documents)
        assert len(index) == 0


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": [10**400]}, "metadata 'a': a whole number of more than 400 digits"),
        ({"a": 10**5000}, "metadata 'a': .*a whole number of more than 400 digits"),
        ({1: 2, "1": 3}, "two keys of its metadata are the same as text"),
    ],
)
def test_metadata_that_would_not_come_back_are_refused(tmp_path: Path, metadata: Any, message: str) -> None:
    with Index.create(tmp_path / "one", encoder="hashing") as index:
        with pytest.raises(Unreadable, match=message):
            index.add([Document("a", "b", metadata)])
        assert len(index) == 0
        index.add([Document("a", "b", {"a": 10**399, "b": "9" * 500})])
        assert index.get("a")["metadata"] == {"a": 10**399, "b": "9" * 500}


def test_a_path_with_nul_is_refused(tmp_path: Path) -> None:
    for call in (Index.create, Index.open):
        with pytest.raises(UsageError, match="cannot be the place of an index"):
            call(f"{tmp_path}/a\0")


@pytest.mark.parametrize(
    ("options", "message"), [({"encoder": object()}, "not an encoder"), ({"splitter": 3}, r"Pass Splitter\(")]
)
def test_create_says_what_it_takes_and_makes_nothing(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Index.create(tmp_path / "one", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_home_may_be_a_text(tmp_path: Path) -> None:
    Index.create("one", encoder="hashing", home=str(tmp_path), splitter=Splitter(size=20)).close()  # type: ignore[arg-type]
    assert admin.names(tmp_path) == ["one"]


def test_an_index_of_a_custom_encoder_asks_for_it(tmp_path: Path) -> None:
    with Index.create(tmp_path / "one", encoder=Constant()) as index:
        index.add([Document("a", "b")])
    with Index.open(tmp_path / "one") as index, pytest.raises(NotFound, match=r"'constant'.*encoder=ENCODER"):
        index.search("b")
    with Index.open(tmp_path / "one", encoder=Constant()) as index:
        assert len(index.search("b")) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda index: index.search("b"),
        lambda index: index.info(),
        lambda index: len(index),
        lambda index: index.add([Document("c", "d")]),
        lambda index: index.delete(["a"]),
        lambda index: admin.compact(index),
        lambda index: index.sync(),
    ],
)
@pytest.mark.parametrize("written", [True, False])
def test_a_closed_index_says_that_it_is_closed(tmp_path: Path, call: Callable[[Index], object], written: bool) -> None:
    with Index.create(tmp_path / "one", encoder="hashing") as index:
        index.add([Document("a", "b")])
    if not written:
        index = Index.open(tmp_path / "one")
        index.close()
    with pytest.raises(SemsearchError, match=r"^index one is closed\. Open it again\.$"):
        call(index)
    admin.remove(tmp_path / "one")  # nobody has taken the lock


def test_documents_with_much_metadata_are_committed_before_they_fill_the_memory(tmp_path: Path) -> None:
    committed = []
    with Index.create(tmp_path / "one", encoder="hashing") as index:

        def documents() -> Iterator[Document]:
            for at in range(12):
                committed.append(len(index))
                yield Document(str(at), "text", {"long": "x" * 999_000})

        index.add(documents())
    assert committed == [0] * 10 + [9] * 2
