"""The limits on reading one file, and the error for a file that goes beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from semsearch import settings
from semsearch.errors import Unreadable

MIB = 2**20
OUTPUT_PER_BYTE = 100  # a file of records may give this many times its own size: a query can repeat what is stored once


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` for a document, `memory_mb` for the process that reads it, `output_mb` for its text and metadata.

    A file of records may take longer in all: the time counts from one record to the next.
    """

    seconds: int
    memory_mb: int
    output_mb: int

    @classmethod
    def current(cls) -> Limits:
        """Those of the settings. Raises UsageError for an invalid one."""
        chosen = settings.load()
        return cls(chosen.read_seconds, chosen.read_memory_mb, chosen.read_output_mb)

    def of_file(self, path: Path, *, records: bool) -> int:
        """The most bytes that a file may give in all; with `records` that depends on its size."""
        parts = (path, path.with_name(f"{path.name}-wal")) if records else ()  # what SQLite has not moved into it yet
        return self.output_mb * MIB + OUTPUT_PER_BYTE * sum(part.stat().st_size for part in parts if part.is_file())


class Exceeded(Unreadable):
    """Reading a file went beyond a limit, or crashed. The same file would do so again under the same limits."""


def too_slow(limits: Limits) -> Exceeded:
    """The reason for a file that took too long."""
    return _beyond(f"reading took longer than {limits.seconds} s", "read_seconds")


def too_much_memory(limits: Limits) -> Exceeded:
    """The reason for a file whose reading needed too much memory."""
    return _beyond(f"reading needed more than {limits.memory_mb:,} MB of memory", "read_memory_mb")


def too_long(limits: Limits) -> Exceeded:
    """The reason for a file with too much text."""
    return _beyond(f"its text and metadata are larger than {limits.output_mb:,} MB", "read_output_mb")


def _beyond(what: str, setting: str) -> Exceeded:
    return Exceeded(f"{what}: raise {setting} ({settings.PREFIX}{setting.upper()}) to read it")
