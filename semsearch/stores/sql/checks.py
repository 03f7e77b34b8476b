"""What verification checks of documents and passages in every store on SQL, and how many problems it lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from semsearch.errors import Locked, SemsearchError
from semsearch.stores.entry_checks import unanswerable
from semsearch.stores.records import meta_hash, stable_id, text_hash
from semsearch.types import Document, Progress

if TYPE_CHECKING:
    from semsearch.stores.sql.database import Row

T = TypeVar("T")
MOST_OF_A_KIND = 5  # problems of one kind that are listed; more are counted
_DAMAGE = (SemsearchError, TypeError, ValueError, AttributeError, OverflowError)  # damage has any type


def caught(problems: Iterable[str], name: str) -> Iterator[str]:
    """The problems that a check finds, and the one that stops it. Raises Locked."""
    try:
        yield from problems
    except Locked:
        raise
    except _DAMAGE as error:
        yield f"{name}: {getattr(error, 'message', error)}"


def run(
    checks: Mapping[str, Callable[[T], Iterable[str]]], store: T, progress: Callable[[Progress], None]
) -> list[str]:
    """Every problem that the checks of a store find, a sentence each; an empty list is good. Raises Locked."""
    problems: list[str] = []
    for at, (name, check) in enumerate(checks.items()):
        progress(Progress(at, len(checks), "checks", name))
        problems += shortened(caught(check(store), name))
    return problems


def shortened(problems: Iterator[str]) -> Iterator[str]:
    """The first problems of a kind, and how many more there are."""
    yield from islice(problems, MOST_OF_A_KIND)
    if more := sum(1 for _ in problems):
        yield f"… and {more} more like that."


def of_document(uri: str, text: str, sha256: str, meta_sha256: str, *row: Row) -> Iterator[str]:
    """What is wrong about a document; `row` has its title, metadata and marks. Raises ValueError, TypeError."""
    title, metadata, marks = row
    if text_hash(text) != sha256:
        yield f"the text of {uri!r} is not the one that was stored."
    fields = json.loads(metadata)
    if meta_hash(title, fields) != meta_sha256:
        yield f"title or metadata of {uri!r} are not what was stored."
    json.loads(marks)
    if reason := unanswerable(Document(uri, text, fields, title), metadata, new_id=False):
        yield f"{uri!r} was stored by an older version and could not be stored today: {reason}."


def of_passages(rows: Sequence[Row], uri: str, text: str | None) -> Iterator[str]:
    """What is wrong about the passages of a document; its `text` is None where that cannot be read.

    rows: number, position, start, end, text, whether its checksum is right, and the identity that was stored, if any.
    """
    before = 0
    for expected, (number, position, start, end, part, sound, identity) in enumerate(rows):
        if position != expected:
            yield f"passage {number} of {uri!r} is number {position} where {expected} should be."
        if not sound:
            yield f"passage {number} of {uri!r} is damaged."
        elif start < before:
            yield f"passage {number} of {uri!r} begins before the one that it follows."
        elif text is not None and text[start:end] != part:
            yield f"passage {number} is not the text from {start} to {end} of {uri!r}."
        elif identity and stable_id(uri, position, part) != identity:
            yield f"the identity of passage {number} of {uri!r} is wrong."
        before = start
