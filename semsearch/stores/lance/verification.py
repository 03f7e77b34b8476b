"""Verification of a table: every text, word and vector is compared with the others.

That the files of the table are whole is the library's matter; here it is what the rows say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from semsearch.stores.entry_checks import keywords
from semsearch.stores.lance.draft import COUNTERS, NONE_YET
from semsearch.stores.lance.rows import KEYWORDS, words_of
from semsearch.stores.lance.table import Row, Table, vector_column
from semsearch.stores.sql import checks
from semsearch.stores.sql.database import pieces
from semsearch.types import Document, Passage, Progress

AT_ONCE = 500  # documents
_DOCUMENT = ("document", "text", "sha256", "meta_sha256", "title", "metadata", "marks", "count")
_PASSAGE = ("document", "id", "position", "starts", "ends", "text", "stable_id", "heading", "words", "grams")


def verify(table: Table, progress: Callable[[Progress], None]) -> list[str]:
    """Every problem, a sentence each; an empty list is good. Call it inside a snapshot."""
    return checks.run(_CHECKS, table, progress)


def _numbers(table: Table) -> Iterator[str]:
    counters = NONE_YET | table.records("meta").get(COUNTERS, {})
    for kind, column in (("document", "number"), ("passage", "id")):
        numbers = table.column(column, f"kind = '{kind}'")
        if len(numbers) != len(set(numbers.tolist())):
            yield f"a {kind} is there twice."
        if len(numbers) and int(numbers.max()) > counters[kind]:
            yield f"the next id of {kind}s would be one that was used before."
    keys = [row["key"] for row in table.rows(["key"], "true")]
    if len(keys) != len(set(keys)):
        yield "a row is there twice."


def _documents(table: Table) -> Iterator[str]:
    uris = sorted(row["document"] for row in table.rows(["document"], "kind = 'document'"))
    for piece in pieces(uris, AT_ONCE):
        parts: defaultdict[str, list[Row]] = defaultdict(list)
        for row in table.rows_among(_PASSAGE, "document", piece, "kind = 'passage'"):
            parts[row["document"]].append(row)
        for row in table.rows_among(_DOCUMENT, "document", piece, "kind = 'document'"):
            mine = sorted(parts.pop(row["document"], []), key=lambda one: one["position"])
            yield from checks.of_document(*(row[name] for name in _DOCUMENT[:-1]))
            of_passages = [
                (one["id"], one["position"], one["starts"], one["ends"], one["text"], True, one["stable_id"])
                for one in mine
            ]
            yield from checks.of_passages(of_passages, row["document"], row["text"])
            if len(mine) != row["count"]:
                yield f"{row['document']!r} has {len(mine)} passages, where {row['count']} were stored."
            yield from _words(Document(row["document"], row["text"], {}, row["title"]), mine)
    there = {*uris}
    for row in table.rows(["document"], "kind = 'passage'"):
        if row["document"] not in there:
            yield f"a passage of {row['document']!r} is there, but not the document."


def _words(document: Document, passages: list[Row]) -> Iterator[str]:
    """The words of passages, cut once more. The keywords of before a change of the title are right, too."""
    texts = [
        (
            one["id"],
            one["text"],
            keywords(document, Passage(one["starts"], one["ends"], one["text"], heading=one["heading"])),
        )
        for one in passages
    ]
    for one, made in zip(passages, words_of(texts), strict=True):
        if _own(one["words"]) != _own(made["words"]) or one["grams"] != made["grams"]:
            yield f"the words of passage {one['id']} are not those of its text."


def _own(words: str) -> str:
    return words.partition(f" {KEYWORDS} ")[0]


def _vectors(table: Table) -> Iterator[str]:
    for at, space in enumerate(sorted(table.records("space").values(), key=lambda one: int(one["id"]))):
        there, column = f"array_has(spaces, {space['id']})", vector_column(space["id"])
        for row in table.rows(["id"], f"({there}) <> ({column} IS NOT NULL) AND kind = 'passage'"):
            yield f"passage {row['id']} has no vector in space {space['id']}, or one that is not on record."
        if at == 0 and len(table.records("space")) == 1 and table.count(f"kind = 'passage' AND NOT {there}"):
            yield "passages have no vector."


_CHECKS: dict[str, Callable[[Table], Iterator[str]]] = {
    "numbers": _numbers,
    "documents": _documents,
    "vectors": _vectors,
}
