"""The named steps of the write path: the functions, SQL statements and system calls that change what is on disk.

`watch` has every step reported just before it is taken, and again, as "NAME done", just after. The product knows
nothing of this: functions are replaced where their callers look them up, and connections to SQLite are of a class of
our own. A step that no longer exists in the product is an AttributeError here, or is never taken, which
`test_kill_at_steps` notices.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from functools import partial, wraps
from importlib import import_module
from typing import Any

DONE = " done"
LOCAL = "semsearch.stores.local"
WRITER = f"{LOCAL}.writer:LocalWriter"
FUNCTIONS = (  # module:function or module:class.method; an imported function is replaced in the module that imports it
    "semsearch.utils.writer_lock:WriterLock.__init__",
    "semsearch.utils.writer_lock:WriterLock.release",
    "semsearch.indexing.ingest:Ingest.flush",
    "semsearch.indexing.ingest:Ingest._commit",
    "semsearch.indexing.salvage:Salvager._commit",
    "semsearch.indexing.salvage:Salvager._settle",
    f"{LOCAL}.folder:_create_database",
    f"{LOCAL}.folder:_fill",
    f"{LOCAL}.folder:sync_file",
    f"{LOCAL}.folder:sync_folder",
    f"{LOCAL}.database.connection:Connection.close",
    f"{LOCAL}.database.commit_record:CommitRecord.acknowledge",
    f"{LOCAL}.database.commit_record:forget",
    f"{LOCAL}.database.schema:migrate",
    f"{LOCAL}.backup:_pack",
    f"{LOCAL}.backup:_unpack",
    f"{LOCAL}.backup:_prepare",
    f"{LOCAL}.backup:sync_file",
    f"{LOCAL}.backup:sync_folder",
    f"{LOCAL}.space_vectors:SpaceVectors.build_cache",
    f"{LOCAL}.writer:sweep_caches",
    "semsearch.vector_index.cache_files:write",
    "semsearch.vector_index.cache_files:sync_file",
    "semsearch.vector_index.cache_files:sync_folder",
    f"{WRITER}.replace",
    f"{WRITER}.delete",
    f"{WRITER}.revise",
    f"{WRITER}.put_sources",
    f"{WRITER}.change_recipe",
    f"{WRITER}.put_space",
    f"{WRITER}.drop_space",
    f"{WRITER}.put_vectors",
    f"{WRITER}.add_cache",
    f"{WRITER}.drop_cache",
    f"{WRITER}.record_run",
    f"{WRITER}.compact",
    f"{LOCAL}.rows:RowWriter.remove",
    f"{LOCAL}.rows:RowWriter.insert",
    f"{LOCAL}.rows:RowWriter.insert_vectors",
)
STATEMENTS = (  # how they begin; of two that fit the first counts
    *("BEGIN IMMEDIATE", "COMMIT", "PRAGMA wal_checkpoint", "PRAGMA user_version=", "VACUUM INTO", "VACUUM"),
    *("INSERT INTO documents", "INSERT INTO passages (", "INSERT INTO vectors", "INSERT INTO sources"),
    *("INSERT INTO passages_fts (rowid", "INSERT INTO passages_cjk (rowid", "INSERT INTO passages_fts (passages_fts"),
    *("INSERT INTO recipe", "INSERT INTO spaces", "INSERT INTO caches", "INSERT INTO runs", "INSERT INTO meta"),
    *("DELETE FROM vectors", "DELETE FROM passages", "DELETE FROM documents", "DELETE FROM sources"),
    *("DELETE FROM recipe", "DELETE FROM caches", "DELETE FROM spaces", "DELETE FROM meta", "DELETE FROM runs"),
    *("UPDATE meta", "UPDATE spaces", "UPDATE sources", "UPDATE documents", "UPDATE passages"),
    *("ALTER TABLE", "DROP TABLE", "CREATE VIRTUAL TABLE", "CREATE TABLE"),
)
CALLS: tuple[tuple[Any, str], ...] = (
    *((os, name) for name in ("fsync", "rename", "replace", "unlink", "mkdir", "rmdir")),
    (shutil, "rmtree"),
)
STEPS = (
    *(target.removeprefix("semsearch.") for target in FUNCTIONS),
    *STATEMENTS,
    *(f"{module.__name__}.{name}" for module, name in CALLS),
)
Heed = Callable[[str], object]
Tell = Callable[[str, list[str]], object]


def watch(heed: Heed, tell: Tell) -> None:
    """From now on this process calls `heed` at every step, and `tell` with what each commit has changed.

    That is ("put", ids of documents) and ("deleted", ids of documents), once COMMIT has returned.
    """
    changed: list[tuple[str, list[str]]] = []
    connect = sqlite3.connect
    sqlite3.connect = partial(connect, factory=_watched(heed, tell, changed))  # type: ignore[assignment]
    _note_changes(changed)
    for target in FUNCTIONS:
        owner, name = _place(target)
        setattr(owner, name, _heeded(getattr(owner, name), target.removeprefix("semsearch."), heed))
    for module, name in CALLS:
        setattr(module, name, _heeded(getattr(module, name), f"{module.__name__}.{name}", heed))


def statement(sql: str) -> str | None:
    """The step that a statement is, if it is one."""
    written = " ".join(sql.split())
    return next((step for step in STATEMENTS if written.startswith(step)), None)


def _place(target: str) -> tuple[Any, str]:
    module, _, path = target.partition(":")
    *classes, name = path.split(".")
    owner = import_module(module)
    for each in classes:
        owner = getattr(owner, each)
    return owner, name


def _heeded(function: Callable[..., Any], step: str, heed: Heed) -> Callable[..., Any]:
    @wraps(function)
    def heeded(*arguments: Any, **named: Any) -> Any:
        heed(step)
        result = function(*arguments, **named)
        heed(step + DONE)
        return result

    return heeded


def _note_changes(changed: list[tuple[str, list[str]]]) -> None:
    """Add to `changed` what a writer is told to put and to delete."""
    writer = import_module(f"{LOCAL}.writer").LocalWriter
    replace, delete = writer.replace, writer.delete

    def noted_replace(self: Any, entries: Any, space: int) -> None:
        replace(self, entries, space)
        changed.append(("put", [entry.document.id for entry in entries]))

    def noted_delete(self: Any, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        deleted = list(uris)
        removed: int = delete(self, deleted, sources=sources)
        changed.append(("deleted", deleted))
        return removed

    writer.replace, writer.delete = noted_replace, noted_delete


def _watched(heed: Heed, tell: Tell, changed: list[tuple[str, list[str]]]) -> type[sqlite3.Connection]:
    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            step = statement(sql)
            if step is None:
                return super().execute(sql, *parameters)
            heed(step)
            cursor = super().execute(sql, *parameters)
            if step == "COMMIT":
                for kind, ids in changed:
                    tell(kind, ids)
                changed.clear()
            heed(step + DONE)
            return cursor

        def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
            if step := statement(sql):
                heed(step)
            return super().executemany(sql, rows)

    return Watched
