"""Rows of the Parquet files by the ids of passages. A row group is what is read at once: some 170 passages."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from semsearch.documents.vector_files import arrow
from semsearch.errors import Corrupt, SemsearchError
from semsearch.stores.records import StoredPassage
from semsearch.stores.shards.location import build_command
from semsearch.stores.shards.manifest import AGAIN, Shard
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    import pyarrow

    from semsearch.types import Ids, JsonObject, Vectors

T = TypeVar("T")
VECTOR = "vector"
PASSAGE = ("document", "start", "end", "text", "page", "line", "heading", "metadata", "title")
AT_ONCE = 1_000  # rows
MOST_FILES = 64  # open at a time
MOST_GROUPS = 256  # in memory, without vectors: some 50 MB


class ShardRows:
    """The rows of `shards`, ascending by their ids, in the folder `location`. Threads may share it."""

    def __init__(self, location: Path, shards: Sequence[Shard]) -> None:
        self._location, self._shards = location, [shard for shard in shards if shard.rows]
        self._bases = np.array([shard.base for shard in self._shards], np.int64)
        self._ends = self._bases + np.array([shard.rows for shard in self._shards], np.int64)
        self._files: OrderedDict[int, tuple[Any, Ids]] = OrderedDict()
        self._groups: OrderedDict[tuple[int, int], list[JsonObject]] = OrderedDict()
        self._turn = threading.RLock()
        self._closed = False

    def close(self) -> None:
        """Close the files. Every later call raises SemsearchError."""
        with self._turn:
            for reader, _ in self._files.values():
                reader.close()
            self._files.clear()
            self._groups.clear()
            self._closed = True

    def passages(self, ids: Sequence[int]) -> list[StoredPassage]:
        """These passages in their order; ids that no row has are left out. Raises Corrupt."""
        with self._turn:
            return [self._passage(number, *place) for number in ids if (place := self._place(number)) is not None]

    def vectors(self, ids: Ids, chunk: int) -> Iterator[tuple[Ids, Vectors]]:
        """(ids (m,), unit vectors (m, d)) in pieces of at most `chunk`; ids ascending. Raises Corrupt."""
        for at in range(0, len(ids), chunk):
            some = ids[at : at + chunk]
            shards = np.searchsorted(self._bases, some, side="left") - 1
            there = (shards >= 0) & (some <= self._ends[shards]) if len(self._ends) else np.zeros(len(some), bool)
            pieces = [self._vectors(int(shard), some[there & (shards == shard)]) for shard in np.unique(shards[there])]
            if pieces:
                yield some[there], np.concatenate(pieces)

    def _vectors(self, shard: int, ids: Ids) -> Vectors:
        rows = ids - self._bases[shard] - 1
        with self._turn:
            reader, starts = self._reader(shard)
            groups = np.searchsorted(starts, rows, side="right") - 1
            wanted = np.unique(groups).tolist()
            read = [self._read(shard, partial(group_vectors, reader, one)) for one in wanted]
        parts = [rows_of[rows[groups == group] - starts[group]] for group, rows_of in zip(wanted, read, strict=True)]
        return np.concatenate(parts)

    def _place(self, number: int) -> tuple[int, int] | None:
        """The shard of a passage and its row there."""
        shard = int(np.searchsorted(self._bases, number, side="left")) - 1
        if shard < 0 or number > self._ends[shard]:
            return None
        return shard, number - int(self._bases[shard]) - 1

    def _passage(self, number: int, shard: int, row: int) -> StoredPassage:
        _, starts = self._reader(shard)
        group = int(np.searchsorted(starts, row, side="right")) - 1
        one = self._group(shard, group)[row - int(starts[group])]
        try:
            return StoredPassage(number, **{**one, "metadata": json.loads(one["metadata"])}, root=None, path=None)
        except (ValueError, TypeError) as error:
            raise self._damaged(shard, error) from error

    def _group(self, shard: int, group: int) -> list[JsonObject]:
        found = self._groups.pop((shard, group), None)
        if found is None:
            reader, _ = self._reader(shard)
            found = self._read(shard, lambda: reader.read_row_group(group, list(PASSAGE)).to_pylist())
        self._groups[shard, group] = found
        while len(self._groups) > MOST_GROUPS:
            self._groups.popitem(last=False)
        return found

    def _reader(self, shard: int) -> tuple[Any, Ids]:
        """The open file of a shard, and the first row of each of its row groups."""
        if self._closed:
            raise SemsearchError(f"index {self._location.name} is closed.", "Open it again.")
        if shard in self._files:
            self._files.move_to_end(shard)
            return self._files[shard]
        path = self._location / self._shards[shard].file
        reader = self._read(shard, lambda: opened(path))
        self._files[shard] = reader, starts_of(reader)
        while len(self._files) > MOST_FILES:
            _, (oldest, _) = self._files.popitem(last=False)
            oldest.close()
        if reader.metadata.num_rows != self._shards[shard].rows:
            raise self._damaged(shard, ValueError(f"it has {reader.metadata.num_rows} rows"))
        return self._files[shard]

    def _read(self, shard: int, call: Callable[[], T]) -> T:
        try:
            return call()
        except FileNotFoundError as error:
            gone = f"{self._location / self._shards[shard].file} is gone, as the shards have changed."
            raise SemsearchError(gone, build_command(self._location)) from error
        except (arrow("a shard").ArrowException, OSError) as error:
            raise self._damaged(shard, error) from error

    def _damaged(self, shard: int, error: Exception) -> Corrupt:
        return Corrupt(f"{self._location / self._shards[shard].file} is damaged ({error}).", AGAIN)


def opened(path: Path) -> Any:
    """A Parquet file, mapped into memory. Raises OSError, ArrowException."""
    return arrow("a shard", parquet=True).ParquetFile(path, memory_map=True)


def group_vectors(reader: Any, group: int) -> Vectors:
    """The unit vectors (n, d) of a row group."""
    return matrix(reader.read_row_group(group, [VECTOR]).column(0).combine_chunks())


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """A Parquet file, open inside. Raises Corrupt for what is wrong with it."""
    try:
        with opened(path) as reader:
            yield reader
    except (arrow("a shard").ArrowException, OSError) as error:
        raise Corrupt(f"{path} is damaged ({error}).", AGAIN) from error


def starts_of(reader: Any) -> Ids:
    """(groups,) the first row of each row group."""
    sizes = [reader.metadata.row_group(group).num_rows for group in range(reader.metadata.num_row_groups)]
    return np.cumsum([0, *sizes[:-1]]).astype(np.int64)


def matrix(column: pyarrow.FixedSizeListArray) -> Vectors:
    """The unit vectors (n, d) of a column."""
    width = column.type.list_size
    return unit_rows(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width))
