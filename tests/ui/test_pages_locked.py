"""Who gets into the pages: real requests and websockets to the server that `semsearch ui` starts."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.served import SECRET, Server, free_port, home_with_a_secret, running

pytest.importorskip("semsearch_ui")
pytest.importorskip("streamlit")
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
# Written by an audit hook, which Python code cannot take back: what the server looks up or connects to elsewhere.
WATCH = """
import os, sys
HERE = ("127.0.0.1", "localhost", "::1", None)
def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto"):
        place = arguments[0] if event.startswith("socket.get") else arguments[1][0] if arguments[1] else None
        if place not in HERE and not str(place).startswith("/"):
            with open(os.environ["WATCHED"], "a") as file:
                print(event, place, file=file)
            raise OSError("no outside look-up is allowed here")
sys.addaudithook(watch)
"""
# Every route of Streamlit's, with what its settings could add.
ROUTES = """
import json, sys
from streamlit import config
config.get_config_options()
for name in ("server.enableStaticServing", "server.scriptHealthCheckEnabled", "server.enableAgentApi"):
    config.set_option(name, True)
import streamlit as st
from semsearch_ui.server.run import SCRIPT
app = st.App(SCRIPT)._build_starlette_app()
print(json.dumps([[r.path, sorted(getattr(r, "methods", None) or ["GET"]), type(r).__name__] for r in app.routes]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return home_with_a_secret(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server has looked up or connected to outside this machine."""
    return tmp_path_factory.mktemp("watch") / "looked-up"


@pytest.fixture(scope="module")
def server(home: Path, looked_up: Path) -> Iterator[Server]:
    (looked_up.parent / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    looked_up.touch()
    paths = os.pathsep.join(filter(None, [str(looked_up.parent), os.environ.get("PYTHONPATH")]))
    with running(home, "--max-upload", "1", PYTHONPATH=paths, WATCHED=str(looked_up)) as started:
        yield started


@pytest.fixture(scope="module")
def cookie(server: Server) -> str:
    return server.cookie()


def stream(server: Server, **headers: str) -> int:
    """The status of the answer to a websocket's handshake."""
    return server.get("/_stcore/stream", **HANDSHAKE, **headers)[0]


# ---- the websocket


@pytest.mark.parametrize(
    "origin", ["localhost:{other}", "127.0.0.1:{other}", "127.0.0.1", "evil.example", "localhost:{port}"]
)
def test_a_page_of_another_port_or_name_cannot_open_the_websocket(server: Server, cookie: str, origin: str) -> None:
    wrong = f"http://{origin.format(port=server.port, other=server.port + 1)}"
    assert stream(server, Origin=wrong, Cookie=cookie) == 403


def test_https_null_or_no_origin_opens_no_websocket(server: Server, cookie: str) -> None:
    assert stream(server, Origin=f"https://127.0.0.1:{server.port}", Cookie=cookie) == 403
    assert stream(server, Origin="null", Cookie=cookie) == 403
    assert stream(server, Origin="", Cookie=cookie) == 403
    assert stream(server, Cookie=cookie) == 403


def test_no_token_or_a_wrong_one_opens_no_websocket(server: Server, cookie: str) -> None:
    name, _, value = cookie.partition("=")
    assert stream(server, Origin=server.address) == 403
    for wrong in ("", "x", value[:-1], value + "x", server.token, value.upper()):
        assert stream(server, Origin=server.address, Cookie=f"{name}={wrong}") == 403
    assert stream(server, Origin=server.address, Cookie=f"semsearch_{server.port + 1}={value}") == 403
    assert server.get(f"/_stcore/stream?token={server.token}", Origin=server.address, **HANDSHAKE)[0] == 403


def test_an_odd_host_opens_no_websocket_even_with_the_origin_of_that_host(server: Server, cookie: str) -> None:
    for host in odd_hosts(server):
        assert stream(server, Host=host, Origin=f"http://{host}", Cookie=cookie) == 403, host


def test_the_names_of_this_machine_open_the_websocket(server: Server, cookie: str) -> None:
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{server.port}"
        assert stream(server, Host=host, Origin=f"http://{host}", Cookie=cookie) == 101, host


def test_a_cookie_that_another_port_has_added_locks_nobody_out(server: Server, cookie: str) -> None:
    name = cookie.partition("=")[0]
    assert stream(server, Origin=server.address, Cookie=f'{name}=forged; "; {cookie}; {name}=late') == 101


def test_a_websocket_client_without_the_cookie_is_refused_and_with_it_gets_the_page(
    server: Server, cookie: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{server.port}/_stcore/stream", origin=server.address, proxy=None)
    assert refused.value.response.status_code == 403
    assert_protected(dict(refused.value.response.headers.raw_items()))
    with opened(server, cookie) as socket_:
        assert session_of(socket_, "q=boiler&n=house")
        assert found(socket_, "stairs")


# ---- every route of Streamlit


@pytest.fixture(scope="module")
def routes() -> list[tuple[str, str]]:
    """A method and a path of every route that Streamlit can have."""
    ran = subprocess.run([sys.executable, "-c", ROUTES], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(ran.stdout.splitlines()[-1])
    found = [(method, filled(path)) for path, methods, _ in rows for method in methods]
    assert {"/_stcore/stream", "/_stcore/health", "/_stcore/metrics", "/media/x", "/_stcore/upload_file/x/x"} <= {
        path for _, path in found
    }
    return found


def filled(path: str) -> str:
    """A path that a route matches: `/media/x` for `/media/{file_id:path}`; a mount has paths below it."""
    parts = ["x" if part.startswith("{") else part for part in path.split("/")]
    return "/".join(parts) or "/x"


def odd_hosts(server: Server) -> list[str]:
    port = server.port
    wrong = ["evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "127.0.0.1", "localhost"]
    return [
        *wrong,
        f"127.0.0.1:{port + 1}",
        f"localhost.:{port}",
        f"user@127.0.0.1:{port}",
        f"0.0.0.0:{port}",
        "",
        "::",
    ]


def test_no_route_answers_to_an_odd_host(server: Server, cookie: str, routes: list[tuple[str, str]]) -> None:
    for method, path in routes:
        for host in odd_hosts(server):
            status, headers, text = server.get(path, method, Host=host, Cookie=cookie)
            assert status == 403 and SECRET not in text, (method, path, host)
            assert_protected(headers)


def test_no_route_answers_without_the_token(server: Server, cookie: str, routes: list[tuple[str, str]]) -> None:
    wrong = {
        "nothing": {},
        "a wrong cookie": {"Cookie": cookie[:-2] + "xx"},
        "another port's": {"Cookie": f"a{cookie}"},
    }
    for method, path in [
        *routes,
        ("GET", "/"),
        ("GET", "/documents"),
        ("GET", "/favicon.png"),
        ("GET", "/?token=wrong"),
    ]:
        for what, sent in wrong.items():
            status, headers, text = server.get(path, method, **sent)
            assert status == 403, (method, path, what)
            assert method == "HEAD" or "`semsearch ui`" in text.replace("<code>", "`").replace("</code>", "`")
            assert_protected(headers)


def test_no_route_answers_a_page_of_another_origin(server: Server, cookie: str, routes: list[tuple[str, str]]) -> None:
    embedded = {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"}
    framed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    for method, path in routes:
        for sent in ({"Origin": f"http://127.0.0.1:{server.port + 1}"}, embedded, framed):
            status, headers, _ = server.get(path, method, Cookie=cookie, **sent)
            assert status == 403, (method, path, sent)
            assert not [name for name in headers if name.startswith("access-control-")]


def test_every_route_has_the_headers_with_the_token_too(
    server: Server, cookie: str, routes: list[tuple[str, str]]
) -> None:
    for method, path in [*routes, ("GET", "/"), ("GET", "/static/nothing.js")]:
        status, headers, _ = server.get(path, method, Cookie=cookie, Origin=server.address)
        assert status != 403 or method != "GET", (method, path)
        assert_protected(headers)


def test_an_address_without_a_page_leads_to_those_that_are(server: Server, cookie: str) -> None:
    for path in ("/jobs", "/no/such", "/library/no"):
        status, headers, text = server.get(path, Cookie=cookie, Accept="text/html,*/*;q=0.8")
        assert status == 404 and "There is no such page" in text and '<a href="/library">Library</a>' in text
        assert_protected(headers)
        assert server.get(path, Accept="text/html")[0] == 403  # not told to whom has no token
    status, headers, _ = server.get("/library/?n=house", Cookie=cookie, Accept="text/html")
    assert (status, headers["location"]) == (307, "/library?n=house")
    for path, leads in (("/explore?n=house", "/map?n=house"), ("/Search", "/")):  # their names in the rail
        status, headers, _ = server.get(path, Cookie=cookie, Accept="text/html")
        assert (status, headers["location"]) == (307, leads)
    assert server.get("/library?n=house", Cookie=cookie, Accept="text/html")[0] == 200
    for path in ("/static/nothing.js", "/_stcore/health"):
        assert "There is no such page" not in server.get(path, Cookie=cookie, Accept="text/html")[2]


def test_the_figures_of_the_process_are_closed_to_everybody(server: Server, cookie: str) -> None:
    assert server.get("/_stcore/metrics", Cookie=cookie)[0] == 404
    assert server.get("//_stcore/metrics/", Cookie=cookie)[0] in (400, 404)
    assert server.get("/_stcore/health", Cookie=cookie)[0] == 200


def assert_protected(headers: dict[str, str]) -> None:
    """The headers that an answer has to have."""
    headers = {name.lower(): value for name, value in headers.items()}
    policy = {each.split()[0]: each.split()[1:] for each in headers["content-security-policy"].split(";")}
    assert (
        policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
    )
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*"} & set(policy.get("script-src", ()))
    assert not [each for sources in policy.values() for each in sources if each.startswith(("http", "*"))]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_requests_without_a_host_or_with_two_are_refused(server: Server, cookie: str) -> None:
    host = f"Host: 127.0.0.1:{server.port}\r\n"
    for request in ("GET / HTTP/1.0\r\n", f"GET / HTTP/1.1\r\n{host}Host: evil.example\r\n", "GET / HTTP/1.1\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
            raw.sendall(f"{request}Cookie: {cookie}\r\nConnection: close\r\n\r\n".encode())
            assert raw.makefile("rb").readline().split()[1] in (b"400", b"403"), request


# ---- the token


def test_the_printed_address_gives_a_cookie_of_this_port_for_this_site_alone(server: Server) -> None:
    status, headers, text = server.get(f"/documents?title=a%20b&token={server.token}&n=house")
    assert status == 200
    name, _, rest = headers["set-cookie"].partition("=")
    attributes = {each.strip().lower() for each in rest.split(";")[1:]}
    assert name == f"semsearch_{server.port}"
    assert {"httponly", "path=/", "samesite=strict", f"max-age={365 * 24 * 3600}"} == attributes
    assert "/documents?title=a+b&amp;n=house" in text and server.token not in text
    assert headers["cache-control"] == "no-store"


def test_the_pages_of_the_gate_lead_to_this_server_only_and_load_nothing(server: Server) -> None:
    for path in (
        "//evil.example/x",
        "/\\evil.example",
        "/%5Cevil.example",
        '/a"><script>alert(1)</script>',
        '/?a="><b>',
    ):
        for query in ("", f"{'&' if '?' in path else '?'}token={server.token}"):
            text = server.get(path.replace(" ", "%20") + query)[2]
            links = [each.partition('"')[0] for each in text.split('href="')[1:]]
            assert links and all(each.startswith("/") and each[1:2] not in ("/", "\\") for each in links), path
            assert "<script" not in text and "<b>" not in text and "src=" not in text


def test_the_cookie_walks_the_pages_and_uploads_up_to_the_limit(server: Server, cookie: str) -> None:
    with opened(server, cookie) as socket_:
        session = session_of(socket_, "")
        assert "<title>semsearch" in server.get("/library", Cookie=cookie)[2]
        xsrf = server.get("/_stcore/health", Cookie=cookie)[1]["set-cookie"].partition(";")[0]
        assert upload(server, f"{cookie}; {xsrf}", session, 2**19) == 204
        assert upload(server, f"{cookie}; {xsrf}", session, 2**20 + 2**19) == 413
        assert upload(server, xsrf, session, 10) == 403


def upload(server: Server, cookie: str, session: str, size: int) -> int:
    """The status of a file's upload."""
    body = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n' + b"x" * size + b"\r\n--b--\r\n"
    headers = {
        "Cookie": cookie,
        "Origin": server.address,
        "X-Xsrftoken": cookie.rpartition("_streamlit_xsrf=")[2],
        "Content-Type": "multipart/form-data; boundary=b",
    }
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("PUT", f"/_stcore/upload_file/{session}/1", body, headers)
        return connection.getresponse().status
    except ConnectionError:  # it was refused before all of it was sent
        return 413
    finally:
        connection.close()


def test_the_server_looked_up_nothing_outside_whatever_it_was_sent(
    server: Server, cookie: str, looked_up: Path
) -> None:
    for origin in (
        "http://evil.example",
        "http://8.8.8.8",
        f"http://[::1]:{server.port}",
        f"http://localhost:{server.port}",
    ):
        host = origin.removeprefix("http://")
        for path in ("/", "/_stcore/host-config", "/_stcore/agent/openapi.json"):
            server.get(path, Cookie=cookie, Origin=origin)
            server.get(path, Cookie=cookie, Origin=origin, Host=host)
        stream(server, Origin=origin, Cookie=cookie)
        stream(server, Origin=origin, Host=host, Cookie=cookie)
    assert looked_up.read_text(encoding="utf-8") == ""
    control = looked_up.with_name("control")
    command = [sys.executable, "-c", "import socket; socket.getaddrinfo('evil.example', 80)"]
    environment = os.environ | {"PYTHONPATH": str(looked_up.parent), "WATCHED": str(control)}
    assert subprocess.run(command, env=environment, capture_output=True).returncode
    assert control.read_text(encoding="utf-8") == "socket.getaddrinfo evil.example\n"


def test_the_token_is_printed_once_and_stands_in_no_log_argument_or_environment_of_a_child(server: Server) -> None:
    server.get(f"/?token={server.token}")
    server.get(f"/%zz?token={server.token}", Origin="http://evil.example")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(f"GET /?token={server.token} nonsense\r\n\r\n".encode())
        raw.recv(100)
    assert server.said().count(server.token) == 1
    process = Path(f"/proc/{server.process.pid}")
    if process.exists():
        assert server.token not in (process / "cmdline").read_text(encoding="utf-8")


# ---- starting and ending


def test_the_browser_is_opened_by_a_file_that_only_its_owner_reads(home: Path, tmp_path: Path) -> None:
    seen, program = tmp_path / "seen", tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.part && mv {seen}.part {seen}\n', encoding="utf-8")
    program.chmod(0o700)
    with running(home, "--browser", BROWSER=f"{program} %s") as server:
        end = time.monotonic() + 60
        while not seen.exists() and time.monotonic() < end:
            time.sleep(0.05)
        file = Path(seen.read_text(encoding="utf-8").removeprefix("file://"))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert server.printed in file.read_text(encoding="utf-8")
        assert server.token not in seen.read_text(encoding="utf-8")
    assert not file.parent.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_its_exit_code_and_only_a_new_token_locks_out_who_was_let_in(
    home: Path, number: signal.Signals
) -> None:
    port = free_port()
    with running(home, port=port) as first:
        cookie = first.cookie()
        with opened(first, cookie):
            first.process.send_signal(number)
            assert first.process.wait(60) == 128 + number
        assert "Traceback" not in first.said()
    with running(home, port=port) as second:
        assert second.token == first.token
        assert second.get("/", Cookie=cookie)[0] == 200  # a bookmark works
    with running(home, "--new-token", port=port) as third:
        assert third.token != first.token
        assert third.get("/", Cookie=cookie)[0] == 403


def test_a_token_of_ones_own_is_used_and_not_printed(home: Path) -> None:
    own = "0123456789-abcdef"
    with running(home, SEMSEARCH_UI_TOKEN=own) as server:
        assert own not in server.said()
        status, headers, _ = server.get(f"/?token={own}")
        assert status == 200
        cookie = headers["set-cookie"].partition(";")[0]
        assert stream(server, Origin=server.address, Cookie=cookie) == 101
    with running(home, port=server.port, SEMSEARCH_UI_TOKEN=f"{own}0") as again:
        assert again.get("/", Cookie=cookie)[0] == 403  # the cookie of another token


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("del streamlit.App", "cannot be protected"),
        ("run.load_config_options = lambda options: None", "it ignores"),
        ("os.environ.pop('SEMSEARCH_UI_TOKEN')", "without a token"),
        ("run.OPTIONS['server.unheardOf'] = True", "cannot be protected"),
        ("async def broken(*_): raise ValueError\nstreamlit.App = lambda script: broken", "did not start"),
    ],
)
def test_pages_that_cannot_be_protected_are_not_served(change: str, says: str) -> None:
    port = free_port()
    begin, end = "import os, streamlit, sys\nfrom semsearch_ui.server import run", "sys.exit(run.main(sys.argv[1:]))"
    environment = os.environ | {"SEMSEARCH_UI_TOKEN": "x" * 16}
    command = [sys.executable, "-c", "\n".join((begin, change, end)), f"--port={port}", "--max-upload=1"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert ran.returncode == 1
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("error: ")]
    assert says in line
    assert "Traceback" not in ran.stderr or "The lines above say why" in line


# ---- Streamlit's own language


def opened(server: Server, cookie: str) -> ClientConnection:
    """The websocket of a page, as Streamlit's front end opens it."""
    url = f"ws://127.0.0.1:{server.port}/_stcore/stream"
    headers = {"Cookie": cookie}
    protocols: Any = ["streamlit"]
    return connect(
        url, origin=server.address, additional_headers=headers, subprotocols=protocols, proxy=None, max_size=None
    )


def session_of(connection: ClientConnection, query: str) -> str:
    """Have the page drawn; returns the id of its session."""
    message = BackMsg()
    message.rerun_script.query_string = query
    connection.send(message.SerializeToString())
    while True:
        answer = ForwardMsg.FromString(bytes(connection.recv(timeout=60)))
        if answer.HasField("new_session"):
            return str(answer.new_session.initialize.session_id)


def found(connection: ClientConnection, text: str) -> bool:
    """Whether the page shows the text before it is complete."""
    while True:
        answer = ForwardMsg.FromString(bytes(connection.recv(timeout=60)))
        if text in "".join(str(answer).splitlines()):
            return True
        if answer.HasField("script_finished"):
            return False
