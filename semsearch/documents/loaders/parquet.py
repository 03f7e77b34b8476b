"""Parquet: one row is one document. Read only where `--from parquet` or --include asks for it.

Most Parquet files are tables of numbers, so a folder's are left out like other data. Columns of bytes and of vectors
(lists of numbers) are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.records import (
    Fields,
    check_columns,
    imported,
    no_text_field,
    text_fields_of,
    to_document,
)
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

RECORDS = True
ISOLATED = True
BATCH = 256  # rows in memory, beside the pages of their columns


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """A document for each row.

    Raises Unreadable for a damaged file, one without a column of text, and without pyarrow; UsageError for a chosen
    field that is no column.
    """
    pa, pq = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    with open_regular(path) as file:
        try:
            table = pq.ParquetFile(file)
            columns = [column.name for column in table.schema_arrow if _is_read(pa, column.type)]
            check_columns(columns, fields, path.name)
            if not text_fields_of(columns, fields):
                raise Unreadable(no_text_field(columns, fields))
            number = 0
            for batch in table.iter_batches(BATCH, columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield to_document(row, fields, number, path.name)
        except (pa.ArrowException, OSError) as error:
            raise Unreadable(f"not a readable Parquet file: {error}") from error


def _is_read(pa: Any, kind: Any) -> bool:
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type))
    return not (types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _arrow(module: str) -> Any:
    return imported(module, "Parquet needs pyarrow", "arrow")
