"""Files of queries: one a line, id<TAB>text, or JSON lines (BEIR)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from semsearch.errors import UsageError


def questions(lines: Iterable[tuple[int, str]], file: str) -> list[tuple[str, str]]:
    """(id, text) of each query, out of numbered lines: id<TAB>text, a text alone, or a JSON object.

    An object has `_id` or `id`, and `text` or `query`. Without an id a query is called by its line number. Blank
    lines are left out. UsageError names `file` and line.

    >>> questions(enumerate(["q1\\tdiesel engines", "bread"], 1), "queries.tsv")
    [('q1', 'diesel engines'), ('2', 'bread')]
    """
    found: list[tuple[str, str]] = []
    for number, line in lines:
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            found.append(from_record(file, number, line))
        elif "\t" in line:
            id_, _, text = line.partition("\t")
            found.append((id_.strip(), text.strip()))
        else:
            found.append((str(number), line.strip()))
    if not found:
        raise UsageError(f"{file} holds no query.", "Write one a line.")
    return found


def from_record(file: str, number: int, line: str) -> tuple[str, str]:
    """(id, text) of a line of JSON."""
    read = record(file, number, line)
    id_ = read.get("_id", read.get("id", number))
    text = read.get("text", read.get("query"))
    if not isinstance(text, str):
        raise UsageError(f"{file}:{number}: a query needs a `text`.", 'Write {"id": "q1", "text": "…"}.')
    return str(id_), text


def record(file: str, number: int, line: str) -> dict[str, Any]:
    """The object of a line of JSON."""
    try:
        read = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{file}:{number}: broken JSON: {error}.", "Write one object a line.") from None
    if not isinstance(read, dict):
        raise UsageError(f"{file}:{number}: not a JSON object.", "Write one object a line.")
    return read
