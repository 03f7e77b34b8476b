"""The passages of an index with their vectors: as record batches of Apache Arrow, or in a file, Parquet or .npy.

They are read from the store as they are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.documents.vector_files import NpyWriter, Precision, arrow, parquet_writer, vector_column, vector_type
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space, StoredPassage
from semsearch.types import Progress
from semsearch.utils.atomic_write import replacing

if TYPE_CHECKING:
    import pyarrow

    from semsearch.types import Vectors

SIZE = 1000  # passages in memory
NAMES = ("id", "document", "start", "end", "line", "page", "heading", "title", "text")
NUMBERS = {"start", "end", "line", "page"}


def with_vectors(reader: StoreReader, space: Space, size: int) -> Iterator[tuple[list[StoredPassage], Vectors]]:
    """At most `size` passages at a time, by id, and their vectors; one that is deleted meanwhile is left out."""
    for ids, rows in reader.vectors(space.id, chunk=size):
        there = {one: at for at, one in enumerate(ids.tolist())}
        passages = reader.passages(ids)
        yield passages, rows[[there[passage.id] for passage in passages]]


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
        for passages, rows in with_vectors(reader, space, size):
            vectors = vector_column(rows, precision)
            columns = [pa.array([getattr(one, field.name) for one in passages], field.type) for field in own]
            packed = pa.array([json.dumps(dict(one.metadata), ensure_ascii=False) for one in passages], metadata.type)
            yield pa.record_batch([*columns, packed, vectors], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, each())


def export(
    reader: StoreReader, space: Space, file: Path, precision: Precision, progress: Callable[[Progress], None]
) -> list[Path]:
    """Write `file`; the files that were written. After an error or an exception of `progress`, none is."""
    total = reader.state().vectors.get(space.id, 0)

    def tell(done: int) -> None:
        progress(Progress(done, total, "passages"))

    return (
        _parquet(reader, space, file, precision, tell)
        if file.suffix == ".parquet"
        else _npy(reader, space, file, precision, tell)
    )


def _parquet(
    reader: StoreReader, space: Space, file: Path, precision: Precision, tell: Callable[[int], None]
) -> list[Path]:
    stream, done = batches(reader, space, SIZE, precision), 0
    with parquet_writer(file, stream.schema) as writer:
        for batch in stream:
            writer.write_batch(batch)
            done += len(batch)
            tell(done)
    return [file]


def _npy(
    reader: StoreReader, space: Space, file: Path, precision: Precision, tell: Callable[[int], None]
) -> list[Path]:
    texts = file.with_suffix(".jsonl")
    with (
        replacing(file) as new_file,
        replacing(texts) as new_texts,
        new_file.open("wb") as out,
        new_texts.open("w", encoding="utf-8") as lines,
    ):
        writer = NpyWriter(out, space.dim, precision)
        for passages, rows in with_vectors(reader, space, SIZE):
            for passage in passages:
                record = {name: value for name in NAMES if (value := getattr(passage, name)) is not None}
                lines.write(json.dumps({**record, "metadata": dict(passage.metadata)}, ensure_ascii=False) + "\n")
            writer.write(rows)
            tell(writer.rows)
        writer.finish()
    return [file, texts]
