"""The commands and examples of docs/groups.md run, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import documented

PAGE = documented.page("docs/groups.md")


@pytest.mark.slow
def test_the_commands_run_and_print_something(tmp_path: Path) -> None:
    places = {"SEMSEARCH_HOME": str(tmp_path / "home"), "SEMSEARCH_CACHE": str(tmp_path / "cache.db")}
    assert len(list(documented.console(PAGE, places))) >= 3


def test_the_examples_run() -> None:
    names: dict[str, Any] = {}
    for code in documented.blocks(PAGE, "python"):
        exec(code, names)  # noqa: S102  (our own page)
    assert names["index"]
    names["index"].close()
