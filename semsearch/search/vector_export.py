"""The passages of an index with their vectors in a file: Parquet, or .npy with JSON lines of the texts beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from semsearch.documents.vector_files import NpyWriter, Precision, parquet_writer
from semsearch.search.arrow_batches import NAMES, batches, with_vectors
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import Progress
from semsearch.utils.atomic_write import replacing

SIZE = 1000  # passages in memory


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
        for found, rows in with_vectors(reader, space, SIZE):
            for passage in found:
                record = {name: value for name in NAMES if (value := getattr(passage, name)) is not None}
                lines.write(json.dumps({**record, "metadata": dict(passage.metadata)}, ensure_ascii=False) + "\n")
            writer.write(rows)
            tell(writer.rows)
        writer.finish()
    return [file, texts]
