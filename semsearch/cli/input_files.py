"""Input files of commands: queries, texts, pairs and relevance judgements."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import judged_queries


def read_lines(file: str) -> Iterator[tuple[int, str]]:
    """(line number, line) of a UTF-8 file, or of stdin for `-`. Raises NotFound, UsageError."""
    if file != "-" and not Path(file).exists():
        raise NotFound(f"{file} does not exist.", "Check the spelling and the current folder.")
    if file != "-" and Path(file).is_dir():
        raise UsageError(f"{file} is a folder, not a file.", "Name a file in it.")
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 (byte {error.start}).", "Convert it: iconv -t utf-8") from None
    for number, line in enumerate(text.split("\n"), 1):
        yield number, line.removesuffix("\r")


def read_texts(file: str) -> list[str]:
    """The lines of a file, blank ones too, so that row n of the vectors is line n; of JSON lines the field `text`."""
    lines = [line for _, line in read_lines(file)]
    if lines and not lines[-1]:
        lines.pop()  # the empty string after the last newline
    if file.endswith((".jsonl", ".ndjson")):
        return [
            judged_queries.query_of_json(line, file, number)[1] for number, line in enumerate(lines, 1) if line.strip()
        ]
    return lines


def read_queries(file: str) -> list[tuple[str, str]]:
    """(id, text) of each query: one per line, id<TAB>text, or JSON lines with `_id` or `id`, and `text` or `query`.

    The id defaults to the line number. Blank lines are skipped.
    """
    return judged_queries.read_queries(read_lines(file), file)


def read_qrels(file: str) -> dict[str, dict[str, int]]:
    """query id -> document id -> grade: TREC (`qid 0 docid grade`) or tab-separated (`qid docid grade`, BEIR)."""
    return judged_queries.read_qrels(read_lines(file), file)


class _PlainTabs(csv.excel_tab):
    """STS files use quotation marks as text."""

    quoting = csv.QUOTE_NONE


def read_pairs(file: str) -> list[tuple[str, str, float | None]]:
    """(a, b, gold score or None) of each pair: tab-separated, CSV, or JSON lines.

    A record has a (or sentence1), b (or sentence2) and score; rows have them in this order.
    """
    lines = [(number, line) for number, line in read_lines(file) if line.strip()]
    if not lines:
        raise UsageError(f"{file} contains no pair.", "Write `text<TAB>text` on each line.")
    if lines[0][1].lstrip().startswith("{"):
        return [_pair_of_record(file, number, line) for number, line in lines]
    dialect = _PlainTabs if "\t" in lines[0][1] else csv.excel
    rows = list(csv.reader((line + "\n" for _, line in lines), dialect))
    if rows[0][:2] in (["a", "b"], ["sentence1", "sentence2"]) and rows[0][2:] in ([], ["score"]):
        rows, lines = rows[1:], lines[1:]
    return [_pair_of_row(f"{file}:{number}", row) for row, (number, _) in zip(rows, lines, strict=False)]


def _pair_of_row(where: str, row: list[str]) -> tuple[str, str, float | None]:
    if len(row) not in (2, 3):
        raise UsageError(f"{where}: {len(row)} columns; a pair has 2, or 3 with a score.", "See: semsearch sts --help")
    return row[0], row[1], _score(where, row[2]) if len(row) == 3 else None


def _pair_of_record(file: str, number: int, line: str) -> tuple[str, str, float | None]:
    record = judged_queries.json_object(line, file, number)
    first, second = (next((record[key] for key in keys if key in record), None) for keys in _SIDES)
    if not isinstance(first, str) or not isinstance(second, str):
        raise UsageError(f"{file}:{number}: a pair needs two texts, a and b.", 'Write {"a": "…", "b": "…"}.')
    score = record.get("score")
    return first, second, None if score is None else _score(f"{file}:{number}", score)


def read_examples(file: str) -> list[tuple[str, str]]:
    """(text, label) of each example: text<TAB>label, CSV or tab-separated with the heads text and label, JSON lines."""
    lines = [(number, line) for number, line in read_lines(file) if line.strip()]
    if not lines:
        raise UsageError(f"{file} contains no example.", "Write `text<TAB>label` on each line.")
    if lines[0][1].lstrip().startswith("{"):
        return [_example(f"{file}:{number}", judged_queries.json_object(line, file, number)) for number, line in lines]
    dialect = _PlainTabs if "\t" in lines[0][1] else csv.excel
    rows = list(csv.reader((line + "\n" for _, line in lines), dialect))
    heads = rows[0] if {"text", "label"} <= set(rows[0]) else ["text", "label"]
    skipped = int(heads is rows[0])
    return [
        _example(f"{file}:{number}", dict(zip(heads, row, strict=False)) if len(row) == len(heads) else {})
        for row, (number, _) in zip(rows[skipped:], lines[skipped:], strict=False)
    ]


def _example(where: str, record: Mapping[str, object]) -> tuple[str, str]:
    text, label = record.get("text"), record.get("label")
    if not isinstance(text, str) or not isinstance(label, str) or not text.strip() or not label.strip():
        raise UsageError(f"{where}: an example needs a text and a label.", "Write `text<TAB>label` on each line.")
    return text, label.strip()


def _score(where: str, value: object) -> float:
    with suppress(ValueError):
        if math.isfinite(score := float(str(value))):
            return score
    raise UsageError(f"{where}: {value!r} is not a score.", "Write a number.")


_SIDES = (("a", "sentence1", "text1"), ("b", "sentence2", "text2"))
