"""The table of a collection: its columns, its latest version or that of a snapshot, and reading rows of it.

Everything is a row of one table, documents, passages, files, spaces, reports of runs, and records of the whole, so that
one commit of the library is one transaction. A row is known by `key`; what a filter may ask of a document stands beside
each of its passages, so that it is asked before the nearest are searched for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from semsearch.errors import SemsearchError
from semsearch.stores.lance.address import Address
from semsearch.stores.lance.client import Arrow, Dataset, explained, lance, pa
from semsearch.stores.sql.database import pieces

if TYPE_CHECKING:
    from semsearch.stores.remote.links import Link
    from semsearch.types import JsonObject

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]  # what a row does not name is null in it
AT_ONCE = 1_000  # names or ids in one condition
PRIMARY = {"lance-schema:unenforced-primary-key": "true"}  # else two inserts of one key may both stay: lance#6018
_TEXT, _WHOLE = pa.string(), pa.int64()
SCHEMA = pa.schema(
    [
        pa.field("key", _TEXT, nullable=False, metadata=PRIMARY),
        ("kind", _TEXT),  # document, passage, source, space, run or meta
        ("document", _TEXT),
        ("number", _WHOLE),  # of a document, a space or a run
        ("id", _WHOLE),  # of a passage
        ("source", _WHOLE),
        *[(name, _TEXT) for name in ("machine", "root", "path", "loader", "title", "heading")],
        *[(name, _WHOLE) for name in ("mtime", "size", "page", "line", "position", "starts", "ends", "count")],
        ("text", _TEXT),
        ("metadata", _TEXT),
        ("fields", pa.json_()),  # of the metadata: see `filter_sql`
        ("facts", pa.list_(_TEXT)),
        *[(name, _TEXT) for name in ("sha256", "meta_sha256", "marks", "stable_id", "words", "grams", "value")],
        ("lines", pa.bool_()),
        ("furniture", pa.bool_()),
        ("spaces", pa.list_(pa.int32())),  # that a passage has a vector in
    ]
)
FULL_TEXT: dict[str, Any] = {
    "base_tokenizer": "whitespace", "lower_case": False, "stem": False, "remove_stop_words": False,
    "ascii_folding": False, "with_position": True, "max_token_length": None,
}  # fmt: skip


def vector_column(space: int) -> str:
    return f"vector_{int(space)}"


def text(value: str) -> str:
    """A text in the library's SQL."""
    return "'" + value.replace("'", "''") + "'"


def among(column: str, values: Iterable[int | str]) -> str:
    """The condition that a column is one of these."""
    listed = ", ".join(text(one) if isinstance(one, str) else str(int(one)) for one in values)
    return f"{column} IN ({listed})" if listed else "false"


def select(dataset: Dataset, columns: Sequence[str], condition: str, **more: Any) -> list[Row]:
    """The columns of the rows that pass a condition, in any order; vectors are arrays (d,) of half precision."""
    more |= {"disable_scoring_autoprojection": True}  # only the columns that are asked for
    return listed(dataset.scanner(columns=list(columns), filter=condition or None, **more).to_table())


def listed(table: Arrow) -> list[Row]:
    """The rows of a table of Arrow."""
    wide = [field.name for field in table.schema if pa.types.is_fixed_size_list(field.type)]
    rows: list[Row] = table.drop_columns(wide).to_pylist()
    for name in wide:
        column = table[name].combine_chunks()
        dim = table.schema.field(name).type.list_size
        numbers = column.values.to_numpy(zero_copy_only=False).reshape(-1, dim)[column.offset :]
        for at, (row, valid) in enumerate(zip(rows, column.is_valid().to_pylist(), strict=True)):
            row[name] = numbers[at] if valid else None
    return rows


class Table:
    """An open collection. Threads may share it: a snapshot is of one thread, and transactions take turns."""

    def __init__(self, location: Path, link: Link) -> None:
        self.name, self.location, self.link = location.name, location, link
        self.title = f"index {self.name}"
        self.address = Address.of(link.address)
        self.lock = threading.RLock()
        self._drafted: Callable[[], Dataset] | None = None  # the table as the transaction that goes on will leave it
        self._owner = 0  # the thread of that transaction
        self._local = threading.local()
        self._closed = False
        self._latest: Dataset | None = None
        self._remembered: tuple[int, dict[object, Arrow]] = (-1, {})
        self.latest()

    def close(self) -> None:
        self._closed = True

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors of the library as one line about this index."""
        with explained(self.name, self.address.where):
            yield

    def latest(self) -> Dataset:
        """The latest version. Raises SemsearchError once it is closed."""
        if self._closed:
            raise SemsearchError(f"{self.title} is closed.", "Open it again.")
        with self.explained():
            known = self._latest
            if known is None:
                known = lance.dataset(self.address.table(self.link.id), storage_options=dict(self.address.options))
            elif (version := known.latest_version) != known.version:
                known = known.checkout_version(version)
            self._latest = known
        return known

    def handle(self) -> Dataset:
        """The latest version, to be changed: the changed handle is nobody else's."""
        latest = self.latest()
        return latest.checkout_version(latest.version)

    @contextmanager
    def drafting(self, drafted: Callable[[], Dataset]) -> Iterator[None]:
        """This thread reads what it drafts meanwhile."""
        self._drafted, self._owner = drafted, threading.get_ident()
        try:
            yield
        finally:
            self._drafted = None

    @property
    def now(self) -> Dataset:
        """What this thread reads: what it has drafted, its snapshot, or the latest version."""
        drafted = self._drafted
        if drafted is not None and self._owner == threading.get_ident() and not self._closed:
            with self.explained():
                return drafted()
        snapshot: Dataset | None = getattr(self._local, "snapshot", None)
        return self.latest() if snapshot is None or self._closed else snapshot

    @contextmanager
    def snapshot(self) -> Iterator[Dataset]:
        """Everything read inside by this thread is of one version. May be nested."""
        before = getattr(self._local, "snapshot", None)
        if before is None or self._closed:
            self._local.snapshot = self.latest()
        try:
            yield self._local.snapshot
        finally:
            self._local.snapshot = before

    def remembered(self, name: object, made: Callable[[], T]) -> T:
        """What `made` makes of the version that is read, made once for it."""
        version = int(self.now.version)
        if self._remembered[0] != version:
            self._remembered = version, {}
        values = self._remembered[1]
        if name not in values:
            values[name] = made()
        value: T = values[name]
        return value

    # ---- reading

    def rows(self, columns: Sequence[str], condition: str, **more: Any) -> list[Row]:
        """See `select`."""
        now = self.now
        with self.explained():
            return select(now, columns, condition, **more)

    def rows_among(
        self, columns: Sequence[str], column: str, values: Sequence[int | str], condition: str = "true"
    ) -> Iterator[Row]:
        """The rows where a column is one of these values."""
        for piece in pieces(values, AT_ONCE):
            yield from self.rows(columns, f"{among(column, piece)} AND {condition}")

    def count(self, condition: str) -> int:
        """How many rows pass a condition."""
        now = self.now
        with self.explained():
            return int(now.count_rows(condition))

    def column(self, name: str, condition: str) -> Arrow:
        """One column of numbers of the rows that pass a condition, as an array."""
        now = self.now
        with self.explained():
            return now.to_table(columns=[name], filter=condition)[name].to_numpy()

    def records(self, kind: str) -> JsonObject:
        """Key -> value of the rows of a kind."""
        rows = self.rows(["key", "value"], f"kind = {text(kind)}")
        return {row["key"]: json.loads(row["value"]) for row in rows}
