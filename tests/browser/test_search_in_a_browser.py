"""The search page in Debian's Chromium: the server that `semsearch ui` starts, real files, the encoder that ships."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("streamlit")
pytest.importorskip("semsearch_ui")
pytest.importorskip("selenium", reason="the browser is driven by selenium")
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from semsearch import Index

SAMPLE = Path(__file__).resolve().parents[2] / "scripts" / "sample"
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> about zeppelins"
PATIENCE = 120  # seconds; a machine may be busy
pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="needs Debian's packages chromium and chromium-driver",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    files = tmp_path_factory.mktemp("files")
    for folder in ("engines", "cooking", "astronomy"):
        shutil.copytree(SAMPLE / folder, files / folder)
    (files / "<b>bold<b>.txt").write_text(HOSTILE, encoding="utf-8")
    with Index.create("notes", home=home) as index:
        index.sync(files)
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "ui", "--no-browser"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert running.stderr is not None
    found = re.search(r"http://\S+", running.stderr.readline())
    assert found
    try:
        _until(lambda: _healthy(found[0]))
        yield found[0]
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for each in ("--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1600"):
        options.add_argument(each)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def _healthy(url: str) -> bool:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except OSError:
        return False


def _until(true: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.2)
    return found


def _text(browser: Any) -> str:
    return str(browser.find_element(By.TAG_NAME, "body").text)


def _button(browser: Any, label: str) -> list[Any]:
    return [each for each in browser.find_elements(By.TAG_NAME, "button") if label in each.text]


def _ask(browser: Any, server: str, query: str) -> None:
    browser.get(server)
    box = _until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[placeholder^='Ask in your own words']"))[0]
    box.send_keys(query, Keys.ENTER)
    _until(lambda: "encoded in" in _text(browser))


def test_a_question_is_answered_under_the_box_and_the_url_holds_it(browser: Any, server: str) -> None:
    _ask(browser, server, "how is the fuel of a diesel set on fire")
    assert "1. diesel.txt" in _text(browser)
    _until(lambda: browser.find_elements(By.CSS_SELECTOR, ".passage mark"))
    _until(lambda: "q=" in browser.current_url)
    url = browser.current_url
    browser.get("about:blank")
    browser.get(url)
    _until(lambda: "1. diesel.txt" in _text(browser))


def test_less_like_this_is_a_chip_that_changes_the_hits_and_the_url(browser: Any, server: str) -> None:
    _ask(browser, server, "how is the fuel of a diesel set on fire")
    _until(lambda: "10 hits" in _text(browser))
    before = _text(browser)
    _until(lambda: _button(browser, "Less like this"))[0].click()
    _until(lambda: "less=" in browser.current_url)
    _until(lambda: "encoded in" in _text(browser) and _text(browser) != before)


def test_nothing_of_a_document_or_its_name_runs_or_is_markup(browser: Any, server: str) -> None:
    _ask(browser, server, "zeppelins")
    _until(lambda: "<b>bold<b>.txt" in _text(browser))
    assert "<script>" in _text(browser)
    assert not browser.find_elements(By.CSS_SELECTOR, ".passage img, .passage script")
    assert browser.title != "owned"


def test_another_host_name_and_another_origin_are_refused(server: str) -> None:
    address = server.removeprefix("http://")
    handshake = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }

    def status(**headers: str) -> int:
        connection = http.client.HTTPConnection(address, timeout=30)
        connection.request("GET", "/_stcore/stream", headers=handshake | headers)
        return connection.getresponse().status

    assert status(Host="evil.example") == 403
    assert status(Host=address, Origin="http://evil.example") == 403
    assert status(Host=address, Origin=server) == 101


def test_the_server_listens_to_this_machine_alone(server: str) -> None:
    port = int(server.rpartition(":")[2])
    rows = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    if os.path.exists("/proc/net/tcp6"):  # noqa: PTH110
        rows += Path("/proc/net/tcp6").read_text(encoding="ascii").splitlines()[1:]
    listening = [row.split()[1] for row in rows if row.split()[3] == "0A" and int(row.split()[1][-4:], 16) == port]
    assert listening == [f"0100007F:{port:04X}"]
