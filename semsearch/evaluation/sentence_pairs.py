"""Pairs of sentences, with human scores if there are any, in a text.

sentence1,sentence2,score            CSV, also with ; or |; the heading and the score can be left out
sentence1<TAB>sentence2<TAB>score    TSV: a quotation mark is a quotation mark
{"sentence1": …, "sentence2": …}     JSON lines
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from semsearch.errors import SemsearchError

SIDES = (
    ("sentence1", "text1", "sent1", "s1", "a"),
    ("sentence2", "text2", "sent2", "s2", "b"),
    ("score", "gold", "label", "similarity", "similarityscore"),
)
LETTERS = ("a", "b")  # a heading only alone or with a score, as they may be two texts
WRITE = "Write: sentence1, sentence2, score"
Row = tuple[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences, and their human score, if any."""

    first: str
    second: str
    gold: float | None = None


def read_pairs(text: str) -> list[SentencePair]:
    """The pairs in a text, in order. Raises SemsearchError that names the line."""
    text = text.removeprefix("\ufeff")
    start = text.lstrip()
    if not start:
        return []
    if start.startswith("["):
        with suppress(ValueError):
            json.loads(text)
            raise SemsearchError("This is one JSON list.", 'Write one object a line: {"sentence1": …, "sentence2": …}')
    return list(_of_lines(text) if start.startswith("{") else _of_rows(_rows(text)))


def _of_lines(text: str) -> Iterator[SentencePair]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise SemsearchError(f"Line {number} is broken JSON.", "Write one object per line.") from None
        if not isinstance(record, dict):
            raise SemsearchError(f"Line {number} is no JSON object.", "Write one object per line.")
        yield _of_record(number, record)


def _of_record(number: int, record: Mapping[str, object]) -> SentencePair:
    return _pair(number, *(next((record[name] for name in names if name in record), None) for names in SIDES))


def _rows(text: str) -> Iterator[Row]:
    """Line number and cells of every row that is not blank."""
    lines = io.StringIO(text, newline="")  # ends at \r, \n or both, and nowhere within a cell
    head = next(line.strip("\r\n") for line in lines if line.strip())
    lines.seek(0)
    tabs = "\t" in head
    reader = csv.reader(lines, delimiter=_delimiter(head), quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL)
    number = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield number, row
            number = reader.line_num + 1  # a quoted cell can go over several lines
    except csv.Error as error:
        raise SemsearchError(f"Line {number} cannot be read as a row: {error}.", WRITE) from None


def _delimiter(head: str) -> str:
    if "\t" in head:
        return "\t"
    return min(",;|", key=lambda each: _unlike_a_pair(next(csv.reader([head], delimiter=each))))


def _unlike_a_pair(cells: Sequence[str]) -> int:
    """0 for two texts and a number, more for what is less like a pair."""
    if len(cells) == 3:
        return 0 if re.fullmatch(r"\s*[+-]?\d+([.,]\d+)?\s*", cells[2]) else 2
    return {1: 4, 2: 1}.get(len(cells), 3)


def _of_rows(rows: Iterator[Row]) -> Iterator[SentencePair]:
    number, row = next(rows)
    columns = _columns(number, row)
    if columns is None:
        try:
            yield _of_row(number, row)
        except SemsearchError as error:
            fix = f"{error.fix.rstrip('.')}. If it is a heading: sentence1, sentence2, score"
            raise SemsearchError(error.message, fix) from None
    for number, row in rows:
        yield _of_row(number, row) if columns is None else _of_record(number, dict(zip(columns, row, strict=False)))


def _columns(number: int, row: Sequence[str]) -> list[str] | None:
    """The names of the columns; None where the first row is no heading."""
    names = [re.sub(r"[\s_-]", "", cell).lower() for cell in row]
    if tuple(names[:2]) == LETTERS:
        return names if len(names) == 2 or (len(names) == 3 and names[2] in SIDES[2]) else None
    missing = [side[0] for side in SIDES[:2] if not {*names} & ({*side} - {*LETTERS})]
    if len(missing) == 1:
        raise SemsearchError(f"The heading in line {number} has no column {missing[0]}.", WRITE)
    return None if missing else names


def _of_row(number: int, row: Sequence[str]) -> SentencePair:
    if len(row) not in (2, 3):
        many = "1 column" if len(row) == 1 else f"{len(row)} columns"
        raise SemsearchError(
            f"Line {number} has {many}, where a pair has 2, or 3 with its score.",
            "Put a sentence with a comma in it in quotation marks, or use tabs.",
        )
    return _pair(number, *row)


def _pair(number: int, first: object, second: object, score: object = None) -> SentencePair:
    for side, name in ((first, "sentence1"), (second, "sentence2")):
        if not isinstance(side, str) or not side.strip():
            raise SemsearchError(f"Line {number} has no text as {name}.", WRITE)
    return SentencePair(str(first).strip(), str(second).strip(), _score(number, score))


def _score(number: int, score: object) -> float | None:
    if score is None or (isinstance(score, str) and not score.strip()):
        return None
    try:
        value = float(str(score).replace(",", "."))
    except ValueError:
        value = math.nan
    if isinstance(score, bool) or not math.isfinite(value):
        raise SemsearchError(f"Line {number}: {str(score)[:40]!r} is not a score.", "Write a number, such as 3.5")
    return value
