"""Documents over HTTP: what was acknowledged is there, and what was refused changed nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.serving import Serving

from semsearch import Index, admin


@pytest.fixture
def place(home: Path) -> Iterator[str]:
    Index.create("written", encoder="hashing", home=home).close()
    yield "/indexes/written/documents"
    admin.remove("written", home)


def test_a_document_is_added_changed_read_listed_and_deleted(server: Serving, place: str) -> None:
    added = server.ok("POST", place, {"documents": [{"id": "a/ä b", "text": "Soup.", "metadata": {"n": 1}}]})
    assert (added["documents"]["added"], added["passages"]) == (1, 1)
    changed = server.ok("PATCH", f"{place}/a/%C3%A4%20b", {"metadata": {"n": 2}, "text": "Bread."})
    assert changed["documents"]["changed"] == 1
    assert server.ok("GET", f"{place}/a/%C3%A4%20b") == {
        "schema": 1,
        "document": "a/ä b",
        "title": None,
        "text": "Bread.",
        "metadata": {"n": 2},
    }
    assert [one["id"] for one in server.ok("GET", place)["documents"]] == ["a/ä b"]
    assert server.ok("DELETE", f"{place}/a/%C3%A4%20b")["deleted"] == 1
    for method in ("GET", "DELETE"):
        assert server.ask(method, f"{place}/a/%C3%A4%20b").status == 404


def test_documents_are_deleted_by_ids_and_by_a_filter(server: Serving, place: str) -> None:
    server.ok("POST", place, {"documents": [{"id": f"{n}", "text": "x", "metadata": {"n": n}} for n in range(5)]})
    assert server.ok("POST", f"{place}/delete", {"ids": ["0", "none"]})["deleted"] == 1
    assert server.ok("POST", f"{place}/delete", {"where": "n >= :n", "values": {"n": 3}})["deleted"] == 2
    assert [one["id"] for one in server.ok("GET", f"{place}?limit=1&offset=1")["documents"]] == ["2"]
    assert server.ask("POST", f"{place}/delete", {}).status == 400


def lines(count: int) -> bytes:
    filling = {"filling": "x" * 2000}
    documents = [{"id": f"{n:04}", "text": f"Number {n}.", "metadata": filling} for n in range(count)]
    return b"\n".join(json.dumps(document).encode() for document in documents)


def test_an_upload_larger_than_a_body_may_be_is_stored_whole(server: Serving, place: str) -> None:
    sent = lines(600)
    assert len(sent) > 2**20
    report = server.ok("POST", f"{place}/upload", sent)
    assert report["documents"]["added"] == 600
    assert server.ok("GET", f"{place}/0599")["text"] == "Number 599."


def test_a_bad_line_of_an_upload_is_named_with_what_is_stored(server: Serving, place: str) -> None:
    answer = server.ask("POST", f"{place}/upload", lines(3) + b'\n{"id": 4}\n' + lines(5))
    assert (answer.status, answer.body["code"]) == (400, 2)
    assert "line 4" in answer.body["detail"]
    assert "3 documents before it are stored" in answer.body["fix"]
    assert [one["id"] for one in server.ok("GET", place)["documents"]] == ["0000", "0001", "0002"]


def test_another_writer_is_told_to_come_again_and_searches_go_on(server: Serving, place: str, home: Path) -> None:
    with Index.open("written", home=home) as other:
        other.add([])  # from now on it has the lock
        answer = server.ask("POST", place, {"documents": [{"id": "a", "text": "b"}]})
        assert (answer.status, answer.body["code"], answer.headers["retry-after"]) == (423, 7, "1")
        assert server.ok("POST", "/indexes/written/search", {"text": "b"})["hits"] == []
    assert server.ok("POST", place, {"documents": [{"id": "a", "text": "b"}]})["documents"]["added"] == 1


def test_the_server_leaves_the_lock_to_others_between_its_writes(server: Serving, place: str, home: Path) -> None:
    server.ok("POST", place, {"documents": [{"id": "a", "text": "b"}]})
    with Index.open("written", home=home) as other:
        assert other.delete(["a"]) == 1
