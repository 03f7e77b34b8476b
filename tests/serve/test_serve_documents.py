"""Documents over HTTP: what was acknowledged is there, and what was refused changed nothing."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock
from urllib.parse import quote

import pytest
from helpers.commandline import CommandLine
from helpers.serving import Serving, serving

from semsearch import Document, Index, admin
from semsearch.serve.problems import Refused
from semsearch.serve.routes.json_bodies import json_response
from semsearch.stores import entry_checks


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


@pytest.mark.parametrize("between", [0, 1200])
@pytest.mark.parametrize("address", ["", "/upload"])
def test_of_several_documents_with_an_id_the_last_one_stays_and_the_others_are_counted(
    server: Serving, place: str, address: str, between: int
) -> None:
    same = [{"id": "same", "text": text} for text in ("first", "second", "third", "third")]
    others = [{"id": f"{n}", "text": f"Number {n}."} for n in range(between if address else 3)]
    listed = [same[0], *others, *same[1:]]
    body = b"\n".join(json.dumps(one).encode() for one in listed) if address else {"documents": listed}
    report = server.ok("POST", place + address, body)
    counts = {kind: number for kind, number in report["documents"].items() if number}
    assert counts == {"added": len(others) + 1, "changed": 2, "unchanged": 1}
    assert server.ok("GET", f"{place}/same")["text"] == "third"
    assert report["took_s"] > 0


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
    for first, number, end in ((0, 100, 100), (50, 250, 300), (450, 1000, 600), (600, 100, 600)):
        listed = server.ok("GET", f"{place}?limit={number}&offset={first}")["documents"]
        assert [one["id"] for one in listed] == [f"{n:04}" for n in range(first, end)]
    for page, first in (("limit=1000", 0), ("limit=250&offset=250", 250), ("limit=1000&after=0120&offset=9", 130)):
        listed = server.ok("GET", f"{place}?path=0[0-4]*&{page}")["documents"]
        assert [one["id"] for one in listed] == [f"{n:04}" for n in range(first, 500)]


def test_no_more_of_an_answer_is_read_than_it_may_be_long() -> None:
    """Documents with metadata of 1 MB."""
    read = itertools.count()
    documents = ({"id": str(next(read)), "metadata": {"log": "x" * 2**20}} for _ in range(1000))
    with pytest.raises(Refused, match="longer than 64 MB"):
        json_response({"documents": documents})
    assert next(read) < 70
    assert json_response({"documents": iter(())}).body == b'{"documents":[]}'


NOT_DOCUMENTS = {
    "no text": (b'{"id": "4"}', "text"),
    "no JSON": (b'{"id": "4", "text": ', "not JSON"),
    "no object": (b"[]", "valid object"),
    "an unknown field": (b'{"id": "4", "text": "a", "colour": 1}', "colour"),
    "no UTF-8": (b'{"id": "4", "text": "\xff"}', "UTF-8"),
    "half a character": (b'{"id": "4", "text": "\\ud800"}', "surrogate"),
    "no number": (b'{"id": "4", "text": "a", "metadata": {"n": NaN}}', "NaN"),
    "a control character": (b'{"id": "4\\n", "text": "a"}', r"U\+000A"),
    "too deep": (b'{"id": "4", "text": "a", "metadata": ' + b'{"a":' * 101 + b"1" + b"}" * 102, "100 deep"),
    "far too deep": (b'{"id": "4", "text": "a", "metadata": ' + b"[" * 100_000, "values|deep"),
    "too many values": (b'{"id": "4", "text": "a", "metadata": {"a": [' + b"1," * 200_000 + b"1]}}", "values"),
    "too long": (b'{"id": "4", "text": "' + b"a" * 2**20 + b'"}', "longer than 1 MB"),
    "a number of 5,000 digits": (b'{"id": "4", "text": "a", "metadata": {"n": ' + b"9" * 5000 + b"}}", "digits"),
}


@pytest.mark.parametrize("kind", NOT_DOCUMENTS)
def test_a_bad_line_of_an_upload_costs_itself_and_is_named(server: Serving, place: str, kind: str) -> None:
    line, reason = NOT_DOCUMENTS[kind]
    good = lines(5).split(b"\n")
    answer = server.ask("POST", f"{place}/upload", b"\n".join([*good[:3], line, *good[3:]]))
    assert (answer.status, answer.body["documents"]["skipped"]) == (207, 1)
    (skipped,) = answer.body["skipped"]
    assert skipped["line"] == 4 and re.search(reason, skipped["reason"]), skipped
    assert [one["id"] for one in server.ok("GET", place)["documents"]] == [f"{n:04}" for n in range(5)]


def test_an_upload_of_which_nothing_can_be_stored_is_refused_with_each_line(server: Serving, place: str) -> None:
    wrong = [line.replace(b'"4', b'"%d' % at, 1) for at, (line, _) in enumerate(NOT_DOCUMENTS.values())]
    answer = server.ask("POST", f"{place}/upload", b"\n".join(wrong))
    assert (answer.status, answer.body["code"]) == (422, 2)
    assert [one["line"] for one in answer.body["skipped"]] == list(range(1, len(NOT_DOCUMENTS) + 1))
    assert server.ok("GET", place)["documents"] == []


def test_a_document_that_cannot_be_stored_costs_itself_and_is_named(server: Serving, place: str) -> None:
    deep: object = 1
    for _ in range(101):
        deep = {"a": deep}
    bad = (
        {"metadata": {"n": float("nan")}},
        {"text": "\ud800"},
        {"metadata": deep},
        {"id": "b\r\n"},
        {"title": "\ud800"},
    )
    for wrong in bad:
        documents = [{"id": "a", "text": "One."}, {"id": "b", "text": "Two.", **wrong}, {"id": "c", "text": "Three."}]
        answer = server.ask("POST", place, {"documents": documents})
        assert answer.status == 207 and len(answer.body["skipped"]) == 1, answer
        assert [one["id"] for one in server.ok("GET", place)["documents"]] == ["a", "c"]
        alone = server.ask("POST", place, {"documents": documents[1:2]})
        assert (alone.status, alone.body["errors"][0]["field"]) == (422, documents[1]["id"])


def test_a_document_has_an_address_whatever_its_id(server: Serving, place: str, home: Path) -> None:
    """From files, and from before ids with control characters were refused."""
    ids = ["a\r\nb", "\n", "tab\t", "a//b", "/", "a/../b", "%0A", "?#", "é💡", "documents", "upload"]
    with Index.open("written", home=home) as index, mock.patch.object(entry_checks, "_control_character", lambda _: ""):
        index.add([Document(each, f"The text of {each!a}.") for each in ids])
    for each in ids:
        address = f"{place}/{quote(each, safe='')}"
        assert server.ok("GET", address)["text"] == f"The text of {each!a}."
        assert server.ok("PATCH", address, {"metadata": {"read": True}})["documents"]["changed"] == 1
        assert server.ok("DELETE", address)["deleted"] == 1
    assert server.ok("GET", place)["documents"] == []


def test_a_document_that_an_older_version_stored_is_answered_without_what_cannot_be_written(
    server: Serving, place: str, home: Path, cli: CommandLine
) -> None:
    deep: dict[str, object] = {}
    for _ in range(600):
        deep = {"a": deep}
    with Index.open("written", home=home) as index:
        index.add([Document("sound", "The kettle is copper.", {"year": 2020})])
        with mock.patch.object(entry_checks, "unanswerable", lambda *_, **__: ""):
            index.add([Document("old", "The kettle boils.", deep)])
    for hit in server.ok("POST", place.replace("documents", "search"), {"text": "kettle"})["hits"]:
        left_out = ["a"] if hit["document"] == "old" else None
        assert hit.get("metadata_left_out") == left_out and bool(hit["metadata"]) == (left_out is None)
    listed = {one["id"]: one for one in server.ok("GET", place)["documents"]}
    assert listed["old"]["metadata_left_out"] == ["a"] and listed["sound"]["metadata"] == {"year": 2020}
    assert server.ok("GET", f"{place}/old")["text"] == "The kettle boils."
    verified = cli("--home", home, "verify", "written")
    assert "'old' was stored by an older version" in verified.out + verified.err and "'sound'" not in verified.out
    assert server.ok("DELETE", f"{place}/old")["deleted"] == 1
    assert cli("--home", home, "verify", "written").code == 0


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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits another process")
def test_a_full_disk_is_told_without_a_path_and_what_was_stored_stays(tmp_path: Path) -> None:
    import resource

    Index.create("notes", encoder="hashing", home=tmp_path).close()
    address = "/indexes/notes/documents"
    with serving(tmp_path, "-m", "hashing") as server:
        number = next(line["pid"] for line in server.logged() if "pid" in line)
        server.ok("POST", address, {"documents": [{"id": "first", "text": "The boiler."}]})
        most = resource.prlimit(number, resource.RLIMIT_FSIZE, ((tmp_path / "notes" / "store.db").stat().st_size, -1))
        large = {"id": "large", "text": "The boiler.", "metadata": {"n": "x" * 1_000_000}}
        for path, body in ((address, {"documents": [large]}), (f"{address}/upload", json.dumps(large).encode())):
            answer = server.ask("POST", path, body)
            assert answer.status == 500 and "notes" in answer.body["detail"], answer
            assert str(tmp_path) not in json.dumps(answer.body)
        assert "0 documents before it are stored" in answer.body["fix"]
        resource.prlimit(number, resource.RLIMIT_FSIZE, most)
        assert [one["id"] for one in server.ok("GET", address)["documents"]] == ["first"]
        assert server.ok("POST", address, {"documents": [large]})["documents"]["added"] == 1


def test_a_long_text_is_answered_as_it_is() -> None:
    text = 'A "pump", é\n\u2028😀\0' * 200_000
    document = {"document": "long", "text": text, "metadata": {"pages": [[1, 2], [3]]}}
    assert json.loads(json_response(document).body) == document
