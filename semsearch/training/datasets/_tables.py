"""Tables: the first record determines the columns; every record then has its texts and its label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from semsearch.errors import UsageError
from semsearch.training.datasets import columns
from semsearch.training.datasets._rows import InvalidRow, Row
from semsearch.training.datasets.columns import LABEL, SCORE
from semsearch.training.datasets.dataset import Dataset, SkipCounts
from semsearch.types import JsonObject

Prefer = Literal["score", "label"]
Head = Sequence[str] | JsonObject
ORDERS = (  # known labels, least similar first
    ("contradiction", "neutral", "entailment"),
    ("not_entailment", "entailment"),
    ("false", "true"),
    ("no", "yes"),
)
MISSING = ("", "-", "none", "null", "nan", "n/a")  # SNLI has - where its annotators disagreed
NO_GOLD, UNKNOWN = "no gold label", "a label that is neither a number nor a known word"


class Table:
    """Rows of which the first may be a header. `source` names the columns that are read."""

    def __init__(
        self,
        rows: Iterator[Row],
        name: str,
        source: str,
        named_columns: Mapping[str, str],
        prefer: Prefer,
        skipped: SkipCounts,
    ) -> None:
        self._name, self._skipped = name, skipped
        number, head = self._first(rows, source)
        roles, self._width = _roles(head, named_columns, source)
        self._rows = rows if self._width else chain([(number, head)], rows)
        self._names = [each for each in columns.TEXTS if each in roles]
        self._role = next((each for each in (prefer, SCORE, LABEL) if each in roles), None)
        read = [roles[each] for each in (*self._names, self._role) if each]
        self._keys: list[Any] = read
        if not isinstance(head, dict):
            self._keys = [head.index(each) if self._width else int(each) - 1 for each in read]
        named = isinstance(head, dict) or self._width
        self.source = f"{source} ({', '.join(read)})" if named else source

    @property
    def is_single(self) -> bool:
        """Whether its records have one text each. A label of a single text is not used."""
        return len(self._names) == 1

    def singles(self) -> Iterator[tuple[str, str]]:
        """(place, text) of each record."""
        for line, texts, _ in self._records():
            yield f"{self._name}:{line}", texts[0]

    def grouped(self, order: Sequence[str]) -> Dataset:
        """Pairs or triplets, with their labels where there are any."""
        rows = []
        for line, texts, word in self._records():
            if "" in texts:
                self._skip(line, f"no {self._names[texts.index('')]}")
            else:
                rows.append((line, texts, word))
        labels = None
        if self._role is not None:
            role: Prefer = "score" if self._role == SCORE else "label"
            numbers = to_numbers({word for *_, word in rows}, role, order)
            for line, _, word in rows:
                if word not in numbers:
                    self._skip(line, NO_GOLD if _is_missing(word, role) else UNKNOWN)
            rows = [row for row in rows if row[-1] in numbers]
            labels = [numbers[word] for *_, word in rows]
        if not rows:
            raise self._skipped.nothing_left(self.source)
        texts_by_role = {name: [texts[at] for _, texts, _ in rows] for at, name in enumerate(self._names)}
        return Dataset(texts_by_role, labels, self.source, self._skipped.as_dict())

    def _first(self, rows: Iterator[Row], source: str) -> tuple[int, Head]:
        for number, row in rows:
            if not isinstance(row, InvalidRow):
                return number, row
            self._skip(number, row.reason)
        raise self._skipped.nothing_left(source)

    def _records(self) -> Iterator[tuple[int, list[str], str]]:
        """(line, texts, label as written) of each record; invalid ones are counted."""
        width, keys, many = self._width, self._keys, len(self._names)
        for line, row in self._rows:
            if isinstance(row, InvalidRow):
                self._skip(line, row.reason)
                continue
            if width and len(row) > width:
                self._skip(line, "more cells than the header")
                continue
            try:
                values = [row[key] for key in keys]
            except LookupError:
                self._skip(line, "fewer fields than the first record" if isinstance(row, dict) else "too few cells")
                continue
            word = _label_text(values[-1]) if self._role else ""
            rows = _spread(values[:many]) if isinstance(row, dict) else [[cell.strip() for cell in values[:many]]]
            for texts in rows:
                yield line, texts, word

    def _skip(self, line: int, reason: str) -> None:
        self._skipped.add(reason, f"{self._name}:{line}")


def to_numbers(words: Iterable[str], role: Prefer, order: Sequence[str] = ()) -> Mapping[str, float]:
    """Each valid label and its number: its index in `order`, by default its value, or its index in one of ORDERS.

    A label of -1 means none, as in the data sets of Hugging Face; a score of -1 is valid.

    >>> dict(to_numbers(["entailment", "Neutral", "-"], "label"))
    {'entailment': 2.0, 'Neutral': 1.0}
    """
    plain = {word: word.strip().lower() for word in words if not _is_missing(word, role)}
    present = set(plain.values())
    if not order:
        order = max(ORDERS, key=lambda each: len(present.intersection(each)))
        order = order if present.intersection(order) else ()
    places = {name.lower(): float(at) for at, name in enumerate(order)}
    numbers = {word: places.get(each) if places else columns.number(each) for word, each in plain.items()}
    return {word: number for word, number in numbers.items() if number is not None and math.isfinite(number)}


def _is_missing(word: str, role: Prefer) -> bool:
    """Whether a label means that there is none."""
    return word.strip().lower() in MISSING or (role == "label" and word.strip() in ("-1", "-1.0"))


def _roles(head: Head, named: Mapping[str, str], source: str) -> tuple[dict[str, str], int]:
    """Role -> column, and the number of columns if the first row is a header, else 0."""
    names = list(head)
    numbered = False
    if not isinstance(head, dict):
        lower = {each.lower() for each in named.values()}
        by_number = bool(named) and lower.isdisjoint(map(str.lower, names)) and all(map(str.isdecimal, lower))
        numbered = by_number or not (named or columns.recognise(names))
    if named:
        roles = columns.resolve([str(at) for at in range(1, len(names) + 1)] if numbered else names, named, source)
    else:
        roles = columns.without_header(names) if numbered else columns.recognise(names)
    if not roles:
        raise UsageError(
            f"the columns of {source} are not recognised: {columns.listed(names)}.",
            "Name them: anchor=NAME, positive=NAME, negative=NAME, score=NAME, or anchor alone.",
            "Name them: --columns anchor=NAME,positive=NAME[,negative=NAME][,score=NAME], or anchor alone.",
        )
    return roles, 0 if numbered or isinstance(head, dict) else len(names)


def _label_text(value: object) -> str:
    """A label as text; JSON has numbers, true and null too."""
    if isinstance(value, str):
        return value
    return "" if value is None else str(value).lower()


def _spread(values: Sequence[object]) -> list[list[str]]:
    """Rows of a record with lists of texts, as for positives and negatives: one per entry of the longest list.

    >>> _spread(["q", ["a", "b"], ["x"]])
    [['q', 'a', 'x'], ['q', 'b', 'x']]
    """
    lists = [[_text(each) for each in value] if isinstance(value, list) else [_text(value)] for value in values]
    if not all(lists):
        return [["" if not each else each[0] for each in lists]]
    return [[each[at % len(each)] for each in lists] for at in range(max(map(len, lists)))]


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, dict | list | bool) else str(value).strip()
