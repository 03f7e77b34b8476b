"""Who is let in, what is refused, and how."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commandline import CommandLine
from helpers.serving import Serving, serving
from starlette.exceptions import HTTPException

from semsearch import Index
from semsearch.errors import UsageError
from semsearch.serve import access
from semsearch.serve.gate import Rates
from semsearch.serve.problems import Refused
from semsearch.serve.receiving import streamed

READ, WRITE, ADMIN = "reader-0123456789", "writer-0123456789", "admin-01234567890"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("guarded")
    for name in ("open", "closed"):
        Index.create(name, encoder="hashing", home=home).close()
    flags = ["--token-env", "R:read:open", "--token-env", "W:write:open", "--token-env", "A"]
    flags += ["--allow-host", "search.example.org", "--cors", "https://app.example.org"]
    with serving(home, "-m", "hashing", *flags, R=READ, W=WRITE, A=ADMIN) as running:
        yield running


def bearer(token: str) -> str:
    return f"Bearer {token}"


def test_without_a_valid_token_nothing_about_indexes_is_said(guarded: Serving) -> None:
    for headers in ({}, {"authorization": bearer(READ[:-1])}, {"authorization": READ}, {"authorization": "Basic eDp5"}):
        for path in ("/indexes", "/indexes/open/search", "/embed", "/x", "/metrics"):
            answer = guarded.ask("GET", path, **headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
        assert guarded.ask("GET", path).status == 200


def test_a_token_has_its_right_in_its_indexes_only(guarded: Serving) -> None:
    document = {"documents": [{"id": "a", "text": "b"}]}
    expected = {
        (READ, "open", "search"): 200,
        (READ, "open", "documents"): 403,
        (READ, "closed", "search"): 404,
        (WRITE, "open", "documents"): 200,
        (WRITE, "closed", "documents"): 404,
        (WRITE, "closed", "documents/upload"): 404,
        (READ, "open", "documents/upload"): 403,
        (ADMIN, "closed", "documents"): 200,
    }
    found = {
        (token, index, what): guarded.ask(
            "POST",
            f"/indexes/{index}/{what}",
            {"text": "b"} if what == "search" else document,
            authorization=bearer(token),
        ).status
        for token, index, what in expected
    }
    assert found == expected
    listed = guarded.ok("GET", "/indexes", authorization=bearer(READ))["indexes"]
    assert [one["index"] for one in listed] == ["open"]
    assert 'index="open"' in guarded.ok("GET", "/metrics", authorization=bearer(READ))
    assert 'index="closed"' not in guarded.ok("GET", "/metrics", authorization=bearer(READ))


def test_hosts_and_origins_of_others_are_refused(guarded: Serving) -> None:
    own = f"127.0.0.1:{guarded.port}"
    expected = {
        (own, None): 200,
        (f"localhost:{guarded.port}", None): 200,
        ("search.example.org", None): 200,
        ("search.example.org", "https://search.example.org"): 200,
        (own, "https://app.example.org"): 200,
        ("evil.example.org", None): 403,
        (f"127.0.0.1:{guarded.port + 1}", None): 403,
        (own, "https://evil.example.org"): 403,
        (own, "null"): 403,
    }
    found = {}
    for host, origin in expected:
        headers = {"host": host, "authorization": bearer(ADMIN)} | ({"origin": origin} if origin else {})
        found[host, origin] = guarded.ask("GET", "/indexes", **headers).status
    assert found == expected


def test_pages_of_another_origin_read_answers_only_where_it_is_named(guarded: Serving, server: Serving) -> None:
    named = guarded.ask("GET", "/healthz", origin="https://app.example.org")
    assert named.headers["access-control-allow-origin"] == "https://app.example.org"
    for other in (
        guarded.ask("GET", "/healthz", origin="https://evil.example.org"),
        server.ask("GET", "/healthz", origin="https://app.example.org"),
        server.ask("GET", "/healthz", sec_fetch_site="cross-site"),
    ):
        assert other.status == 403
        assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/indexes/none/search", {"text": "a"}, 404, 3),
        ("POST", "/indexes/..%2Fhouse/search", {"text": "a"}, 404, 3),
        ("POST", "/indexes/./search", {"text": "a"}, 404, 3),
        ("GET", "/nothing", None, 404, 3),
        ("PUT", "/indexes", None, 405, 2),
        ("POST", "/indexes/house/search", {"text": ""}, 400, 2),
        ("POST", "/indexes/house/search", {"text": "a", "where": "year >"}, 400, 2),
        ("POST", "/indexes/house/search", {"text": "a", "k": 0}, 422, 2),
        ("POST", "/indexes/house/search", {"text": "a", "rank": 1}, 422, 2),
        ("POST", "/indexes/house/search", b"{", 422, 2),
        ("POST", "/indexes/house/search", b'{"text": "kettles \\ud83d"}', 422, 2),
        ("POST", "/indexes/house/search", b'{"text": "kettles", "must": ["\\ud83d"]}', 422, 2),
        (
            "POST",
            "/indexes/house/documents",
            b'{"documents": [{"id": "n", "text": "t", "metadata": {"a": NaN}}]}',
            422,
            2,
        ),
        ("POST", "/indexes/house/documents", b'{"documents": [{"id": "n", "text": "t \\ud800"}]}', 422, 2),
        ("POST", "/indexes/house/search", {"queries": [{"text": "a"}] * 51}, 413, 2),
        ("POST", "/embed", {"texts": ["a"] * 51}, 413, 2),
        ("POST", "/embed", {"texts": ["a"], "model": "hf:some/model"}, 404, 3),
        ("POST", "/embed", {"texts": ["a" * 2**20]}, 413, 2),
    ],
)
def test_an_error_is_a_problem_with_the_code_of_the_command_line(
    server: Serving, method: str, path: str, body: object, status: int, code: int
) -> None:
    answer = server.ask(method, path, body)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert (answer.body["status"], answer.body["code"]) == (status, code)
    assert answer.body["detail"] and answer.body["title"]
    assert answer.body["request_id"] == answer.headers["x-request-id"]


def test_a_body_without_a_length_is_refused_once_it_is_too_large(server: Serving) -> None:
    piece = b"%x\r\n%s\r\n" % (2**20, b" " * 2**20)
    answer = server.ask("POST", "/embed", piece * 2 + b"0\r\n\r\n", transfer_encoding="chunked")
    assert answer.status == 413


def answered(port: int, *sent: bytes) -> bytes:
    """What a client reads until the server closes the connection; it sends these bytes, and no more."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        for piece in sent:
            connection.sendall(piece)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_client_that_stops_in_the_middle_of_a_request_does_not_keep_its_connection(tmp_path: Path) -> None:
    with serving(tmp_path, "-m", "hashing", "--timeout", "1") as hurried:
        host = f"Host: 127.0.0.1:{hurried.port}\r\n".encode()
        assert answered(hurried.port, b"GET / HT") == b""
        answer = answered(hurried.port, b"POST /embed HTTP/1.1\r\n" + host + b"Content-Length: 100\r\n\r\n{")
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert "traceback" not in hurried.errors.read_text()


def test_an_upload_may_be_slow_to_store_and_not_slow_to_come() -> None:
    pieces = iter([b"x" * 1000, b"y"])
    stuck = asyncio.Event()

    async def receive() -> dict[str, object]:
        piece = next(pieces, None)
        if piece is None:
            await stuck.wait()
        return {"type": "http.request", "body": piece, "more_body": True}

    async def ask() -> None:
        upload = streamed(receive, 0.01)
        assert [(await upload())["body"] for _ in range(2)] == [b"x" * 1000, b"y"]
        with pytest.raises(HTTPException, match="slower than 1,000 bytes a second") as refused:
            await upload()
        assert refused.value.status_code == 408

    asyncio.run(ask())


def test_an_address_that_guesses_tokens_is_refused_its_right_token_and_others_are_not(tmp_path: Path) -> None:
    flags = ("--token-env", "A", "--proxy", "127.0.0.1")
    with serving(tmp_path, "-m", "hashing", *flags, A=ADMIN) as proxied:

        def ask(token: str, address: str) -> int:
            return proxied.ask("GET", "/indexes", authorization=bearer(token), x_forwarded_for=address).status

        found = [ask(f"wrong-{n:012}", "192.0.2.1") for n in range(30)]
        assert set(found[:10]) == {401}
        assert 429 in found
        assert ask(ADMIN, "192.0.2.1") == ask(ADMIN, "192.0.2.2") == 200
        assert ask("wrong-012345678901", "192.0.2.1") == 429
        assert proxied.ask("GET", "/healthz").status == 200
        assert {line["client"] for line in proxied.logged() if line.get("path") == "/indexes"} == {
            "192.0.2.1",
            "192.0.2.2",
        }


def test_requests_are_logged_as_json_with_their_id_and_without_their_text(server: Serving) -> None:
    server.ok("POST", "/indexes/house/search", {"text": "confidential"}, x_request_id="my-own.1")
    server.ok("GET", "/indexes/house/documents?path=confidential")
    (line,) = [one for one in server.logged() if one.get("request") == "my-own.1"]
    assert (line["status"], line["path"], line["caller"]) == (200, "/indexes/house/search", "local")
    assert "confidential" not in server.errors.read_text()
    assert server.ask("GET", "/healthz", x_request_id="a b\x7f").headers["x-request-id"].isalnum()


def test_the_description_lists_every_address_and_loads_nothing(server: Serving) -> None:
    page = server.ok("GET", "/docs")
    for path in server.ok("GET", "/openapi.json")["paths"]:
        assert path in page
    assert "<script" not in page
    assert "must: string or array" in page.replace("<code>", "").replace("</code>", "")


def test_a_client_that_asks_too_often_waits_and_others_do_not() -> None:
    now = [0.0]
    rates = Rates(0.5, clock=lambda: now[0])
    for _ in range(5):  # ten seconds' worth
        rates.take("a")
    with pytest.raises(Refused) as refused:
        rates.take("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 2)
    rates.take("b")
    now[0] += 2
    rates.take("a")
    with pytest.raises(Refused):
        rates.take("a")


def test_the_rate_counts_requests_that_need_a_token(tmp_path: Path) -> None:
    with serving(tmp_path, "-m", "hashing", "--rate", "0.001") as slow:
        assert [slow.ask("GET", "/indexes").status for _ in range(2)] == [200, 429]
        answer = slow.ask("GET", "/indexes")
        assert int(answer.headers["retry-after"]) > 500
        assert slow.ask("GET", "/healthz").status == 200


def test_an_address_of_others_needs_a_token_and_a_token_needs_a_value(cli: CommandLine, tmp_path: Path) -> None:
    from semsearch.serve import run

    options = '{"home": "x", "host": "0.0.0.0", "port": 1, "tokens": %s, "allow_hosts": [], "cors": [], "models": [], '
    options += '"reranker": null, "max_body_mb": 1, "max_batch": 1, "seconds": 1, "most_open": 1, "rate": 0}'
    assert run.main([options % "[]"]) == 2
    assert run.main([options % '["SEMSEARCH_NO_SUCH_VARIABLE"]']) == 2
    assert run.main([options % '["HOME:owner"]']) == 2
    assert cli("--home", tmp_path, "serve", "--cors", "app.example.org").code == 2


@pytest.mark.parametrize("named", ["a,,", ",a", "", " "])
def test_an_empty_name_of_an_index_gives_no_token_all_indexes(named: str) -> None:
    with pytest.raises(UsageError, match="empty name of an index"):
        access.parse([f"T:read:{named}"], {"T": "0123456789abcdef"})
