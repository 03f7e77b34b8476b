"""docs/formats.md names every loader with its suffixes, and its filter is one."""

from __future__ import annotations

import re
import shlex
import tarfile
from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch.documents import loaders
from semsearch.documents.suffixes import BY_LOADER, STREAMED
from semsearch.documents.walk import BINARY
from semsearch.search import filter_parser
from semsearch.utils import plugins

STORES = Path(__file__).resolve().parents[1] / "fixtures" / "databases"
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", TEXT, flags=re.MULTILINE))


def test_every_loader_stands_in_the_table_with_all_its_suffixes() -> None:
    assert set(ROWS) == set(plugins.names(loaders))
    for name, suffixes in BY_LOADER.items():
        told = tuple(ROWS[name].split())
        assert told == suffixes or (told[-1] == "…" and set(told[:-1]) <= set(suffixes)), name


def test_no_file_of_a_loader_is_left_out_by_its_suffix() -> None:
    for name, suffixes in BY_LOADER.items():
        if name in (
            "parquet",
            "compressed",
        ):  # tables of numbers are read where --from asks for it, texts by their names
            continue
        assert not set(suffixes) & set(BINARY)
        assert loaders.has_records(name) == (set(suffixes) <= set(STREAMED))


def test_the_filter_that_it_shows_is_one() -> None:
    (shown,) = re.findall(r'--where "([^"]+)"', TEXT)
    assert filter_parser.parse(shown)


def test_its_commands_run_on_stores_of_other_programs(cli: CommandLine) -> None:
    """All but that for LanceDB, whose package the suite does without; the encoder is that of the tests."""
    pytest.importorskip("pyarrow")
    for name, folder in {"chroma.tar.gz": ".", "txtai.tar.gz": "saved_index"}.items():
        with tarfile.open(STORES / name) as archive:
            archive.extractall(folder, filter="data")
    Path("chroma").rename("chroma_db")
    commands = [
        shlex.split(line, comments=True)[1:] for line in re.findall(r"^semsearch .*$", TEXT, flags=re.MULTILINE)
    ]
    commands = [each for each in commands if "lancedb" not in each]
    commands.insert(3, ["dump", "notes", "--vectors", "notes.npy"])
    for command in commands:
        cli.ok(*["hashing" if word == "default" else word for word in command])
    assert len(commands) == 6 and {"notes", "copy", "own"} <= set(cli.ok("list").out.split())
