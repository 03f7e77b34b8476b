"""Spaces of an index in Milvus and their vectors, written."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import NotFound, UsageError
from semsearch.stores.milvus import documents
from semsearch.stores.milvus.index_tables import SpaceRecords
from semsearch.stores.milvus.server import schema
from semsearch.stores.milvus.writing.lease import Lease
from semsearch.stores.milvus.writing.transactions import Transactions
from semsearch.stores.records import Space, to_json
from semsearch.utils.vectors import check_storable

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors
    from semsearch.utils.strength import NullDistribution


class SpaceWriter(Transactions):
    """The methods of a `MilvusWriter` for spaces and vectors."""

    _lease: Lease | None = None  # while this machine is alone at something

    @contextmanager
    def _space_records(self, space: int) -> Iterator[SpaceRecords]:
        """The records of spaces, to be changed. Raises NotFound for an unknown `space`."""
        with self.transaction():
            records = self._tables.space_records()
            if space not in [one["id"] for one in records.spaces]:
                raise NotFound(f"{self.reader.location} has no space {space}.")
            yield records
            self._tables.put_space_records(records)

    def add_space(self, fingerprint: str, name: str, dim: int, info: Mapping[str, object]) -> Space:
        to_json(dict(info))
        with self.transaction():
            records = self._tables.space_records()
            if all(one["fingerprint"] != fingerprint for one in records.spaces):
                server = self._tables.server
                records.last = self._free_space(records.last)
                made = {"id": records.last, "fingerprint": fingerprint, "name": name, "dim": dim, "info": dict(info)}
                records.spaces.append({**made, "quantiles": None, "measured_at": 0, "index": server.address.index})
                server.make(self._tables.collection_of(records.last), schema.space(dim), server.address.index)
                if len(records.spaces) == 1:
                    self._switch(records, records.last)
                self._tables.put_space_records(records)
            return next(space for space in self._tables.space_records().ordered() if space.fingerprint == fingerprint)

    def _free_space(self, last: int) -> int:
        """The first number above `last` without a collection: a kill, or another writer, may have left or made one."""
        there = {*self._tables.server.collections()}
        return next(one for one in itertools.count(last + 1) if self._tables.collection_of(one) not in there)

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        lease = Lease(self._tables, self.reader.name, self._name, purpose)
        with lease.held():
            self._lease = lease
            try:
                yield
            finally:
                self._lease = None

    def use_space(self, space: int) -> None:
        if self._lease is not None:
            self._lease.check()
        with self._space_records(space) as records:
            self._switch(records, space)

    def _switch(self, records: SpaceRecords, space: int) -> None:
        """One row says which space is searched, so every reader switches at once; the alias is for other programs."""
        tables = self._tables
        records.current = space
        self._after.append(lambda: tables.server.point(tables.alias, tables.collection_of(space)))

    def drop_space(self, space: int) -> None:
        with self._space_records(space) as records:
            if records.current == space:
                raise UsageError(f"space {space} of {self.reader.location} is in use.", "Use another one first.")
            records.spaces = [one for one in records.spaces if one["id"] != space]
            tables = self._tables
            tables.forget(space)
            self._after.append(lambda: tables.server.drop(tables.collection_of(space)))

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        table = self._tables.space(space)
        matrix = check_storable(vectors, len(ids), table.columns[-1].size, what="a passage")
        given = dict(zip(np.asarray(ids, dtype=np.int64).tolist(), documents.stored_rows(matrix), strict=True))
        with self.transaction():
            for number, row in self._tables.passages.get(given, ["document", "tokens", "facts"]).items():
                table.put({**row, "vector": given[int(number)]})

    def set_null_distribution(self, space: int, measured: NullDistribution) -> None:
        with self._space_records(space) as records:
            for one in records.spaces:
                if one["id"] == space:
                    one |= {"quantiles": list(measured.quantiles), "measured_at": measured.passages}
