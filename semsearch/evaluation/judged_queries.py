"""Files of judged queries: queries as text or JSON lines, and relevance judgements (qrels) of TREC or BEIR."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from semsearch.errors import UsageError
from semsearch.types import JsonObject

HEADERS = ("query-id", "query_id", "qid")  # how the first line of a BEIR qrels file begins

Lines = Iterable[tuple[int, str]]  # (line number from 1, line)


def read_queries(lines: Lines, file: Path | str) -> list[tuple[str, str]]:
    """(id, text) of each query, from numbered lines: id<TAB>text, a text alone, or a JSON object.

    An object has `_id` or `id`, and `text` or `query`. The id defaults to the line number. Blank lines
    are skipped. Raises UsageError, with `file` and line, for a line that is no query or a file without queries.

    >>> read_queries(enumerate(["q1\\tdiesel engines", "bread"], 1), "queries.tsv")
    [('q1', 'diesel engines'), ('2', 'bread')]
    """
    queries: list[tuple[str, str]] = []
    for number, line in lines:
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            queries.append(query_of_json(line, file, number))
        elif "\t" in line:
            id_, _, text = line.partition("\t")
            queries.append((id_.strip(), text.strip()))
        else:
            queries.append((str(number), line.strip()))
        if not queries[-1][1].strip():
            raise UsageError(f"{file}:{number}: the query is empty.", "Give it a text, or remove the line.")
    if not queries:
        raise UsageError(f"{file} contains no query.", "Write one per line.")
    return queries


def read_qrels(lines: Lines, file: Path | str) -> dict[str, dict[str, int]]:
    """query id -> document id -> grade, from numbered lines: TREC (`qid 0 docid grade`), or BEIR's three columns.

    Columns may be separated by tabs, so that ids can contain spaces. Raises UsageError with `file` and line.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, line in lines:
        tabs = line.count("\t")
        cells = line.split("\t") if tabs == 2 or (tabs == 3 and len(line.split()) != 4) else line.split()
        if not cells or (number == 1 and cells[0] in HEADERS):
            continue
        if len(cells) == 4:
            del cells[1]
        if len(cells) != 3 or re.fullmatch(r"-?[0-9]+", cells[2].strip()) is None:
            raise UsageError(f"{file}:{number}: not a judgement.", "Write `query 0 document grade`.")
        qrels.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    if not qrels:
        raise UsageError(f"{file} contains no judgement.", "Write one per line: `query 0 document grade`.")
    return qrels


def query_of_json(line: str, file: Path | str, number: int) -> tuple[str, str]:
    """(id, text) of a line of JSON. Raises UsageError."""
    record = json_object(line, file, number)
    text = record.get("text", record.get("query"))
    if not isinstance(text, str):
        raise UsageError(f"{file}:{number}: a query needs a `text`.", 'Write {"id": "q1", "text": "…"}.')
    return str(record.get("_id", record.get("id", number))), text


def json_object(line: str, file: Path | str, number: int) -> JsonObject:
    """The object in a line of JSON. Raises UsageError with `file` and line."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{file}:{number}: broken JSON: {error}.", "Write one object per line.") from None
    if not isinstance(record, dict):
        raise UsageError(f"{file}:{number}: not a JSON object.", "Write one object per line.")
    return record
