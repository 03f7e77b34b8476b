"""What Lance says in its own way of a filter that is compiled to SQL (`sql.filters`).

Its conditions are on the columns of one row, which has what its document and its file have (`table`), and take no
parameters: each value is written as a literal, here and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from semsearch.stores.filters import (
    Compare,
    Contains,
    Date,
    Exists,
    Field,
    Filter,
    In,
    Like,
    check_keys,
    like_escaped,
)
from semsearch.stores.lance import facts
from semsearch.stores.lance.rows import KEYWORDS, spaced, terms_of
from semsearch.stores.lance.table import Table, text
from semsearch.stores.sql.filters import SQL, Dialect, compiled, joined, portable
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import exact_entry, has_cjk, required_words
from semsearch.stores.sql.tokenizer import GRAMS, WORDS
from semsearch.utils import globs

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_TO_LOWER = str.maketrans(_UPPER, _LOWER)
_ISO = "^[0-9]{4}-[0-9]{2}"
_MARK_OR_TEXT = re.compile(r"'(?:[^']|'')*'|\?")
_OWN_WORDS = f"concat(split_part(words, ' {KEYWORDS} ', 1), ' ')"
NOTHING: SQL = ("false", [])


class LanceFilters(Dialect):
    """The dialect of Lance."""

    false, loader, mtime = "false", "loader", "mtime"

    def __init__(self, table: Table) -> None:
        self._table = table

    def rows(self, sql: str, values: Sequence[object] = ()) -> Iterable[Sequence[Any]]:
        raise AssertionError("Lance answers no statement")

    def column(self, name: str) -> str:
        return "coalesce(path, document)" if name == "path" else name

    def condition(self, tree: Filter) -> str:
        """A filter as a condition on rows. Raises UnknownName for a metadata key that no document has."""
        check_keys(tree, self._exists, lambda: self.some_keys() if self._table.count("kind = 'document'") else None)
        return self.unchecked(tree)

    def unchecked(self, tree: Filter) -> str:
        """The same, of a filter whose keys are known."""
        return written(compiled(self, tree))

    def _exists(self, field: Field) -> bool:
        return bool(self._table.rows(["key"], f"kind = 'document' AND {_fact(facts.exists(field.names))}", limit=1))

    def on_path(self, pattern: str) -> SQL:
        regex = f"(?s){portable(globs.path_regex(pattern).pattern)}"
        places = ["document", "path", *(["concat(btrim(root, '/'), '/', path)"] if pattern.startswith("/") else [])]
        return joined(" OR ", [(f"regexp_like({place}, ?)", [regex]) for place in places])

    def of_builtin(self, tree: Any, column: str) -> SQL:
        return self._test(tree, column)

    def of_metadata(self, tree: Any) -> SQL:
        names = tree.field.names
        match tree:
            case Exists():
                return _fact(facts.exists(names)), []
            case Compare(_, "=", value) if not isinstance(value, Date):
                return _fact(facts.equals(names, value), facts.has_item(names, value)), []
            case In(_, choices):
                return _fact(*(form(names, one) for one in choices for form in (facts.equals, facts.has_item))), []
            case Contains(_, value) if not isinstance(value, str):
                return _fact(facts.has_item(names, value)), []
        value = tree.value if isinstance(tree, Compare) and not isinstance(tree.value, Date) else ""
        getter = "json_get_string" if isinstance(value, str) else "json_get_float"
        condition, values = self._test(tree, f"{getter}(fields, {text(facts.typed_field(names, value))})")
        test: SQL = (f"({_fact(facts.exists(names))} AND {condition})", values)
        if isinstance(tree, Contains):
            return joined(" OR ", [(_fact(facts.has_item(names, tree.value)), []), test])
        return test

    def _test(self, tree: Any, column: str) -> SQL:
        """A test of a text, a number or a day."""
        match tree:
            case Compare(_, op, Date(day)):
                there = f"replace(substr({column}, 1, {len(day)}), ' ', 'T')"
                return f"(regexp_like({column}, ?) AND {there} {op} ?)", [_ISO, day]
            case Compare(_, op, operand):
                return f"{column} {op} ?", [operand]
            case In(_, operand):
                return f"{column} IN ({', '.join('?' * len(operand))})", list(operand)
            case Like(_, pattern):
                return _like(column, pattern)
            case Contains(_, operand) if isinstance(operand, str):
                return _like(column, f"%{like_escaped(operand)}%")
        return NOTHING

    def some_keys(self) -> set[str]:
        rows = self._table.rows(["metadata"], "kind = 'document'", limit=200)
        return {key for row in rows for key in json.loads(row["metadata"])}


def containing(entry: str) -> str:
    """The condition that the text of a passage contains a word, a phrase or a CJK run.

    Raises UsageError for an entry without a letter or digit.
    """
    folded = fold(entry)
    plain, exact = required_words(folded), exact_entry(folded)
    tests = [] if has_cjk(exact) else [(_OWN_WORDS, terms_of(WORDS, " ".join(plain)))]
    tests += [("grams", terms_of(GRAMS, exact))] if len(exact) > 2 or has_cjk(exact) else []
    found = [f"coalesce(contains({column}, {text(spaced(terms))}), false)" for column, terms in tests if terms]
    return f"({' OR '.join(found)})" if found else "false"


def written(sql: SQL) -> str:
    """A condition with its values in place of the marks."""
    condition, values = sql
    left = iter(values)
    return _MARK_OR_TEXT.sub(lambda found: _literal(next(left)) if found[0] == "?" else found[0], condition)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) and abs(value) < 2**63 else f"CAST('{float(value)!r}' AS double)"


def _fact(*stated: str) -> str:
    """The condition that a row has one of these facts."""
    if len(stated) == 1:
        return f"array_has(facts, {text(stated[0])})"
    return f"array_has_any(facts, make_array({', '.join(map(text, stated))}))"


def _like(column: str, pattern: str) -> SQL:
    """Whether a text fits a pattern, but for the case of A to Z. A backslash at its end fits nothing."""
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        return NOTHING
    return f"(translate({column}, '{_UPPER}', '{_LOWER}') LIKE ?)", [pattern.translate(_TO_LOWER)]
