"""The bar of a long job on a terminal: what does not fit is the detail, never percentage or times."""

from __future__ import annotations

import re
import sys

import pytest
from helpers.commandline import Stream

from semsearch.cli.options import Options
from semsearch.cli.output import progress


@pytest.mark.parametrize("width", [50, 80, 120])
def test_a_narrow_terminal_shortens_the_detail_only(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Stream(terminal=True))
    for name, value in {"TERM": "xterm", "COLUMNS": str(width), "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    with progress.counter(Options(), "verify", "passages, read from a very long list of names" * 3) as count:
        count(3, 4)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.content().decode("utf-8"))
    last = re.split(r"[\r\n]+", shown.strip())[-1]
    assert re.fullmatch(r"verify \S+ +75% 3 of.*… +\d:\d\d:\d\d ETA \S+ *", last)
    assert len(last) <= width
