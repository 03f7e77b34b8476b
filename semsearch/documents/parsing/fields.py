"""The choice of a record's text, id and metadata."""

from __future__ import annotations

from dataclasses import dataclass

MAX_RECORD_BYTES = 10 * 2**20  # as the default of --max-file-size: a record is a document like a file


@dataclass(frozen=True, slots=True)
class Fields:
    """What to read of each record; None and () leave the choice to the loader.

    `text`, `id`: names of fields. `meta`: the fields to store as metadata; if empty, all other fields. `sql`: the
    query that returns the records of an SQLite file. `max_bytes`: longer records are skipped.
    """

    text: str | None = None
    id: str | None = None
    meta: tuple[str, ...] = ()
    sql: str | None = None
    max_bytes: int = MAX_RECORD_BYTES
