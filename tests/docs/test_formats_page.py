"""docs/formats.md names every loader with its suffixes, and its filter is one."""

from __future__ import annotations

import re
from pathlib import Path

from semsearch.documents import loaders
from semsearch.documents.walk import BINARY, STREAMED
from semsearch.search import filter_parser
from semsearch.utils import plugins

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", TEXT, flags=re.MULTILINE))


def test_every_loader_stands_in_the_table_with_all_its_suffixes() -> None:
    modules = {name: plugins.load(loaders, name) for name in plugins.names(loaders)}
    assert set(ROWS) == set(modules)
    for name, module in modules.items():
        told = tuple(ROWS[name].split())
        assert told == module.SUFFIXES or (told[-1] == "…" and set(told[:-1]) <= set(module.SUFFIXES)), name


def test_no_file_of_a_loader_is_left_out_by_its_suffix() -> None:
    for name in plugins.names(loaders):
        module = plugins.load(loaders, name)
        assert not set(module.SUFFIXES) & set(BINARY)
        assert not getattr(module, "RECORDS", False) or set(module.SUFFIXES) <= set(STREAMED)


def test_the_filter_that_it_shows_is_one() -> None:
    (shown,) = re.findall(r'--where "([^"]+)"', TEXT)
    assert filter_parser.parse(shown)
