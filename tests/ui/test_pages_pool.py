"""What the pages hold open, and texts of others as they are shown."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from semsearch import Document, Index, SemsearchError, admin
from semsearch_ui.shared import messages, pool

# What remark-gfm makes links of once all else is read (mdast-util-gfm-autolink-literal 2)
ADDRESS = re.compile(r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)", re.IGNORECASE)
MAIL = re.compile(r"([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path))
    yield tmp_path
    st.cache_resource.clear()


def made(name: str, *texts: str) -> None:
    with Index.create(name, encoder="hashing") as index:
        index.add([Document(f"{at}.txt", text) for at, text in enumerate(texts)])


@pytest.mark.parametrize(
    "text", ["https://evil.example/x", "HTTP://evil.example", "www.evil.example", "a@evil.example"]
)
def test_no_address_in_a_text_becomes_a_link(text: str) -> None:
    assert ADDRESS.search(text) or MAIL.search(text)
    read = re.sub(r"\\(.)", r"\1", messages.plain(f"see {text} there"))
    assert not ADDRESS.search(read) and not MAIL.search(read)
    assert read.replace("\u2060", "") == f"see {text} there"


def test_an_index_that_is_let_go_serves_the_search_that_has_begun(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made("notes", "A diesel engine.")
    index = pool.index("notes")
    shutil.rmtree(home / "notes")
    made("notes", "A soup.")
    assert pool.index("notes") is not index
    assert index.search("diesel engine")[0].text == "A diesel engine."  # somebody's, who asked before


def test_an_index_that_was_made_anew_is_closed_a_little_later(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LINGER", 0.0)
    made("notes", "A diesel engine.")
    closed = []
    index = pool.index("notes")
    monkeypatch.setattr(index, "close", lambda: closed.append(index))
    shutil.rmtree(home / "notes")
    made("notes", "A soup.")
    assert pool.index("notes") is not index
    until_closed(closed)


def test_a_removed_index_is_closed_at_once(home: Path) -> None:
    made("notes", "A diesel engine.")
    index = pool.index("notes")
    pool.release("notes")
    with pytest.raises(SemsearchError):
        index.search("engine")
    admin.remove("notes")
    with pytest.raises(SemsearchError, match="no index"):
        pool.index("notes")


def until_closed(closed: list[Index]) -> None:
    import time

    end = time.monotonic() + 60
    while not closed:
        assert time.monotonic() < end, "it was never closed"
        time.sleep(0.01)
