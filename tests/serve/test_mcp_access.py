"""`semsearch mcp`: who may do what, how it ends, and what its stdout carries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("mcp")
from helpers.assistants import answering, command, over_http, over_stdio
from helpers.commandline import CommandLine
from helpers.served import PATIENCE

from semsearch import Document, Index
from semsearch.serve.mcp.messages import NoMessage, message
from semsearch.serve.mcp.run import main
from semsearch.stores import entry_checks

READER, WRITER = "reader-0123456789", "writer-0123456789"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def line(method: str, number: int | None = None, **params: object) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    return json.dumps(message).encode() + b"\n"


def home_with(folder: Path, *names: str) -> Path:
    for name in names:
        with Index.create(name, encoder="hashing", home=folder) as index:
            index.add([Document("tea", f"Tea of {name}.")])
    return folder


def test_with_allow_write_documents_of_the_named_index_are_added_changed_and_deleted(tmp_path: Path) -> None:
    with over_stdio(home_with(tmp_path, "mail", "notes"), "--allow-write", "-n", "notes") as assistant:
        tools = assistant.tools()
        writing = [name for name, tool in tools.items() if not tool.annotations.read_only_hint]
        assert writing == ["add_documents", "update_document", "delete_documents"]
        assert [one["index"] for one in assistant.ask("list_indexes")["indexes"]] == ["notes"]
        for tool in ("search", "add_documents"):
            given = {"query": "tea"} if tool == "search" else {"documents": [{"id": "a", "text": "b"}]}
            problem = assistant.refused(tool, index="mail", **given)
            assert problem == "error: no index is called 'mail'. Choose from: notes."
        added = assistant.ask("add_documents", documents=[{"id": "owl", "text": "Owls hunt at night."}])
        assert added["documents"]["added"] == 1
        with Index.open("notes", home=tmp_path) as index:  # on disk, and the lock is free
            assert index.get("owl")["text"] == "Owls hunt at night."
        assistant.ask("update_document", id="owl", metadata={"kind": "bird"})
        hits = assistant.ask("search", query="night hunter", where="kind = bird")["hits"]
        assert [hit["document"] for hit in hits] == ["owl"]
        assert assistant.ask("delete_documents", ids=["owl", "nobody"])["deleted"] == 1
        assert "no document" in assistant.refused("update_document", id="owl", text="Again.")
        assert "documents: " in assistant.refused("add_documents", documents=[])
        assert "metadata" in assistant.refused("add_documents", documents=[{"id": "a", "text": "b", "metadata": [1]}])
        with Index.open("notes", home=tmp_path) as index:
            index.add([Document("lock", "This process writes.")])
            assert "written to" in assistant.refused("add_documents", documents=[{"id": "a", "text": "b"}])


def test_over_http_a_token_has_its_right_in_its_indexes_only(tmp_path: Path) -> None:
    home = home_with(tmp_path, "mail", "notes")
    flags = ["--allow-write", "--token-env", "R:read:notes", "--token-env", "W:write"]
    with answering(home, *flags, R=READER, W=WRITER) as server:
        with over_http(server, READER) as reader:
            assert "add_documents" not in reader.tools()
            assert [one["index"] for one in reader.ask("list_indexes")["indexes"]] == ["notes"]
            assert "no index" in reader.refused("search", index="mail", query="tea")
        with over_http(server, WRITER, mode="legacy") as writer:
            writer.ask("add_documents", index="mail", documents=[{"id": "a", "text": "b"}])
        own = f"127.0.0.1:{server.port}"
        ping = line("ping", 1)
        accepted = {"accept": "application/json, text/event-stream"}
        expected = {
            ("POST", "/mcp", own, f"Bearer {READER}", None): 200,
            ("POST", "/mcp", own, "Bearer wrong-0123456789abc", None): 401,
            ("POST", "/mcp", own, None, None): 401,
            ("POST", "/mcp", "evil.example.org", f"Bearer {READER}", None): 403,
            ("POST", "/mcp", own, f"Bearer {READER}", "https://evil.example.org"): 403,
            ("GET", "/mcp", own, f"Bearer {READER}", None): 405,
            ("DELETE", "/mcp", own, f"Bearer {READER}", None): 405,
            ("GET", "/indexes", own, f"Bearer {READER}", None): 404,
        }
        found = {}
        for method, path, host, token, origin in expected:
            given = {"host": host, "authorization": token, "origin": origin, **accepted}
            headers = {name: text for name, text in given.items() if text is not None}
            body = ping if method == "POST" else None
            found[method, path, host, token, origin] = server.ask(method, path, body, **headers).status
        assert found == expected
        for body in (b"{", b"\xff\xfe\x00", b"[]", b"1" * 2**20, b'{"jsonrpc": "2.0", "id": 1}'):
            answer = server.ask("POST", "/mcp", body, authorization=f"Bearer {READER}", **accepted)
            assert 400 <= answer.status < 500
        for number in (b"null", b'"\\ud800"', b'1, "id": 2'):
            body = b'{"jsonrpc": "2.0", "method": "ping", "id": ' + number + b"}"
            refused = server.ask("POST", "/mcp", body, authorization=f"Bearer {READER}", **accepted)
            assert refused.status == 400 and refused.body["id"] is None
        assert "Traceback" not in server.errors.read_text()
        assert READER not in server.errors.read_text()


def test_another_address_needs_a_token_and_stdio_takes_none(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []

    monkeypatch.setattr(os, "execv", lambda _, arguments: started.append(arguments))
    cli("--home", tmp_path, "mcp", "--transport", "http", "--host", "0.0.0.0")
    assert started[0][1:4] == ["-P", "-m", "semsearch.serve.mcp"]
    assert main(started[0][4:]) == 2
    found = capsys.readouterr()
    assert found.out == "" and "needs a token" in found.err and "http://" not in found.err
    for flags in (["--token-env", "T"], ["--host", "0.0.0.0"], ["--transport", "pigeon"], ["--max-tokens", "1"]):
        assert cli("--home", tmp_path, "mcp", *flags).code == 2
    assert cli("--home", tmp_path, "mcp", "-n", "nothing").code == 3
    assert len(started) == 1


def test_stdout_carries_the_protocol_only_and_the_end_of_the_input_ends_the_server(tmp_path: Path) -> None:
    home = home_with(tmp_path, "notes")
    search = line("tools/call", 2, name="search", arguments={"query": "tea"})
    half = line("tools/call", 5, name="search", arguments={"query": "tea \ud83d"})
    odd = half + b"\xff\xfe\x00 no JSON\n{}\n[]\n\n" + b'{"jsonrpc": "2.0", "id": 9, "method": "\\ud800"}\n'
    for number in (b'"\\ud800"', b"true"):  # no answer can repeat the one, the other is no id
        odd += b'{"jsonrpc": "2.0", "id": ' + number + b', "method": 7}\n'
    sent = line("initialize", 1, **HELLO) + line("notifications/initialized") + odd + search
    process = subprocess.Popen(
        command(home, "-v"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(sent)
    process.stdin.flush()
    answers: dict[object, Any] = {}
    while 2 not in answers:
        answer = json.loads(process.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
        answers[answer.get("id")] = answer
    rest, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, rest) == (0, b"")
    assert b"Traceback" not in errors
    assert answers[2]["result"]["structuredContent"]["hits"][0]["document"] == "tea"
    assert answers[5]["error"]["code"] == -32700 and "surrogate" in answers[5]["error"]["message"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *[(f'{{"jsonrpc": "2.0", "id": {number}, "method": "ping"}}', -32600)
          for number in ("null", "1.5", "[]", "{}", "true")],
        *[(text, -32600) for text in ("[]", "null", '"x"', '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', "{}")],
        *[(text, -32700) for text in ("", "x", "[" * 50_000, '{"a": 1, "a": 1}', '{"id": "\\ud800"}', "1" * 5000)],
    ],
)  # fmt: skip
def test_what_is_no_message_is_answered_without_an_id(text: str, code: int) -> None:
    with pytest.raises(NoMessage) as caught:
        message(text.encode())
    answer = json.loads(caught.value.answer.model_dump_json())
    assert (answer["id"], answer["error"]["code"]) == (None, code)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_signal_ends_a_server_that_waits_for_its_input(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(command(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line("initialize", 1, **HELLO))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(number)
    assert process.wait(PATIENCE) == 128 + number
    process.communicate()


def test_a_document_that_an_older_version_stored_is_answered_without_what_cannot_be_written(tmp_path: Path) -> None:
    deep: dict[str, object] = {}
    for _ in range(600):
        deep = {"a": deep}
    stored = mock.patch.object(entry_checks, "unanswerable", lambda *_, **__: "")
    with Index.open("notes", home=home_with(tmp_path, "notes")) as index, stored:
        index.add([Document("old", "The kettle boils.", deep)])
    with over_stdio(tmp_path) as assistant:
        (hit,) = assistant.ask("search", query="kettle", mode="keyword")["hits"]
        assert (hit["document"], hit["metadata_left_out"]) == ("old", ["a"])
        read = assistant.ask("get", id="old")
        assert (read["text"], read["metadata_left_out"]) == ("The kettle boils.", ["a"])
        assert [hit["document"] for hit in assistant.ask("similar", id="tea")["hits"]] == ["old"]
