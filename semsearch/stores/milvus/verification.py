"""Is an index in Milvus whole: every document with its passages, every passage with its vector, nothing left over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.index_tables import WRITER
from semsearch.types import Progress

if TYPE_CHECKING:
    from semsearch.stores.milvus.index_tables import IndexTables

LISTED = 20  # problems of one kind
CHECKS = ("documents and their texts", "passages", "vectors", "files and runs")
_DAMAGE = (Corrupt, ValueError, TypeError, KeyError)


def verify(tables: IndexTables, progress: Callable[[Progress], None]) -> list[str]:
    """Every problem, a sentence each, at most LISTED of a kind. An exception of `progress` ends it."""
    named: dict[int, str] = {}
    steps: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: _documents(tables, named, tell),
        lambda: _passages(tables, named, tell),
        lambda: _vectors(tables, named, tell),
        lambda: _meta(tables),
    )
    found: list[str] = []
    for done, (name, step) in enumerate(zip(CHECKS, steps, strict=True)):

        def tell(detail: str, done: int = done, name: str = name) -> None:
            progress(Progress(done, len(CHECKS), "checks", f"{name}{detail}"))

        tell("")
        problems = list(step())
        more = [f"and {len(problems) - LISTED:,} more like these."] if len(problems) > LISTED else []
        found += problems[:LISTED] + more
    return found


def _documents(tables: IndexTables, named: dict[int, str], tell: Callable[[str], None]) -> Iterator[str]:
    """Reads every document, and notes which passages it names, in `named` with its key."""
    for piece in tables.documents.scan(["sha256", "meta_sha256", "passages", "head", "body"]):
        parts = tables.parts(piece, "head", "body")
        for row in piece:
            try:
                head = rows.head_of(row, parts)
                document = rows.document_of(row, head, parts)
                sound = rows.is_sound(row, document) and row["passages"] == len(head.ids)
            except _DAMAGE as error:
                yield f"document {row['key']} is damaged: {error}."
                continue
            if not sound or row["key"] != rows.document_key(head.uri):
                yield f"document {head.uri!r} is not what was stored."
            if twice := named.keys() & {*head.ids}:
                yield f"document {head.uri!r} names a passage of another one ({min(twice)})."
            named |= {one: str(row["key"]) for one in head.ids}
        tell(f": {len(named):,} passages")


def _passages(tables: IndexTables, named: dict[int, str], tell: Callable[[str], None]) -> Iterator[str]:
    seen: set[int] = set()
    for piece in tables.passages.scan(["document", "data"]):
        parts = tables.parts(piece, "data")
        for row in piece:
            if named.get(row["id"]) != row["document"]:
                yield f"passage {row['id']} is left over: no document names it. The next run clears it."
                continue
            seen.add(row["id"])
            try:
                rows.passage_of(row, parts)
            except _DAMAGE as error:
                yield f"passage {row['id']} is damaged: {error}."
        tell(f": {len(seen):,}")
    yield from (f"passage {one} is missing." for one in sorted(named.keys() - seen))


def _vectors(tables: IndexTables, named: dict[int, str], tell: Callable[[str], None]) -> Iterator[str]:
    records = tables.space_records()
    for space in records.ordered():
        seen: set[int] = set()
        for piece in tables.vectors(space.id, space.dim).scan(["document"]):
            tell(f": {len(seen):,} of {space.name}")
            for row in piece:
                seen.add(row["id"])
                if named.get(row["id"]) != row["document"]:
                    yield f"a vector of {space.name} is left over: passage {row['id']} is gone."
        if space.id == records.current:
            yield from (f"passage {one} has no vector of {space.name}." for one in sorted(named.keys() - seen))


def _meta(tables: IndexTables) -> Iterator[str]:
    known = set()
    for row, _ in tables.values("source"):
        try:
            known.add(rows.source_of(row, tables.parts([row], "data"))[1].id)
        except _DAMAGE as error:
            yield f"the record of a file is damaged: {error}."
    for piece in tables.documents.scan(["source"]):
        for row in piece:
            if row["source"] not in (rows.NO_SOURCE, *known):
                yield f"document {row['key']} is of a file that is not on record ({row['source']})."
    for _, record in tables.values(WRITER):
        if record["pending"]:
            yield (
                f"a run was interrupted while it wrote {len(record['pending'])} documents (or goes on elsewhere): "
                "run it again."
            )
