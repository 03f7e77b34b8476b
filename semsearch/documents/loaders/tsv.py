"""Tab-separated values with a header row: one row is one document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from semsearch.documents.loaders._fields import Fields
from semsearch.documents.loaders.csv import load_table
from semsearch.types import Document, Skipped

SUFFIXES = (".tsv", ".tab")
RECORDS = True


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    return load_table(path, fields, delimiter="\t")
