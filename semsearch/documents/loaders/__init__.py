"""Loaders, one file type each; a new one is a new file in this folder, and needs nothing else.

A loader is a module with the members of `Loader`. One whose files consist of records (JSON lines, tables) also has
`RECORDS = True`. One with `ISOLATED = True` runs in another process, with limits of time, memory and output.
`Document.id` is relative to the file: "" for its only document, the id of a record that has one, and "#12", its line or
row, for a record without.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import BinaryIO, Protocol

from semsearch.documents.isolation import pool
from semsearch.documents.isolation.limits import Exceeded as Exceeded
from semsearch.documents.isolation.limits import Limits as Limits
from semsearch.documents.parsing.file_type import kind_of_bytes, records_on_stdin
from semsearch.documents.parsing.records import Fields as Fields
from semsearch.errors import SemsearchError, Unreadable
from semsearch.types import Document, Skipped
from semsearch.utils import plugins
from semsearch.utils.reasons import one_line, shortened

_HERE = sys.modules[__name__]
_DEFAULT = Fields()


class Loader(Protocol):
    """A module that reads the files whose names end in one of `SUFFIXES` (lower case, with the dot)."""

    SUFFIXES: tuple[str, ...]
    ISOLATED: bool
    """True for a format that is binary, nested, compressed or computed: a small file may then hang or crash its parser,
    or need any amount of memory. False where time and memory are proportional to the size of the file. Starting the
    other process takes 0.1 s, once. A loader that does not say counts as True.
    """

    def load(self, path: Path, fields: Fields) -> Iterator[Document | Skipped]:
        """The documents of one file, and its records that cannot be read.

        Raises Unreadable where the whole file cannot be read, UsageError where `fields` does not fit it.
        """


def loader_for(path: Path, kind: str = "auto") -> str:
    """The name of the loader for `path`: by its suffix, else by its first bytes.

    `kind` is "auto", "files" (as auto, but a file of records is plain text) or the name of a loader. Of several
    suffixes the last known one counts: `page.html.en.utf8` is HTML. Raises Unreadable for a binary file of no known
    type, UnknownName for an unknown kind.
    """
    if kind not in ("auto", "files"):
        plugins.load(_HERE, kind)  # raises UnknownName
        return kind
    known, suffixes = _by_suffix(), [suffix.lower() for suffix in reversed(path.suffixes)]
    name = next((known[suffix] for suffix in suffixes if suffix in known), None) or kind_of_bytes(path)
    return "text" if kind == "files" and has_records(name) else name


def has_records(name: str) -> bool:
    """Whether the files of the loader called `name` consist of records."""
    return getattr(_loader(name), "RECORDS", False)


def load(
    path: Path, kind: str = "auto", fields: Fields = _DEFAULT, limits: Limits | None = None
) -> Iterator[Document | Skipped]:
    """The documents of one file, and its records that cannot be read.

    `limits`: those of an isolated loader; by default those of the settings. Raises as `Loader.load`, and Exceeded, a
    kind of Unreadable, for a file beyond a limit.
    """
    name = loader_for(path, kind)
    try:
        for item in _items(name, path, fields, limits):
            yield shortened(item) if isinstance(item, Skipped) else item
    except MemoryError as error:
        raise Unreadable("there is not enough memory to read it") from error
    except Unreadable as error:
        error.message = one_line(error.message)
        raise


def _items(name: str, path: Path, fields: Fields, limits: Limits | None) -> Iterator[Document | Skipped]:
    loader = _loader(name)
    if not getattr(loader, "ISOLATED", True):
        return read(name, path, fields)
    limits = limits or Limits.current()
    return pool.read(name, path, fields, limits, limits.of_file(path, records=has_records(name)))


def read(name: str, path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """What the loader called `name` finds, read in this process and without limits. Raises as `Loader.load`.

    MemoryError passes.
    """
    try:
        yield from _loader(name).load(path, fields)
    except (SemsearchError, MemoryError):
        raise
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    except Exception as error:  # third-party parsers raise anything; one bad file must not end the run
        raise Unreadable(f"the {name} loader failed: {type(error).__name__}: {error}"[:300]) from error


def load_stream(stream: BinaryIO, kind: str = "auto", fields: Fields = _DEFAULT) -> Iterator[Document | Skipped]:
    """The documents of standard input, named "-" in reasons. JSON lines are recognised by their first line."""
    with spooled(stream, "-") as path:
        if kind == "auto" and records_on_stdin(path):
            kind = "jsonl"
        yield from load(path, kind, fields)


@contextmanager
def spooled(stream: BinaryIO, name: str) -> Iterator[Path]:
    """A temporary file `name` with the content of `stream`."""
    with tempfile.TemporaryDirectory(prefix="semsearch-") as folder:
        path = Path(folder, name)
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        yield path


@cache
def _loader(name: str) -> Loader:
    found: Loader = plugins.load(_HERE, name)  # 0.1 ms, mostly to list this folder
    return found


@cache
def _by_suffix() -> dict[str, str]:
    return {suffix: name for name in plugins.names(_HERE) for suffix in _loader(name).SUFFIXES}
