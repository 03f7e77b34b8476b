"""Texts of others on the pages: what reverses their direction or controls a display is shown escaped."""

from __future__ import annotations

from semsearch_ui.shared import messages
from semsearch_ui.shared.texts import highlight

SPOOFED = "bill\u202efdp.exe\u2066 \x1b[1m\u061c"


def test_names_and_passages_show_what_would_reverse_them() -> None:
    html = highlight.passage(SPOOFED)
    for shown in (html, messages.plain(SPOOFED)):
        assert "202e" in shown and not set(shown) & set("\u202e\u2066\u061c\x1b")


def test_lines_and_page_breaks_stay_breaks() -> None:
    html = highlight.passage("one\r\ntwo\x0cthree\tfour שלום")
    assert "one\ntwo\nthree\tfour שלום" in html
