"""The texts in the stores of other programs: Chroma, txtai and LanceDB, with their ids and metadata.

Chroma and txtai keep them in SQLite, which is read as every database is: in another process, and only read. LanceDB's
own package reads its tables. Vectors, and whatever is pickled, are left alone.
"""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields, Limits
from semsearch.documents.parsing.records import check_columns, to_document
from semsearch.documents.vector_database_files import DATABASES, KINDS, database, is_archive
from semsearch.errors import NotFound, SemsearchError, UnknownName, Unreadable, UsageError, pip
from semsearch.types import Document, Skipped
from semsearch.utils.atomic_write import scratch_folder

if TYPE_CHECKING:
    import pyarrow

BATCH = 1000  # rows of a LanceDB table that are in memory


def documents(kind: str, path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """The texts of one store. Raises UnknownName, NotFound, UsageError, and Unreadable for what is damaged."""
    if kind not in KINDS:
        raise UnknownName("store of another program", kind, KINDS)
    if not path.exists():
        raise NotFound(f"there is no file or folder {str(path)!r}.", "Check the path; nothing was changed.")
    if kind == "lancedb":
        yield from _lancedb(path, fields)
        return
    with _unpacked(path) as place:
        yield from loaders.load(database(kind, place), "sqlite", replace(fields, sql=kind))


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """`path`, or the file "documents" of an archive of txtai. Raises Unreadable for an archive without one."""
    if not is_archive(path):
        yield path
        return
    most = Limits.current().of_file(path, records=True)
    with scratch_folder() as folder:
        place = folder / DATABASES["txtai"]
        try:
            with _member(path) as packed, place.open("wb") as file:
                shutil.copyfileobj(_Bounded(packed, most), file)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
            raise Unreadable(f"{path.name} is damaged: {error}") from error
        yield place


@contextmanager
def _member(path: Path) -> Iterator[IO[bytes]]:
    """The file "documents" in an archive, open."""
    name = DATABASES["txtai"]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if name not in archive.namelist():
                raise Unreadable(f"{path.name} has no file {name!r}: it is no archive of txtai with content")
            with archive.open(name) as packed:
                yield packed
        return
    with tarfile.open(path) as archive:
        member = next((each for each in archive if each.isfile() and each.name.removeprefix("./") == name), None)
        content = archive.extractfile(member) if member else None
        if content is None:
            raise Unreadable(f"{path.name} has no file {name!r}: it is no archive of txtai with content")
        yield content


class _Bounded:
    """A stream of at most so many bytes: an archive may unpack to any size."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._left = stream, most

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise Unreadable("it unpacks to far more than its own size: raise read_output_mb to read it")
        return piece


def _lancedb(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """The rows of a table, in batches; columns of vectors and bytes are not read."""
    table = _table(path)
    schema = table.schema
    names = [field.name for field in schema if _is_readable(field.type)]
    check_columns(names, fields, f"table {table.name}")
    number = 0
    for batch in table.search().select(names).to_batches(BATCH):
        for record in batch.to_pylist():
            number += 1
            document = to_document(record, fields, number, table.name)
            if isinstance(document, Document) and document.id == f"#{number}":  # it has no id of its own
                document = replace(document, id=f"{table.name}{document.id}")
            yield document


def _is_readable(kind: pyarrow.DataType) -> bool:
    """Whether a column may be text or metadata: neither vectors nor bytes."""
    words = str(kind)
    return "binary" not in words and not (
        words.startswith(("fixed_size_list", "list<", "large_list")) and "float" in words
    )


def _table(path: Path) -> Any:
    """The table at `FOLDER/NAME.lance`, or the only one of a folder. Raises UsageError, Unreadable."""
    try:
        import lancedb  # 2 s, and a package that no extra installs
    except ImportError as error:
        raise SemsearchError(
            "reading a LanceDB table needs lancedb, which is not installed.", f"Install it: {pip('install')} lancedb"
        ) from error
    if path.suffix != ".lance":
        tables = sorted(each for each in path.glob("*.lance") if each.is_dir())
        if len(tables) != 1:
            listed = ", ".join(each.name for each in tables[:20]) or "none"
            raise UsageError(f"{path} has {len(tables)} tables: {listed}.", f"Name one: {path}/NAME.lance")
        [path] = tables
    try:
        return lancedb.connect(str(path.parent)).open_table(path.stem)
    except (ValueError, OSError, RuntimeError) as error:
        raise Unreadable(f"{path} is no LanceDB table: {str(error)[:200]}") from error
