"""Damaged files of every loader are read, or skipped with a reason: no crash, no hang, bounded memory.

The variants are those of `mutations`, of the files of `corpus`; a new loader is found and tested. A binary or nested
format is read in another process, as always.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import corpus
import pytest
from mutations import variant
from programme import record, trials

from semsearch import Index, SyncOptions
from semsearch.documents import loaders
from semsearch.documents.loaders import Exceeded, Fields
from semsearch.documents.suffixes import BY_LOADER
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, Skipped
from semsearch.utils import plugins

NAMES = plugins.names(loaders)
FIELDS = Fields(sql="SELECT * FROM notes")
LIMITS = {"SEMSEARCH_READ_SECONDS": "10", "SEMSEARCH_READ_MEMORY_MB": "300", "SEMSEARCH_READ_OUTPUT_MB": "10"}
MOST_GROWTH = 300 * 2**20  # bytes of this process, for files of at most 1 MB
HANGS_AFTER = 120.0  # seconds: far above the limit of a reading process, which ends a file before


class Hang(BaseException):
    """One file takes too long. No loader catches it."""


@contextmanager
def no_hang() -> Iterator[None]:
    """Raise Hang where the block does not end; on Windows nothing watches."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def raise_it(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, raise_it)
    signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak_memory() -> int:
    """The most memory of this process since the last call, in bytes; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    status = Path("/proc/self/status").read_text()
    Path("/proc/self/clear_refs").write_text("5")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


def outcome(path: Path, name: str) -> str:
    """What became of one file."""
    try:
        found = list(loaders.load(path, name, FIELDS))
    except Exceeded as error:
        assert error.message
        return "reader_ended" if "crashed" in error.message else "beyond_a_limit"
    except Unreadable as error:
        assert 0 < len(error.message) <= 400
        assert "loader failed" not in error.message, "an error of the parser that the loader does not know"
        return "refused"
    except UsageError as error:  # a database without the table that the query names
        assert name == "sqlite" and "query" in str(error)
        return "refused"
    for item in found:
        assert isinstance(item, Document | Skipped)
        assert item.reason if isinstance(item, Skipped) else is_storable(item)
    return "read_in_part" if any(isinstance(item, Skipped) for item in found) else "read"


def is_storable(document: Document) -> bool:
    """Whether text and marks are such that a store takes them."""
    document.text.encode("utf-8")
    in_order = all(one.start <= other.start for one, other in pairwise(document.marks))
    return "\0" not in document.text and in_order and all(0 <= m.start <= len(document.text) for m in document.marks)


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LIMITS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_is_read_or_skipped_with_a_reason(name: str, tmp_path: Path) -> None:
    (made := tmp_path / "valid").mkdir()
    valid = [path.read_bytes() for path in corpus.corpus(name, made)]
    assert {outcome(path, name) for path in made.iterdir()} <= {"read", "read_in_part"}
    (folder := tmp_path / "files").mkdir()
    became: Counter[str] = Counter()
    peak_memory()
    before = peak_memory()
    for seed in range(trials(30, -(-10_000 // len(NAMES)))):
        path = folder / f"{seed}{BY_LOADER[name][0]}"
        path.write_bytes(variant(name, valid, seed))
        with no_hang():
            became[outcome(path, name)] += 1
        assert peak_memory() < before + MOST_GROWTH, path
    assert len(set(became)) > 1, "the variants are too much alike"
    record("mutated files", became.total(), **became)
    every_file_is_accounted_for(folder, tmp_path / "index", records=loaders.has_records(name))


def every_file_is_accounted_for(folder: Path, index: Path, *, records: bool) -> None:
    """Index the files as the product does: each is there or skipped with a reason, and the index is in order."""
    with Index.create(index, encoder="hashing") as made:
        report = made.sync([folder], SyncOptions(fields=FIELDS))
        there = {each["id"].partition("#")[0] for each in made.documents()} | {each.path for each in report.skipped}
        assert all(skipped.reason for skipped in report.skipped)
        assert records or {path.name for path in folder.iterdir()} <= there
        assert made.analysis.verify() == []
