"""Documents with their passages and vectors: stored, changed and removed, as changes of a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import SemsearchError
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.index_tables import IndexTables
from semsearch.stores.milvus.keywords import columns as words
from semsearch.stores.records import Entry, Source
from semsearch.types import Document

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.calls import Row
    from semsearch.stores.milvus.server.tables import Key, Table
    from semsearch.types import Passage, Vectors

MOST_SALTS = 100
AT_ONCE = 250  # documents that are removed, or moved, at a time
MOST_PASSAGES = 2_000  # of documents that are moved at a time: with vectors some 12 kB each


def stored_rows(vectors: Vectors) -> list[list[float]]:
    """Vectors as they are stored: rounded to 16 bits, as in a local store."""
    found: list[list[float]] = vectors.astype(np.float16).astype(np.float32).tolist()
    return found


def store(
    tables: IndexTables, entries: Sequence[Entry], vectors: Table, sources: Mapping[int, Source], numbers: Sequence[int]
) -> None:
    """Store documents, each in place of the one with its id, and of whatever an interrupted run has left of it."""
    keys: list[Key] = [rows.document_key(entry.document.id) for entry in entries]
    before = tables.documents.get(keys, ["head", "body"])
    there = {row["id"]: row for row in tables.passages.where("document", keys, ["document", "data"])}
    ids = _ids(tables, entries)
    parts: dict[str, str] = {}
    for entry, own, number in zip(entries, ids, numbers, strict=True):
        source = None if entry.source is None else sources[entry.source]
        row, more = rows.document_row(entry, source, number, own)
        parts |= more
        tables.documents.put(row)
        parts |= _put_passages(tables, entry, rows.head_for(entry.document, source, own), row, vectors)
    kept = {one for own in ids for one in own}
    _remove_passages(tables, [one for one in there if one not in kept])
    for table in tables.all_vectors():
        if table is not vectors:  # the text that is embedded may be another one now
            table.remove(one for one in there if one in kept)
    values = [row[name] for row in before.values() for name in ("head", "body")]
    tables.replace_parts([*values, *(row["data"] for row in there.values())], parts)


def _put_passages(tables: IndexTables, entry: Entry, head: rows.Head, document: Row, vectors: Table) -> dict[str, str]:
    parts: dict[str, str] = {}
    found = words.columns([(entry.document, passage) for passage in entry.passages])
    columns = zip(head.ids, entry.passages, stored_rows(entry.vectors), found, strict=True)
    for position, (number, passage, vector, asked_words) in enumerate(columns):
        row, more = rows.passage_row(number, position, document["key"], passage)
        parts |= more
        asked = rows.filtered(head, document["size"], passage)
        tables.passages.put({**row, **asked_words, **asked})
        vectors.put({"id": number, "document": document["key"], **asked, "vector": vector})
    return parts


def _ids(tables: IndexTables, entries: Sequence[Entry]) -> list[list[int]]:
    """Ids for the passages of some documents: those that follow from their content, unless others have them."""
    wanted = [
        (rows.document_key(entry.document.id), entry.document.id, position, passage)
        for entry in entries
        for position, passage in enumerate(entry.passages)
    ]
    first = [rows.passage_id(uri, position, passage) for _, uri, position, passage in wanted]
    taken = {int(key): row["document"] for key, row in tables.passages.get(first, ["document"]).items()}
    used: set[int] = set()
    found: dict[str, list[int]] = {rows.document_key(entry.document.id): [] for entry in entries}
    for number, (key, uri, position, passage) in zip(first, wanted, strict=True):
        if number in used or taken.get(number, key) != key:
            number = _next_id(tables, uri, position, passage, key, used)
        used.add(number)
        found[key].append(number)
    return list(found.values())


def _next_id(tables: IndexTables, uri: str, position: int, passage: Passage, key: str, used: set[int]) -> int:
    """A second choice. So the passages of a document that was renamed keep theirs."""
    for salt in range(1, MOST_SALTS):
        number = rows.passage_id(uri, position, passage, salt)
        holder = tables.passages.get([number], ["document"]).get(number)
        if number not in used and (holder is None or holder["document"] == key):
            return number
    raise SemsearchError(f"no id is free for passage {position} of {uri!r}.")


def remove(tables: IndexTables, keys: Iterable[Key]) -> int:
    """Delete documents with all that belongs to them; how many there were."""
    wanted, removed = list(keys), 0
    for at in range(0, len(wanted), AT_ONCE):  # their texts need not all be in memory
        removed += _remove(tables, wanted[at : at + AT_ONCE])
    return removed


def _remove(tables: IndexTables, keys: Sequence[Key]) -> int:
    before = tables.documents.get(keys, ["head", "body"])
    there = tables.passages.where("document", keys, ["document", "data"])
    tables.documents.remove(before)
    _remove_passages(tables, [row["id"] for row in there])
    values = [row[name] for row in before.values() for name in ("head", "body")]
    tables.replace_parts([*values, *(row["data"] for row in there)], {})
    return len(before)


def _remove_passages(tables: IndexTables, ids: Sequence[int]) -> None:
    tables.passages.remove(ids)
    for table in tables.all_vectors():
        table.remove(ids)


def put_place(tables: IndexTables, source: int, place: rows.Place | None) -> None:
    """Give the documents of a file its new place.

    What holds passages and vectors is written again. All but a last part is written at once, part by part, since a file
    may have very many documents; after a kill, the file is on record as before, and the next run does it again.
    """
    found = tables.documents.where("source", [source], ["source", "passages"])
    changed = [row["key"] for row in found if row["key"] in tables.documents.changes]
    *early, last = _parts([row for row in found if row["key"] not in changed]) or [[]]
    for keys in early:
        stored = IndexTables(tables.server, tables.prefix)
        _put_place(stored, keys, place)
        stored.write()
    _put_place(tables, [*last, *changed], place)


def _parts(found: Sequence[Row]) -> list[list[Key]]:
    """The keys of documents, in parts of at most AT_ONCE documents and MOST_PASSAGES passages, or of one document."""
    parts: list[list[Key]] = []
    passages = 0
    for row in found:
        passages += row["passages"]
        if not parts or len(parts[-1]) >= AT_ONCE or passages > MOST_PASSAGES:
            parts.append([])
            passages = row["passages"]
        parts[-1].append(row["key"])
    return parts


def _put_place(tables: IndexTables, keys: Sequence[Key], place: rows.Place | None) -> None:
    found = list(tables.documents.get(keys).values())
    restamp(tables, [(row, replace(head, place=place)) for row, head in tables.heads(found)])


def restamp(tables: IndexTables, changed: Sequence[tuple[Row, rows.Head]]) -> None:
    """Give documents new heads (name, title, metadata, file), and their passages and vectors what filters ask of them.

    `changed`: whole rows of documents, each with its new head. The ids of the passages stay.
    """
    for before, head in changed:
        row, parts = rows.with_head(before, head)
        if row["key"] != before["key"]:
            tables.documents.remove([before["key"]])
        tables.documents.put(row)
        tables.replace_parts([before["head"]], parts)
        restamp_passages(tables, row, head)


def restamp_passages(tables: IndexTables, document: Row, head: rows.Head) -> None:
    """Give the passages and vectors of a document what follows from its key, size and head."""
    found = tables.passages.get(head.ids)
    parts = tables.parts(list(found.values()), "data")
    passages = {number: rows.passage_of(row, parts) for number, row in found.items()}
    titled = Document(head.uri, "", title=head.title)
    asked_words = words.columns([(titled, passage) for passage in passages.values()])
    new: dict[Key, Row] = {}
    for (number, passage), more in zip(passages.items(), asked_words, strict=True):
        new[number] = {"document": document["key"], **rows.filtered(head, document["size"], passage)}
        tables.passages.put({**found[number], **new[number], **more})
    for table in tables.all_vectors():
        for number, row in table.get(new).items():
            table.put({**row, **new[number]})
