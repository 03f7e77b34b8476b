"""Passages with their vectors as record batches of Apache Arrow, read from the store as they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from semsearch.documents.vector_files import Precision, arrow, vector_column, vector_type
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space, StoredPassage

if TYPE_CHECKING:
    import pyarrow

    from semsearch.types import Vectors

NAMES = ("id", "document", "start", "end", "line", "page", "heading", "title", "text")
NUMBERS = {"start", "end", "line", "page"}


def with_vectors(reader: StoreReader, space: Space, size: int) -> Iterator[tuple[list[StoredPassage], Vectors]]:
    """At most `size` passages at a time, by id, and their vectors; one that is deleted meanwhile is left out."""
    for ids, rows in reader.vectors(space.id, chunk=size):
        there = {one: at for at, one in enumerate(ids.tolist())}
        found = reader.passages(ids)
        yield found, rows[[there[passage.id] for passage in found]]


def fields(ids: pyarrow.DataType) -> list[pyarrow.Field]:
    """The columns of a passage without its vector: NAMES, with ids of this type, and the metadata as JSON."""
    pa = arrow("to_arrow()")
    types = {"id": ids, **dict.fromkeys(NUMBERS, pa.int64())}
    return [pa.field(name, types.get(name, pa.string())) for name in (*NAMES, "metadata")]


def batches(
    reader: StoreReader, space: Space, size: int, precision: Precision = "float32"
) -> pyarrow.RecordBatchReader:
    """A stream of batches of at most `size` passages."""
    pa = arrow("to_arrow()")
    *own, metadata = fields(pa.int64())
    schema = pa.schema([*own, metadata, pa.field("vector", vector_type(space.dim, precision))])

    def each() -> Iterator[pyarrow.RecordBatch]:
        for found, rows in with_vectors(reader, space, size):
            vectors = vector_column(rows, precision)
            columns = [pa.array([getattr(one, field.name) for one in found], field.type) for field in own]
            packed = pa.array([json.dumps(dict(one.metadata), ensure_ascii=False) for one in found], metadata.type)
            yield pa.record_batch([*columns, packed, vectors], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, each())
