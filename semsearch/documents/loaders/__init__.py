"""Readers of documents, one file type each; a new one is a new file in this folder.

A loader is a module with `SUFFIXES: tuple[str, ...]` and `load(path, fields) -> Iterator[Document | Skipped]`.
One that gives many documents a file says `RECORDS = True`. `Document.id` is relative to the file: "" for its
one document, the id of a record that has one, "#12" for a record without (its line or row).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

from semsearch.documents.loaders._fields import Fields as Fields
from semsearch.documents.loaders._sniff import kind_of_bytes, records_on_stdin
from semsearch.errors import SemsearchError, Unreadable
from semsearch.types import Document, Skipped
from semsearch.utils import plugins

_HERE = sys.modules[__name__]
_DEFAULT = Fields()


def loader_for(path: Path, kind: str = "auto") -> str:
    """The name of the loader for `path`: by suffix, else by the first bytes.

    `kind` is "auto", "files" (as auto, but record files are plain text) or the name of a loader. Of several
    suffixes the last known one counts: `page.html.en.utf8` is HTML. Raises Unreadable for a binary file of
    no known type, UnknownName for a kind that does not exist.
    """
    if kind not in ("auto", "files"):
        plugins.load(_HERE, kind)
        return kind
    known = _by_suffix()
    name = next((known[s] for s in reversed(_suffixes(path)) if s in known), None) or kind_of_bytes(path)
    return "text" if kind == "files" and _gives_records(name) else name


def load(path: Path, kind: str = "auto", fields: Fields = _DEFAULT) -> Iterator[Document | Skipped]:
    """The documents of one file, and the records of it that cannot be read.

    Raises Unreadable if the whole file cannot be read, UsageError if `fields` names what it does not have.
    """
    name = loader_for(path, kind)
    try:
        yield from plugins.load(_HERE, name).load(path, fields)
    except SemsearchError:
        raise
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    except Exception as error:  # parsers of third parties raise anything; one bad file must not end the run
        raise Unreadable(f"the {name} reader failed: {type(error).__name__}: {error}"[:300]) from error


def load_stream(stream: BinaryIO, kind: str = "auto", fields: Fields = _DEFAULT) -> Iterator[Document | Skipped]:
    """The documents of standard input, called "-" in reasons. JSON lines are known by their first line."""
    with tempfile.TemporaryDirectory(prefix="semsearch-") as folder:
        path = Path(folder, "-")
        with path.open("wb") as spool:
            shutil.copyfileobj(stream, spool)
        if kind == "auto" and records_on_stdin(path):
            kind = "jsonl"
        yield from load(path, kind, fields)


def _suffixes(path: Path) -> list[str]:
    return [s.lower() for s in path.suffixes]


@cache
def _by_suffix() -> dict[str, str]:
    return {suffix: name for name in plugins.names(_HERE) for suffix in plugins.load(_HERE, name).SUFFIXES}


@cache
def _gives_records(name: str) -> bool:
    return bool(getattr(plugins.load(_HERE, name), "RECORDS", False))
