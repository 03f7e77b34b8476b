"""The memory of an upload does not grow with it: it is that of its longest document, and a fixed part.

That of a document is a multiple of its text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from helpers.serving import Serving, serving

from semsearch import Index

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of a process from /proc")
BESIDES = 64.0  # MB
TIMES = 40  # of the bytes of a text; without spaces it has the most passages, each with a vector
UNBROKEN = 2 << 20  # bytes of a text
LONG = 2  # MB of a line
LINES = 24
FEW = 10  # lines, after which a server has what it needs for any number of them


def highest(server: Serving) -> float:
    """MB of memory that the server has had at most."""
    number = next(line["pid"] for line in server.logged() if "pid" in line)
    (line,) = [line for line in Path("/proc", str(number), "status").read_text().splitlines() if "VmHWM" in line]
    return int(line.split()[1]) / 1024


def lines(first: int, number: int, size: int) -> bytes:
    """Mostly blanks, as to split and encode words would take minutes."""
    documents = ({"id": str(at), "text": f"Harbour {at}.{' ' * size}"} for at in range(first, first + number))
    return b"\n".join(json.dumps(document).encode() for document in documents)


def test_long_metadata_costs_no_more_memory_than_that_of_a_few_documents(tmp_path: Path) -> None:
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    with serving(tmp_path, "-m", "hashing", "--timeout", "600") as server:
        place = "/indexes/notes/documents/upload"
        log = {"log": "x" * 900_000}
        long = [{"id": str(at), "text": f"Harbour {at}.", "metadata": log} for at in range(FEW + 100)]
        server.ok("POST", place, b"\n".join(json.dumps(each).encode() for each in long[:FEW]))
        few = highest(server)
        server.ok("POST", place, b"\n".join(json.dumps(each).encode() for each in long[FEW:]))
        assert highest(server) - few <= BESIDES, (few, highest(server))


def test_the_memory_of_an_upload_is_that_of_its_longest_document_and_a_fixed_part(tmp_path: Path) -> None:
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    with serving(tmp_path, "-m", "hashing", "--timeout", "600") as server:
        place = "/indexes/notes/documents/upload"
        server.ok("POST", place, lines(0, 1, LONG << 20))
        one = highest(server)
        assert server.ok("POST", place, lines(1, LINES, LONG << 20))["documents"]["added"] == LINES
        many = highest(server)
        assert server.ok("POST", place, lines(100, 1000, 10_000))["documents"]["added"] == 1000
        assert many - one <= BESIDES and highest(server) - one <= BESIDES, (one, many, highest(server))


@pytest.mark.parametrize("piece", ["x", "京", "a. "])
def test_the_memory_of_a_document_is_a_multiple_of_its_text_whatever_that_is(tmp_path: Path, piece: str) -> None:
    text = piece * (UNBROKEN // len(piece.encode()))
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    with serving(tmp_path, "-m", "hashing", "--timeout", "600") as server:
        place = "/indexes/notes/documents"
        server.ok("POST", place, {"documents": [{"id": "short", "text": "Harbour."}]})
        before = highest(server)
        server.ok("POST", place, {"documents": [{"id": "long", "text": text}]})
        assert highest(server) - before <= BESIDES + TIMES * UNBROKEN / 2**20, (before, highest(server))
