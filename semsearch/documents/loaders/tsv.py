"""Tab-separated values with a header row: one row is one document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from semsearch.documents.parsing import table
from semsearch.documents.parsing.records import Fields
from semsearch.types import Document, Skipped

SUFFIXES = (".tsv", ".tab")
RECORDS = True


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    return table.read(path, fields, delimiters="\t")
