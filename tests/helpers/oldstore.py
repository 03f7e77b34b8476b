"""A store as an earlier version would have left it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from semsearch.stores.local.database import checksums, schema


def downgraded(file: Path, version: int) -> None:
    """Give a store the tables of an older schema, with the same rows."""
    old = file.with_name("old.db")
    with closing(sqlite3.connect(old, isolation_level=None)) as raw:
        raw.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
        schema.migrate(raw, version)
        checksums.add_functions(raw)
        raw.execute("ATTACH ? AS new", (str(file),))
        raw.execute("DELETE FROM meta")
        for table in ("meta", "recipe", "runs", "spaces", "caches", "sources", "documents", "passages", "vectors"):
            names = ", ".join(f'"{row[1]}"' for row in raw.execute(f"PRAGMA main.table_info({table})"))
            raw.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM new.{table}")
        raw.execute("DELETE FROM sqlite_sequence")
        raw.execute("INSERT INTO sqlite_sequence SELECT * FROM new.sqlite_sequence")
        if version < schema.CHECKSUMS:
            raw.execute('UPDATE passages SET crc = first_passage_crc(id, document, start, "end", text)')
        for table in ("passages_fts", "passages_cjk"):
            raw.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
        raw.execute("DETACH new")
    old.replace(file)
