"""Pairs of sentences: the public test sets, and pairs as people write and paste them.

sentence1,sentence2,score            CSV, also with ; or |; the heading and the score can be left out
sentence1<TAB>sentence2<TAB>score    TSV: a quotation mark is a quotation mark
{"sentence1": …, "sentence2": …}     JSON lines
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import streamlit as st

from semsearch import SemsearchError
from semsearch.evaluation import sts_tasks
from semsearch.types import JsonObject

from . import messages

DATA = "SEMSEARCH_DATA"
MOST = 20_000
SUFFIXES = ("csv", "tsv", "txt", "jsonl", "ndjson")  # of files that are offered for upload
SIDES = (
    ("sentence1", "text1", "sent1", "s1", "a"),
    ("sentence2", "text2", "sent2", "s2", "b"),
    ("score", "gold", "label", "similarity", "similarityscore"),
)
LETTERS = ("a", "b")  # a heading only if nothing but a score is beside them, as they may be two texts
WRITE = "Write: sentence1, sentence2, score"
Row = tuple[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, and the score that people gave them, if any."""

    first: str
    second: str
    gold: float | None = None


def public_sets(split: str) -> Sequence[str]:
    """The STS tasks on this machine that have this split; none, with a note on what to set, where no test set is."""
    try:
        return sts_tasks(split=split)
    except SemsearchError as error:
        why = f"{messages.capitalized(error.message)} The variable {DATA} names the folder of public test sets, in "
        messages.info(
            f"{why}SentEval's layout (STS/ and SICK/). Set it, and start these pages again:", icon="folder_off"
        )
        st.code(f"{DATA}=~/senteval/data semsearch ui", language="sh")
        return ()


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 as spreadsheets save it. Raises SemsearchError."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise SemsearchError(f"The file is not UTF-8 (byte {error.start}).", "Save it as UTF-8.") from None


def read(text: str) -> list[Pair]:
    """The pairs in a text, in order. Raises SemsearchError that names the line.

    >>> read("sentence1,sentence2,score\\nA car.,An auto.,4.5")
    [Pair(first='A car.', second='An auto.', gold=4.5)]
    """
    text = text.removeprefix("\ufeff")
    start = text.lstrip()
    if not start:
        return []
    if start.startswith("["):
        try:
            is_list = isinstance(json.loads(text), list)
        except ValueError:
            is_list = False
        if is_list:
            raise SemsearchError("This is one JSON list.", 'Write one object a line: {"sentence1": …, "sentence2": …}')
    found = []
    for pair in _records(text) if start.startswith("{") else _of_rows(_rows(text)):
        found.append(pair)
        if len(found) > MOST:
            raise SemsearchError(f"There are more than {MOST:,} pairs.", "Use fewer, or: semsearch sts --pairs FILE")
    return found


def read_scored(text: str) -> list[Pair]:
    """The same, where every pair must have a score. Raises SemsearchError."""
    found = read(text)
    if lacking := sum(pair.gold is None for pair in found):
        raise SemsearchError(f"{lacking} of {len(found)} pairs have no score.", WRITE)
    return found


def _records(text: str) -> Iterator[Pair]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise SemsearchError(f"Line {number} is broken JSON.", "Write one object per line.") from None
        if not isinstance(record, dict):
            raise SemsearchError(f"Line {number} is no JSON object.", "Write one object per line.")
        yield _pair(number, *(_first(record, names) for names in SIDES))


def _first(record: JsonObject, names: Sequence[str]) -> object:
    return next((record[name] for name in names if name in record), None)


def _rows(text: str) -> Iterator[Row]:
    """Line number and cells of every row that is not blank."""
    lines = io.StringIO(text, newline="")  # ends at \r, \n or both, and nowhere within a cell
    head = next(line.strip("\r\n") for line in lines if line.strip())
    lines.seek(0)
    tabs = "\t" in head
    reader = csv.reader(lines, delimiter=_delimiter(head), quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL)
    while True:
        number = reader.line_num + 1  # a quoted cell can go over several lines
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise SemsearchError(f"Line {number} cannot be read as a row: {error}.", WRITE) from None
        if any(cell.strip() for cell in row):
            yield number, row


def _delimiter(head: str) -> str:
    if "\t" in head:
        return "\t"
    return min(",;|", key=lambda each: _unlike_a_pair(next(csv.reader([head], delimiter=each))))


def _unlike_a_pair(cells: Sequence[str]) -> int:
    """0 for two texts and a number, more for what is less like a pair."""
    if len(cells) == 3:
        return 0 if re.fullmatch(r"\s*[+-]?\d+([.,]\d+)?\s*", cells[2]) else 2
    return {1: 4, 2: 1}.get(len(cells), 3)


def _of_rows(rows: Iterator[Row]) -> Iterator[Pair]:
    number, row = next(rows)
    places = _heading(number, row)
    if places is None:
        yield _of_row(number, row, first=True)
        places = ()
    for number, row in rows:
        yield _of_row(number, row, places)


def _heading(number: int, row: Sequence[str]) -> Sequence[int | None] | None:
    """Where the columns are, by their names; None where the first row is no heading."""
    names = [re.sub(r"[\s_-]", "", cell).lower() for cell in row]
    if tuple(names[:2]) == LETTERS:
        return range(len(names)) if len(names) == 2 or (len(names) == 3 and names[2] in SIDES[2]) else None
    places = [
        next((names.index(name) for name in known if name in names and name not in LETTERS), None) for known in SIDES
    ]
    if places[0] is None and places[1] is None:
        return None
    for place, known in zip(places[:2], SIDES, strict=False):
        if place is None:
            raise SemsearchError(f"The heading in line {number} has no column {known[0]}.", WRITE)
    return places


def _of_row(number: int, row: Sequence[str], places: Sequence[int | None] = (), *, first: bool = False) -> Pair:
    if places:
        if len(row) <= max(place for place in places[:2] if place is not None):
            raise SemsearchError(f"Line {number} has fewer columns than the heading.", WRITE)
        return _pair(number, *(row[at] if at is not None and at < len(row) else None for at in places))
    if len(row) not in (2, 3):
        many = "1 column" if len(row) == 1 else f"{len(row)} columns"
        raise SemsearchError(
            f"Line {number} has {many}, where a pair has 2, or 3 with its score.",
            "Put a sentence with a comma in it in quotation marks, or use tabs.",
        )
    try:
        return _pair(number, *row)
    except SemsearchError as error:
        if not first:
            raise
        raise SemsearchError(error.message, f"{error.fix}. If it is a heading: sentence1, sentence2, score") from None


def _pair(number: int, first: object, second: object, score: object = None) -> Pair:
    for side, name in ((first, "sentence1"), (second, "sentence2")):
        if not isinstance(side, str) or not side.strip():
            raise SemsearchError(f"Line {number} has no text as {name}.", WRITE)
    return Pair(str(first).strip(), str(second).strip(), _score(number, score))


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
