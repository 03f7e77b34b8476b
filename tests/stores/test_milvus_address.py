"""The address of a Milvus server."""

from __future__ import annotations

import pytest

from semsearch.errors import UnknownName, UsageError
from semsearch.stores.milvus.server.address import Address, absolute, parse


def test_an_address_has_a_server_and_options() -> None:
    found = parse("http://host:19530/?index=ivf_sq8&consistency=session&database=team&patience=7")
    assert found == Address("http://host:19530", "IVF_SQ8", "Session", "team", 7.0)
    assert (parse("https://host").index, parse("https://host").consistency) == ("HNSW", "Strong")
    assert parse("notes.db").is_file and parse("notes.db").index == "FLAT"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", UsageError),
        ("host:19530", UsageError),
        ("ftp://host", UsageError),
        ("http://", UsageError),
        ("http://me:secret@host", UsageError),
        ("http://host?patience=long", UsageError),
        ("http://host?patience=0", UsageError),
        ("http://host?indx=HNSW", UnknownName),
        ("http://host?index=FAISS", UnknownName),
        ("http://host?consistency=weak", UnknownName),
    ],
)
def test_what_is_no_address_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert "secret" not in str(caught.value)


def test_the_path_of_a_file_is_made_absolute() -> None:
    assert absolute("x.db?index=FLAT").startswith("/") and absolute("x.db?index=FLAT").endswith("/x.db?index=FLAT")
    assert absolute("http://host?index=HNSW") == "http://host?index=HNSW"
