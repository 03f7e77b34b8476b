"""Parquet: one row is one document. Read only where `--from parquet` or --include asks for it.

Most Parquet files are tables of numbers, so a folder's are left out like other data. Columns of bytes and of vectors
(lists of numbers) are not read. A file consists of groups of rows, which can be read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.records import (
    WHOLE,
    Fields,
    Place,
    Span,
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
    return load_span(path, fields, WHOLE)


def load_span(path: Path, fields: Fields, span: Span) -> Iterator[Document | Skipped]:
    """As `load`, of the groups of rows that begin within `span`."""
    pa, pq = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    with open_regular(path) as file:
        try:
            table = pq.ParquetFile(file)
            columns = [column.name for column in table.schema_arrow if _is_read(pa, column.type)]
            check_columns(columns, fields, path.name)
            if not text_fields_of(columns, fields):
                raise Unreadable(no_text_field(columns, fields))
            number, begins = span.start.number, _begins(table.metadata)
            groups = [at for at, byte in enumerate(begins) if byte >= span.start.at and byte < (span.end or byte + 1)]
            for batch in table.iter_batches(BATCH, row_groups=groups, columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield to_document(row, fields, number, path.name)
        except (pa.ArrowException, OSError) as error:
            raise Unreadable(f"not a readable Parquet file: {error}") from error


def places(file: BinaryIO) -> list[Place]:
    """Where one group of rows ends and another begins, by the description of the file. Raises Unreadable."""
    pa, pq = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    try:
        described = pq.ParquetFile(file).metadata
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(f"not a readable Parquet file: {error}") from error
    rows, begins = 0, []
    for group, byte in enumerate(_begins(described)):
        begins.append(Place(byte, rows))
        rows += described.row_group(group).num_rows
    return begins[1:]


def _begins(described: Any) -> list[int]:
    """The first byte of each group of rows."""
    groups = [described.row_group(at) for at in range(described.num_row_groups)]
    return [
        min(one.dictionary_page_offset or one.data_page_offset for one in map(group.column, range(group.num_columns)))
        if group.num_columns
        else 0
        for group in groups
    ]


def _is_read(pa: Any, kind: Any) -> bool:
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type))
    return not (types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _arrow(module: str) -> Any:
    return imported(module, "Parquet needs pyarrow", "arrow")
