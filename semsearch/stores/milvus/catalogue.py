"""Which indexes a Milvus database has: a collection with a row for each.

The row comes last and goes first, so an index that is being made or removed is not there. Links lead to it by its id,
also after it was given another name.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from semsearch.errors import NotFound, SemsearchError
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.server import schema
from semsearch.stores.milvus.server.calls import Server

UPGRADE = "Install a newer version of semsearch."


class Found(NamedTuple):
    """An index: its name and id, the version of its schema, and how its collections begin."""

    name: str
    id: str
    schema: int
    prefix: str


class Catalogue:
    """The indexes of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def find(self, name: str) -> Found | None:
        """The index with a name; of several that were made at once, the same one for everybody."""
        return min((one for one in self._every() if one.name == name), key=lambda one: one.id, default=None)

    def by_id(self, index_id: str) -> Found | None:
        """The index with an id."""
        return next((one for one in self._every() if one.id == index_id), None)

    def require(self, name: str, index_id: str) -> Found:
        """The index with an id, which had this name when it was linked.

        Raises NotFound where it was removed, SemsearchError for one of a newer semsearch.
        """
        every = self._every()
        found = next((one for one in every if one.id == index_id), None)
        place = f"index {name} on the Milvus server at {self._server.address.uri}"
        if found is None:
            what = "was removed and created anew" if any(one.name == name for one in every) else "is gone"
            raise NotFound(
                f"{place} {what}.",
                "Remove the link by Index.unlink; then link or create it again.",
                f"Remove the link: semsearch rm {name} --unlink. Then link or create it again.",
            )
        if found.schema > schema.VERSION:
            reason = f"{place} was made by a newer semsearch (schema {found.schema}; this one reads {schema.VERSION})."
            raise SemsearchError(reason, UPGRADE)
        return found

    def put(self, found: Found) -> None:
        """Put an index on record, or its new name."""
        self._server.make(schema.CATALOGUE, schema.NAMED)
        row = {"key": _key(found), "data": json.dumps(found._asdict()), "nothing": schema.NO_VECTOR}
        self._server.upsert(schema.CATALOGUE, [row])

    def remove(self, found: Found) -> None:
        """Take an index off the record."""
        self._server.delete(schema.CATALOGUE, [f'key in ["{_key(found)}"]'])

    def _every(self) -> list[Found]:
        if not self._server.has(schema.CATALOGUE):
            return []
        self._server.make(schema.CATALOGUE, schema.NAMED)  # whoever began to make it may have been killed
        return [
            Found(**json.loads(row["data"])) for row in self._server.query(schema.CATALOGUE, 'key >= "0"', ["data"])
        ]


def _key(found: Found) -> str:
    return rows.digest("index", found.id)
