"""The search page in Debian's Chromium: the server that `semsearch ui` starts, real files, the encoder that ships."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import SAMPLE, ask, buttons, click, needs_chromium, one_line, text, until
from helpers.served import Server
from selenium.webdriver.common.by import By

from semsearch import Index

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> about zeppelins"
pytestmark = needs_chromium


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


def test_a_question_is_answered_under_the_box_and_the_url_holds_it(browser: Any, server: str) -> None:
    ask(browser, server, "how is the fuel of a diesel set on fire")
    assert "1. diesel" in one_line(browser)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".passage mark"))
    until(lambda: "q=" in browser.current_url)
    url = browser.current_url
    browser.get("about:blank")
    browser.get(url)
    until(lambda: "1. diesel" in one_line(browser))


@pytest.mark.long
def test_less_like_this_is_a_chip_that_changes_the_hits_and_the_url(browser: Any, server: str) -> None:
    ask(browser, server, "how is the fuel of a diesel set on fire")
    until(lambda: "10 hits" in text(browser))
    before = text(browser)
    click(browser, ".hit [aria-label='More']")
    until(lambda: buttons(browser, "Less like this"))[0].click()
    until(lambda: "less=" in browser.current_url)
    until(lambda: "encoded in" in text(browser) and text(browser) != before)


def test_nothing_of_a_document_or_its_name_runs_or_is_markup(browser: Any, server: str) -> None:
    ask(browser, server, "zeppelins")
    until(lambda: "<b>bold<b>.txt" in text(browser))
    assert "<script>" in text(browser)
    assert not browser.find_elements(By.CSS_SELECTOR, ".passage img, .passage script")
    assert browser.title != "owned"


def test_searches_never_load_pytorch_into_the_server(browser: Any, server: str, started: Server) -> None:
    ask(browser, server, "how is the fuel of a diesel set on fire")
    mapped = Path(f"/proc/{started.process.pid}/maps").read_text(encoding="utf-8")
    assert "onnxruntime" in mapped
    assert "libtorch" not in mapped


def test_the_server_listens_to_this_machine_alone(server: str) -> None:
    port = int(server.rpartition(":")[2])
    rows = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    if os.path.exists("/proc/net/tcp6"):  # noqa: PTH110
        rows += Path("/proc/net/tcp6").read_text(encoding="ascii").splitlines()[1:]
    listening = [row.split()[1] for row in rows if row.split()[3] == "0A" and int(row.split()[1][-4:], 16) == port]
    assert listening == [f"0100007F:{port:04X}"]
