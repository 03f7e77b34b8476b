"""What a transaction has changed so far: rows to write, documents and rows to remove, and the steps that led there.

It is committed by one `merge_insert`, which is atomic. Every commit rewrites the row of counters, from which ids are
taken; so of two that began at the same version the library refuses the second, whatever they write, and that one takes
its steps again on the version of the first. Inside a transaction the table is read as it would be: a version of it that
is committed apart ("detached"), which nobody else sees.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from semsearch.stores.lance.client import Arrow, Dataset, is_conflict, lance, table_of
from semsearch.stores.lance.table import AT_ONCE, Row, among, select
from semsearch.stores.sql.database import pieces

if TYPE_CHECKING:
    from semsearch.types import JsonObject

Step: TypeAlias = Callable[["Draft"], object]
COUNTERS = "meta:counters"
NONE_YET = {"document": 0, "passage": 0, "run": 0, "space": 0}  # the highest numbers that were ever used


class Conflict(Exception):
    """Another writer has committed since this draft began."""


class Draft:
    """On the version `base` of the table."""

    def __init__(self, base: Dataset) -> None:
        self.base = base
        self.steps: list[Step] = []
        self.rows: dict[str, Row] = {}  # to write, by key
        self.gone: set[str] = set()  # documents that are removed with their passages, if they are not in `rows`
        self.dropped: set[str] = set()  # keys of other rows that are removed
        self.aliases: dict[int, int] = {}  # files that another writer has recorded meanwhile -> their ids
        self.next: dict[str, int] = {}  # numbers to give, where a copy asks for them
        self.switched_to = 0  # the space that becomes the current one in place of another; 0 for none
        self._of_document: defaultdict[str, set[str]] = defaultdict(set)
        self._counters: dict[str, int] | None = None
        self._preview: Dataset | None = None
        self._transaction: Arrow = None

    def copy(self) -> Self:
        """The same, to come back to."""
        made = copy(self)
        for name in ("steps", "rows", "gone", "dropped", "aliases", "next"):
            setattr(made, name, copy(getattr(self, name)))
        made._of_document = defaultdict(set, {uri: set(keys) for uri, keys in self._of_document.items()})
        made._counters = None if self._counters is None else dict(self._counters)
        return made

    # ---- reading

    def records(self, kind: str) -> JsonObject:
        """Key -> value of the rows of a kind."""
        there = select(self.base, ["key", "value"], f"kind = '{kind}'")
        rows = {row["key"]: row for row in there if row["key"] not in self.dropped}
        rows |= {key: row for key, row in self.rows.items() if row["kind"] == kind}
        return {key: json.loads(row["value"]) for key, row in rows.items()}

    def find(self, columns: Sequence[str], column: str, values: Iterable[int | str], kind: str) -> list[Row]:
        """The rows of a kind where a column is one of some values, as they are by now."""
        chosen = set(values)
        here = [row for row in self._near(column, chosen) if row["kind"] == kind and row.get(column) in chosen]
        for piece in pieces(sorted(chosen, key=str), AT_ONCE):
            condition = f"kind = '{kind}' AND {among(column, piece)}"
            there = select(self.base, list({*columns, "key", "document"}), condition)
            here += [row for row in there if not self._is_changed(row)]
        return here

    def _near(self, column: str, chosen: set[int | str]) -> Iterable[Row]:
        """The rows to write among which are those with these values."""
        keys: Iterable[str] = self.rows
        if column == "document":
            keys = (key for uri in chosen for key in self._of_document.get(str(uri), ()))
        elif column == "id":
            keys = (f"p:{number}" for number in chosen)
        return (self.rows[key] for key in keys if key in self.rows)

    def whole(self, column: str, values: Iterable[int | str], kinds: Sequence[str]) -> list[Row]:
        """Whole rows, to be written anew with something changed."""
        names = self.base.schema.names
        return [dict(row) for kind in kinds for row in self.find(names, column, values, kind)]

    def _is_changed(self, row: Row) -> bool:
        return row["key"] in self.rows or row["key"] in self.dropped or row["document"] in self.gone

    # ---- changing

    def put(self, rows: Iterable[Row]) -> None:
        """Write rows, each in place of the one with its key."""
        for row in rows:
            self.rows[row["key"]] = row
            self.dropped.discard(row["key"])
            if row.get("document") is not None:
                self._of_document[row["document"]].add(row["key"])
        self._preview = None

    def put_record(self, kind: str, key: str, value: object, **columns: object) -> None:
        """Write a row that has a value."""
        self.put([{"key": key, "kind": kind, "value": json.dumps(value), **columns}])

    def remove_documents(self, uris: Iterable[str]) -> None:
        """Remove documents with their passages."""
        for uri in uris:
            self.gone.add(uri)
            for key in self._of_document.pop(uri, ()):
                if self.rows.get(key, {}).get("document") == uri:
                    del self.rows[key]
        self._preview = None

    def drop(self, keys: Iterable[str]) -> None:
        """Remove other rows."""
        for key in keys:
            self.dropped.add(key)
            self.rows.pop(key, None)
        self._preview = None

    def numbers(self, kind: str, count: int) -> list[int]:
        """The next numbers, ascending, which no other row ever has."""
        first = max(self.next.pop(kind, 0), self.counters[kind] + 1)
        self.counters[kind] = first + count - 1
        return list(range(first, first + count))

    @property
    def counters(self) -> dict[str, int]:
        if self._counters is None:
            rows = select(self.base, ["value"], f"key = '{COUNTERS}'")
            self._counters = NONE_YET | (json.loads(rows[0]["value"]) if rows else {})
        return self._counters

    # ---- committing

    @property
    def is_empty(self) -> bool:
        return not (self.rows or self.gone or self.dropped)

    def preview(self) -> Dataset:
        """The table as it will be."""
        if self.is_empty:
            return self.base
        if self._preview is None:
            self._preview = self._commit(self._merge(), detached=True)
        return self._preview

    def commit(self) -> Dataset:
        """The version of the table that everybody sees from now on. Raises Conflict; nothing is written then."""
        try:
            return self._commit(self._transaction if self._preview is not None else self._merge(), max_retries=0)
        except (OSError, RuntimeError, ValueError) as error:
            if is_conflict(error):
                raise Conflict from error
            raise

    def committed(self) -> Draft:
        """An empty draft on what this one has committed, which goes on from its numbers."""
        made = Draft(self.commit())
        made.next, made.aliases = self.next, self.aliases
        return made

    def _merge(self) -> Arrow:
        counters = {"key": COUNTERS, "kind": "meta", "value": json.dumps(self.counters)}
        table = table_of([*self.rows.values(), counters], self.base.schema)
        gone = f"(kind IN ('document', 'passage') AND {among('document', sorted(self.gone))})"
        merge = self.base.merge_insert("key").when_matched_update_all().when_not_matched_insert_all()
        if self.gone or self.dropped:
            merge = merge.when_not_matched_by_source_delete(f"{gone} OR {among('key', sorted(self.dropped))}")
        self._transaction, _ = merge.conflict_retries(0).execute_uncommitted(table)
        return self._transaction

    def _commit(self, transaction: Arrow, **how: Any) -> Dataset:
        return lance.LanceDataset.commit(self.base, transaction, **how)
