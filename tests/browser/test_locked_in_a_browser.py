"""Chromium and the lock of the pages: a page of another port, a link from elsewhere, a restart."""

from __future__ import annotations

import http.server
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import ask, browsing, downloaded, entered, needs_chromium, text, until
from helpers.served import SECRET, Server, home_with_a_secret, running
from selenium.webdriver.common.by import By

BOX = "input[aria-label='What are you looking for?']"
pytestmark = needs_chromium
LOCKED = "This page needs the address that semsearch ui printed"
FOREIGN = """<!doctype html><title>waiting</title>
<a id="link" href="{address}/?q=boiler">a link</a> <a id="entrance" href="{printed}">the printed address</a>
<iframe src="{address}/" id="frame"></iframe>
<script>
const found = {{}};
const settled = (what, outcome) => {{
  found[what] = outcome;
  if (Object.keys(found).length === 5) document.title = JSON.stringify(found);
}};
const socket = new WebSocket("{address}/_stcore/stream".replace("http", "ws"), ["streamlit"]);
socket.onopen = () => settled("websocket", "open");
socket.onerror = () => settled("websocket", "refused");
fetch("{address}/", {{ credentials: "include" }})
  .then(answer => answer.text()).then(() => settled("fetch", "read"), () => settled("fetch", "refused"));
fetch("{address}/_stcore/health", {{ credentials: "include", mode: "no-cors" }})
  .then(() => settled("blind fetch", "answered"), () => settled("blind fetch", "refused"));
const image = new Image();
image.onload = () => settled("image", "seen");
image.onerror = () => settled("image", "refused");
image.src = "{address}/favicon.png";
const script = document.createElement("script");
script.onload = () => settled("script", "loaded");
script.onerror = () => settled("script", "refused");
script.src = "{address}/_stcore/host-config";
document.head.append(script);
</script>"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return home_with_a_secret(tmp_path_factory.mktemp("home"))


@pytest.fixture
def driver() -> Iterator[Any]:
    """A browser of its own, whose console is full of refusals."""
    with browsing() as started:
        yield started


@contextmanager
def foreign(server: Server) -> Iterator[int]:
    """The port of another server of this machine, with a page that reaches for the pages."""
    page = FOREIGN.format(address=server.address, printed=server.printed).encode()

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        yield other.server_port
        other.shutdown()


def test_a_page_of_another_port_reads_frames_and_opens_nothing(driver: Any, started: Server) -> None:
    entered(driver, started)
    with foreign(started) as port:
        driver.get(f"http://127.0.0.1:{port}/")  # for a browser the same site: it sends the cookie along
        outcomes = json.loads(until(lambda: driver.title if driver.title.startswith("{") else ""))
        assert outcomes.pop("blind fetch") in ("answered", "refused")  # of which the page sees nothing
        assert set(outcomes.values()) == {"refused"}, outcomes
        driver.switch_to.frame("frame")
        assert LOCKED not in text(driver) and not driver.find_elements(By.ID, "root")
        driver.switch_to.default_content()
        assert any("frame-ancestors" in row["message"] for row in driver.get_log("browser"))


def test_the_page_of_another_site_may_link_to_the_pages_and_let_a_browser_in(driver: Any, started: Server) -> None:
    with foreign(started) as port:
        driver.get(f"http://localhost:{port}/")  # for a browser another site than 127.0.0.1
        driver.find_element(By.ID, "link").click()
        until(lambda: LOCKED in text(driver))
        driver.get(f"http://localhost:{port}/")
        driver.find_element(By.ID, "entrance").click()
        until(lambda: driver.find_elements(By.CSS_SELECTOR, BOX) and "token" not in driver.current_url)
        driver.get(f"http://localhost:{port}/")
        driver.find_element(By.ID, "link").click()  # no cookie with it, as it comes from elsewhere
        until(lambda: LOCKED in text(driver))
        driver.find_element(By.LINK_TEXT, "continue").click()
        until(lambda: SECRET in text(driver))
        assert "q=boiler" in driver.current_url


def test_after_a_restart_bookmarks_work_and_after_a_new_token_an_open_tab_says_what_to_do(
    driver: Any, home: Path
) -> None:
    with running(home) as first:
        ask(driver, entered(driver, first), "boiler")
        until(lambda: SECRET in text(driver))
        first.process.send_signal(signal.SIGINT)
        first.process.wait(60)
    with running(home, port=first.port):
        until(lambda: "semsearch has stopped" not in text(driver))
        driver.get(f"{first.address}/?q=boiler")  # a bookmark
        until(lambda: SECRET in text(driver))
    with running(home, "--new-token", port=first.port) as second:
        until(lambda: LOCKED in text(driver))
        driver.get(second.printed)
        until(lambda: driver.find_elements(By.CSS_SELECTOR, BOX))


def test_the_browser_lets_no_script_see_the_cookie(driver: Any, started: Server) -> None:
    entered(driver, started)
    assert f"semsearch_{started.port}" in {each["name"] for each in driver.get_cookies()}
    assert "semsearch" not in driver.execute_script("return document.cookie")


@pytest.mark.long
def test_a_file_is_uploaded_below_the_limit_that_the_page_names_and_not_above(
    driver: Any, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "small.txt").write_text("A kettle boils water.", encoding="utf-8")
    (tmp_path / "large.txt").write_text("x" * (2**20 + 1), encoding="utf-8")
    with running(home, "--max-upload", "1") as server:
        driver.get(f"{entered(driver, server)}/library?n=house&add=true")
        until(lambda: "1MB per file" in text(driver))
        box = until(lambda: driver.find_elements(By.CSS_SELECTOR, "input[type='file']"))[0]
        box.send_keys(str(tmp_path / "large.txt"))
        until(lambda: "must be 1.0MB or smaller" in text(driver) or "exceeds" in text(driver))
        box.send_keys(str(tmp_path / "small.txt"))
        until(lambda: "small.txt" in text(driver))
        until(lambda: [e for e in driver.find_elements(By.TAG_NAME, "button") if "Add to house" in e.text])[0].click()
        until(lambda: "1 added" in text(driver))
        until(lambda: [e for e in driver.find_elements(By.TAG_NAME, "button") if "CSV" in e.text])[0].click()
        saved = downloaded(driver, "*.csv")
        assert "small.txt" in saved.read_text(encoding="utf-8")
