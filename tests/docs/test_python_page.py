"""The examples of docs/python.md run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import semsearch

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    names: dict[str, Any] = {}
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(code) == 10
    for each in code:
        exec(each, names)  # noqa: S102  (our own page)


def test_every_asynchronous_method_is_named() -> None:
    methods = {name for name in vars(semsearch.AsyncIndex) if name[0] != "_"}
    assert (
        methods and {name for name in methods if f"`{name}`" not in PAGE.partition("`AsyncIndex(index)`")[2]} == set()
    )
