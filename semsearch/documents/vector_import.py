"""Texts with their vectors: Parquet, in a file or several, or a .npy array and JSON lines: line n is the text of row n.

A file is read twice, in batches: first everything is checked, then it is stored, so that a file with a fault changes
nothing. Where the index has an encoder, a sample of the texts is encoded again, and has to give these vectors.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from semsearch.documents.parsing.records import Fields, to_document
from semsearch.documents.vector_files import arrow
from semsearch.errors import ForeignVectors, NotFound, UsageError
from semsearch.types import Document, EncoderProtocol, JsonObject, Passage, Progress, Skipped
from semsearch.utils.passage_context import embedded
from semsearch.utils.vectors import own_rows

if TYPE_CHECKING:
    import pyarrow

    from semsearch.types import Vectors

COLUMNS = ("vector", "embedding", "vectors", "embeddings")
BATCH = 1000  # rows in memory
SAMPLE = 32  # texts that are encoded again
SAME = 0.99  # cosine of a vector with that of its text encoded again; int8 on another processor reaches 0.995


class Rows(Protocol):
    """A file of n records, each with a vector of width `dim`."""

    @property
    def n(self) -> int: ...

    @property
    def dim(self) -> int: ...

    def batches(self) -> Iterator[tuple[list[JsonObject], Vectors]]:
        """At most BATCH records at a time, and their vectors as they are in the file. Raises UsageError."""


def opened(file: Path, texts: Path | None) -> Rows:
    """The rows of a file, or of all Parquet files of a folder.

    Raises NotFound, UsageError for one that cannot be read, MissingExtra without pyarrow.
    """
    for path in (file, texts):
        if path is not None and not (path.is_file() or (path is file and path.is_dir())):
            raise NotFound(f"there is no file {str(path)!r}.", "Check the path; nothing was changed.")
    if file.is_dir():
        if texts is not None:
            raise UsageError(f"{file} is a folder of Parquet files; {texts.name} is too much.", "Leave it out.")
        return _folder(file)
    if file.suffix == ".parquet":
        if texts is not None:
            raise UsageError(
                f"{file.name} has its texts in itself; {texts.name} is one file too many.", "Leave it out."
            )
        return _parquet(file)
    if file.suffix != ".npy":
        raise UsageError(f"{file} is neither .npy nor .parquet.", "Choose a file of one of these kinds.")
    if texts is None:
        raise UsageError(
            f"{file.name} has vectors alone.", "Name the JSON lines of their texts too: line n is the text of row n."
        )
    return _npy(file, texts)


@dataclass(frozen=True, slots=True)
class _Parquet:
    """One file, or several with vectors of one width: the column of the vectors in each."""

    columns: dict[Path, str]
    n: int
    dim: int

    def batches(self) -> Iterator[tuple[list[JsonObject], Vectors]]:
        for file, column in self.columns.items():
            first = 0
            for batch in arrow(file.name, parquet=True).ParquetFile(file).iter_batches(BATCH):
                vectors = _numbers(batch.column(column), self.dim, file.name, first)
                yield batch.drop_columns([column]).to_pylist(), vectors
                first += len(batch)


def _parquet(file: Path) -> _Parquet:
    pa, pq = arrow(file.name), arrow(file.name, parquet=True)
    try:
        reader = pq.ParquetFile(file)
        schema, n = reader.schema_arrow, reader.metadata.num_rows
        lists = [field.name for field in schema if _is_vector(pa, field.type)]
        column = next((name for name in COLUMNS if name in lists), lists[0] if len(lists) == 1 else "")
        if not column:
            raise UsageError(
                f"{file.name} has no column of vectors called {', '.join(COLUMNS)}.",
                f"Its columns are: {', '.join(schema.names)}.",
            )
        first = next(reader.iter_batches(1, columns=[column]), None)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{file.name} is no readable Parquet file: {error}", "Write it again.") from error
    kind = schema.field(column).type
    if pa.types.is_fixed_size_list(kind):
        return _Parquet({file: column}, n, kind.list_size)
    width = len(first.column(0)[0]) if first is not None and first.column(0)[0].is_valid else 0
    return _Parquet({file: column}, n, width)


def _folder(folder: Path) -> _Parquet:
    files = [_parquet(path) for path in sorted(folder.glob("*.parquet"))]
    if not files:
        raise UsageError(f"{folder} has no Parquet file.", "Name a file, or a folder of Parquet files.")
    filled = [file for file in files if file.n] or files[:1]
    if other := next((file for file in filled if file.dim != filled[0].dim), None):
        one, two = (next(iter(each.columns)).name for each in (filled[0], other))
        raise UsageError(
            f"{one} has vectors of width {filled[0].dim}, and {two} of {other.dim}.",
            "They are of two encoders: keep them in two folders.",
        )
    columns = {file: column for each in filled for file, column in each.columns.items()}
    return _Parquet(columns, sum(file.n for file in filled), filled[0].dim)


def _is_vector(pa: object, kind: pyarrow.DataType) -> bool:
    types = pa.types  # type: ignore[attr-defined]
    lists = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    return bool(lists and types.is_floating(kind.value_type))


def _numbers(column: pyarrow.ListArray, dim: int, file: str, first: int) -> Vectors:
    """The vectors (n, dim) of a column. Raises UsageError for one that is missing or of another width."""
    flat = column.flatten()
    if column.null_count or flat.null_count or len(flat) != len(column) * dim:
        for at, each in enumerate(column, start=first + 1):
            if not each.is_valid or len(each) != dim or any(number is None for number in each.as_py()):
                width = f"has the width {len(each)}, not {dim}" if each.is_valid and len(each) != dim else "is missing"
                raise UsageError(f"{file}: the vector of row {at} {width}.", "Leave out or repair the row.")
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), dim)


@dataclass(frozen=True, slots=True)
class _Npy:
    file: Path
    texts: Path
    n: int
    dim: int

    def batches(self) -> Iterator[tuple[list[JsonObject], Vectors]]:
        rows = np.load(self.file, mmap_mode="r", allow_pickle=False)
        lines, first = _records(self.texts), 0
        while records := [record for record, _ in zip(lines, range(BATCH), strict=False)]:
            if first + len(records) > self.n:
                records += list(lines)
                raise self._unequal(first + len(records))
            yield records, np.array(rows[first : first + len(records)])
            first += len(records)
        if first < self.n:
            raise self._unequal(first)

    def _unequal(self, lines: int) -> UsageError:
        return UsageError(
            f"{self.file.name} has {self.n:,} vectors, and {self.texts.name} {lines:,} texts.",
            "Line n has to be the text of row n.",
        )


def _npy(file: Path, texts: Path) -> _Npy:
    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise UsageError(
            f"{file.name} is no readable .npy file: {error}.", "Write it again with numpy.save."
        ) from error
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind != "f":
        content = f"{rows.dtype} of shape {rows.shape}" if isinstance(rows, np.ndarray) else "an archive"
        raise UsageError(f"{file.name} has {content}.", "It has to have numbers of shape (texts, width).")
    return _Npy(file, texts, *rows.shape)


def _records(texts: Path) -> Iterator[JsonObject]:
    with texts.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line, parse_constant=lambda _: None)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{texts.name}:{number}: not JSON: {error}.", "Repair the line.") from error
            if not isinstance(record, dict):
                raise UsageError(f"{texts.name}:{number}: not a JSON object.", 'Write {"text": "…"}.')
            yield record


@dataclass(frozen=True, slots=True)
class VectorFile:
    """A file of texts and vectors that was checked, and how its records become documents."""

    name: str
    rows: Rows
    fields: Fields

    def documents(self, tell: Callable[[Progress], None]) -> Iterator[tuple[Document, Vectors]]:
        """Each document with its unit vector (1, d). Raises UsageError for a fault of the file."""
        done = 0
        for records, vectors in self.rows.batches():
            tell(Progress(done, self.rows.n, "documents"))
            batch = [self._document(record, done + at) for at, record in enumerate(records, start=1)]
            try:
                units = own_rows(vectors, len(batch), self.rows.dim)
            except UsageError as error:
                raise UsageError(f"{self.name}, rows from {done + 1}: {error.message}", "Repair the row.") from None
            yield from zip(batch, units[:, None], strict=True)
            done += len(batch)

    def _document(self, record: JsonObject, number: int) -> Document:
        flat = _flat(record)
        title = flat.pop("title", None)
        document = to_document(flat, self.fields, number, self.name)
        if isinstance(document, Skipped) or not document.text.strip():
            reason = document.reason if isinstance(document, Skipped) else "its text is empty"
            raise UsageError(f"{self.name}: row {number}: {reason}.", "Name the field of the text, or repair the row.")
        name = f"{self.name}#{number}" if document.id == f"#{number}" else document.id
        return replace(document, id=name, title=title if isinstance(title, str) else None)


def checked(name: str, rows: Rows, fields: Fields, dim: int, encoder: EncoderProtocol | None) -> VectorFile:
    """The file, once every row of it has been read. Raises UsageError, ForeignVectors."""
    if rows.dim != dim and rows.n:
        raise UsageError(
            f"{name} has vectors of width {rows.dim}, and the index of width {dim}.", "Choose another index or encoder."
        )
    file = VectorFile(name, rows, replace(fields, id=fields.id or _id_field(rows)))
    ids: Counter[str] = Counter()
    sample: list[tuple[Document, Vectors]] = []
    step = max(1, rows.n // SAMPLE)
    for at, (document, vector) in enumerate(file.documents(lambda _: None)):
        ids[document.id] += 1
        if ids[document.id] > 1:
            raise UsageError(
                f"{name}: row {at + 1} has the id {document.id!r} of a row before.", "Choose another field as the id."
            )
        if at % step == 0 and len(sample) < SAMPLE:
            sample.append((document, vector))
    if encoder is not None and sample:
        _compare(name, sample, encoder)
    return file


def _id_field(rows: Rows) -> str | None:
    """ "document" where every row names another one, as in a file that `dump --vectors` wrote of short texts."""
    seen: set[object] = set()
    for records, _ in rows.batches():
        for record in records:
            name = record.get("document")
            if not isinstance(name, str) or name in seen:
                return None
            seen.add(name)
    return "document" if seen else None


def _flat(record: JsonObject) -> JsonObject:
    """The record with the keys of its field `metadata`, an object or the JSON of one, as fields."""
    metadata = record.get("metadata")
    if isinstance(metadata, str):
        try:
            metadata = json.loads(metadata)
        except (ValueError, RecursionError):
            return dict(record)
    if not isinstance(metadata, dict):
        return dict(record)
    return {**metadata, **{name: value for name, value in record.items() if name != "metadata"}}


def _compare(name: str, sample: list[tuple[Document, Vectors]], encoder: EncoderProtocol) -> None:
    """Raise ForeignVectors unless the sampled texts, alone or with title and heading, have these vectors."""
    stored = np.concatenate([vector for _, vector in sample])
    alone = encoder.encode([document.text for document, _ in sample], role="passage")
    whole = encoder.encode([_with_context(document) for document, _ in sample], role="passage")
    cosines = np.maximum(*(np.einsum("nd,nd->n", stored, each) for each in (alone, whole)))
    worst = int(cosines.argmin())
    if cosines[worst] < SAME:
        raise ForeignVectors(name, encoder.name, sample[worst][0].id, float(cosines[worst]), SAME)


def _with_context(document: Document) -> str:
    heading = document.metadata.get("heading")
    text = document.text
    return embedded(document, Passage(0, len(text), text, heading=heading if isinstance(heading, str) else None))
