"""Pairs of sentences: the public test sets, and pairs from a file or a text box.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from semsearch import SemsearchError
from semsearch.evaluation import sts_tasks

from . import messages

DATA = "SEMSEARCH_DATA"
MOST = 20_000
SUFFIXES = ("csv", "tsv", "txt", "jsonl", "ndjson")  # of files that are offered for upload
SIDES = (
    ("sentence1", "text1", "sent1", "s1", "a"),
    ("sentence2", "text2", "sent2", "s2", "b"),
    ("score", "gold", "label", "similarity", "similarityscore"),
)
LETTERS = ("a", "b")  # a heading only alone or with a score, as they may be two texts
WRITE = "Write: sentence1, sentence2, score"
Row = tuple[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, and their human score, if any."""

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
        with suppress(ValueError):
            json.loads(text)
            raise SemsearchError("This is one JSON list.", 'Write one object a line: {"sentence1": …, "sentence2": …}')
    listed = []
    for pair in _of_lines(text) if start.startswith("{") else _of_rows(_rows(text)):
        listed.append(pair)
        if len(listed) > MOST:
            raise SemsearchError(f"There are more than {MOST:,} pairs.", "Use fewer, or: semsearch sts --pairs FILE")
    return listed


def read_scored(text: str) -> list[Pair]:
    """The same, where every pair must have a score. Raises SemsearchError."""
    listed = read(text)
    if lacking := sum(pair.gold is None for pair in listed):
        raise SemsearchError(f"{lacking} of {len(listed)} pairs have no score.", WRITE)
    return listed


def split(pairs: Sequence[Pair]) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Sentences and scores of pairs that all have a score, as the functions of semsearch take them."""
    return tuple((pair.first, pair.second) for pair in pairs), tuple(pair.gold or 0.0 for pair in pairs)


def _of_lines(text: str) -> Iterator[Pair]:
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


def _of_record(number: int, record: Mapping[str, object]) -> Pair:
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


def _of_rows(rows: Iterator[Row]) -> Iterator[Pair]:
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


def _of_row(number: int, row: Sequence[str]) -> Pair:
    if len(row) not in (2, 3):
        many = "1 column" if len(row) == 1 else f"{len(row)} columns"
        raise SemsearchError(
            f"Line {number} has {many}, where a pair has 2, or 3 with its score.",
            "Put a sentence with a comma in it in quotation marks, or use tabs.",
        )
    return _pair(number, *row)


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
