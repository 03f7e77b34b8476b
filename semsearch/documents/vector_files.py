"""Files of vectors, written a few rows at a time: NumPy's .npy, and Apache Parquet with texts beside the vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from semsearch.errors import MissingExtra, UsageError
from semsearch.utils.atomic_write import replacing

if TYPE_CHECKING:
    import pyarrow

    from semsearch.types import Vectors

Precision: TypeAlias = Literal["float32", "float16"]
PRECISIONS = ("float32", "float16")
SUFFIXES = (".npy", ".parquet")


def check(file: Path, precision: str) -> None:
    """Raises UsageError for a file or numbers of another type, MissingExtra where Parquet cannot be written."""
    if file.suffix not in SUFFIXES:
        raise UsageError(f"{file} is neither .npy nor .parquet.", "Choose one of these suffixes.")
    if precision not in PRECISIONS:
        raise UsageError(f"vectors cannot be written as {precision!r}.", f"Choose from: {', '.join(PRECISIONS)}.")
    if file.suffix == ".parquet":
        arrow(file.name, parquet=True)


def arrow(what: str, *, parquet: bool = False) -> Any:
    """pyarrow, or pyarrow.parquet. Raises MissingExtra, which says that `what` needs it."""
    try:
        import pyarrow as pa  # 0.2 s, and an extra

        if parquet:
            import pyarrow.parquet as pq

            return pq
    except ImportError as error:
        raise MissingExtra(what, "arrow", "pyarrow") from error
    return pa


def vector_type(dim: int, precision: Precision) -> pyarrow.DataType:
    """The type of a column of vectors: lists of `dim` numbers."""
    pa = arrow("Arrow")
    return pa.list_(pa.float16() if precision == "float16" else pa.float32(), dim)


def vector_column(rows: Vectors, precision: Precision) -> pyarrow.FixedSizeListArray:
    """The vectors (n, d) as a column."""
    import numpy as np  # 0.1 s that the --help of commands does without

    pa = arrow("Arrow")
    numbers = np.ascontiguousarray(rows, precision).ravel()
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers), type=vector_type(rows.shape[1], precision))


class NpyWriter:
    """A .npy array (rows, dim) that grows. Where `rows` was not right at the beginning, the file has to be seekable."""

    def __init__(self, file: IO[bytes], dim: int, precision: Precision, rows: int = 0) -> None:
        self._file, self._dim, self._precision = file, dim, precision
        self._promised, self.rows = rows, 0
        self._write_header(rows)

    def write(self, vectors: Vectors) -> None:
        """Append vectors (n, dim)."""
        self._file.write(vectors.astype(self._precision, copy=False).tobytes())
        self.rows += len(vectors)

    def finish(self) -> None:
        """Correct the number of rows in the header; NumPy leaves room in it for any number."""
        if self.rows != self._promised:
            self._file.seek(0)
            self._write_header(self.rows)

    def _write_header(self, rows: int) -> None:
        import numpy as np  # as above

        described = {"descr": np.dtype(self._precision).str, "fortran_order": False, "shape": (rows, self._dim)}
        np.lib.format.write_array_header_1_0(self._file, described)


def write_parquet(file: Path, batches: Iterable[tuple[Sequence[str], Vectors]], dim: int, precision: Precision) -> None:
    """Texts and their vectors (n, dim) as a file with the columns text and vector. Raises MissingExtra."""
    pa = arrow(file.name)
    schema = pa.schema([pa.field("text", pa.string()), pa.field("vector", vector_type(dim, precision))])
    with parquet_writer(file, schema) as writer:
        for texts, vectors in batches:
            columns = [pa.array(texts, pa.string()), vector_column(vectors, precision)]
            writer.write_batch(pa.record_batch(columns, schema=schema))


@contextmanager
def parquet_writer(file: Path, schema: pyarrow.Schema) -> Iterator[pyarrow.parquet.ParquetWriter]:
    """A Parquet file that takes the place of `file` when it is complete."""
    with replacing(file) as new, arrow(file.name, parquet=True).ParquetWriter(new, schema) as writer:
        yield writer
