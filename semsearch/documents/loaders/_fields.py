"""Which part of a record is its text, its id and its metadata."""

from __future__ import annotations

from dataclasses import dataclass

MAX_RECORD_BYTES = 10 * 2**20  # as the default of --max-file-size: a record is a document like a file


@dataclass(frozen=True, slots=True)
class Fields:
    """What to read of each record; None and () leave the choice to the loader.

    `text`, `id`: names of fields. `meta`: the fields kept as metadata, all others if empty. `sql`: the
    query that gives the records of an SQLite file. `max_bytes`: a longer record is skipped.
    """

    text: str | None = None
    id: str | None = None
    meta: tuple[str, ...] = ()
    sql: str | None = None
    max_bytes: int = MAX_RECORD_BYTES
