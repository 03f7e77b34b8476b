"""Tables: the first record decides the columns, then each record gives its texts and its label."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from semsearch.training.datasets import _columns, _labels
from semsearch.training.datasets._columns import LABEL, SCORE
from semsearch.training.datasets._rows import InvalidRow, Row
from semsearch.training.datasets._skipped import SkipCounts
from semsearch.training.datasets.dataset import Dataset
from semsearch.types import JsonObject

Prefer = Literal["score", "label"]
Take = Callable[[Any], list[Any]]  # record -> texts, and the label where there is one


class Table:
    """Rows of which the first may be a header. `source` names the columns that are read."""

    def __init__(
        self,
        rows: Iterator[Row],
        name: str,
        source: str,
        wanted: Mapping[str, str],
        prefer: Prefer,
        skipped: SkipCounts,
    ) -> None:
        self._name, self._skipped = name, skipped
        number, head = self._first(rows, source)
        self._width, first = 0, [(number, head)]
        roles = self._roles(head, wanted, source)
        self._rows = rows if self._width else chain(first, rows)
        self._texts = [roles[each] for each in _columns.TEXTS if each in roles]
        self._names = [each for each in _columns.TEXTS if each in roles]
        self._role = next((each for each in (prefer, SCORE, LABEL) if each in roles), None)
        read = [*self._texts, *([roles[self._role]] if self._role else [])]
        named = isinstance(head, dict) or self._width
        self.source = f"{source} ({', '.join(read)})" if named else source
        places = read if isinstance(head, dict) else [self._places(head, each) for each in read]
        self._take: Take = lambda row: [row[at] for at in places]

    @property
    def is_single(self) -> bool:
        """Whether its records have one text each. A label of a single text is not used."""
        return len(self._texts) == 1

    def singles(self) -> Iterator[tuple[str, str]]:
        """(place, text) of each record."""
        for line, texts, _ in self._records():
            yield f"{self._name}:{line}", texts[0]

    def grouped(self, order: Sequence[str]) -> Dataset:
        """Pairs or triplets, with their labels where there are any."""
        columns: list[list[str]] = [[] for _ in self._texts]
        words: list[str] = []
        numbers = array("q")
        for line, texts, word in self._records():
            stripped = [text.strip() for text in texts]
            if "" in stripped:
                self._skip(line, f"no {self._names[stripped.index('')]}")
                continue
            for column, text in zip(columns, stripped, strict=True):
                column.append(text)
            words.append(word)
            numbers.append(line)
        found = self._labels(words, numbers, order)
        labels = None if found is None else [label for label in found if label is not None]
        if found is not None:
            columns = [[text for text, at in zip(each, found, strict=True) if at is not None] for each in columns]
        if not columns[0]:
            raise self._skipped.nothing_left(self.source)
        return Dataset(dict(zip(self._names, columns, strict=True)), labels, self.source, self._skipped.as_dict())

    def _first(self, rows: Iterator[Row], source: str) -> tuple[int, Sequence[str] | JsonObject]:
        for number, row in rows:
            if not isinstance(row, InvalidRow):
                return number, row
            self._skip(number, row.reason)
        raise self._skipped.nothing_left(source)

    def _roles(self, head: Sequence[str] | JsonObject, wanted: Mapping[str, str], source: str) -> dict[str, str]:
        """Role -> column. Sets the width where the first row is a header."""
        if isinstance(head, dict):
            roles = _columns.resolve(list(head), wanted, source) if wanted else _columns.recognise(list(head))
            if not roles:
                raise _columns.unrecognised(list(head), source)
            return roles
        numbered = [str(at) for at in range(1, len(head) + 1)]
        if wanted and {each.lower() for each in wanted.values()}.isdisjoint(map(str.lower, head)):
            if all(each.isdecimal() for each in wanted.values()):
                return _columns.resolve(numbered, wanted, source)
        elif not wanted and not _columns.recognise(head):
            roles = _columns.without_header(head)
            if not roles:
                raise _columns.unrecognised(head, source)
            return roles
        self._width = len(head)
        return _columns.resolve(head, wanted, source) if wanted else _columns.recognise(head)

    def _places(self, head: Sequence[str], column: str) -> int:
        return head.index(column) if self._width else int(column) - 1

    def _records(self) -> Iterator[tuple[int, list[str], str]]:
        """(line, texts, label as written) of each record; invalid ones are counted."""
        width, take, many = self._width, self._take, len(self._texts)
        for line, row in self._rows:
            if isinstance(row, InvalidRow):
                self._skip(line, row.reason)
                continue
            if width and len(row) > width:
                self._skip(line, "more cells than the header")
                continue
            try:
                values = take(row)
            except LookupError:
                self._skip(line, "fewer fields than the first record" if isinstance(row, dict) else "too few cells")
                continue
            word = _written(values[-1]) if self._role else ""
            texts = values[:many]
            if all(type(text) is str for text in texts):
                yield line, texts, word
            else:
                for each in _spread(texts):
                    yield line, each, word

    def _labels(self, words: Sequence[str], numbers: Sequence[int], order: Sequence[str]) -> list[float | None] | None:
        if self._role is None:
            return None
        role: Prefer = "score" if self._role == SCORE else "label"
        known = _labels.to_numbers(set(words), role, order)
        labels = [known.get(word) for word in words]
        for at, label in enumerate(labels):
            if label is None:
                reason = _labels.NO_GOLD if _labels.is_missing(words[at], role) else _labels.UNKNOWN
                self._skip(numbers[at], reason)
        return labels

    def _skip(self, line: int, reason: str) -> None:
        self._skipped.add(reason, f"{self._name}:{line}")


def _written(value: object) -> str:
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
    return "" if value is None or isinstance(value, dict | list | bool) else str(value)
