"""Filters from values and structures, written as text of the filter language.

bind("year > :year and lang in :langs", {"year": 2020, "langs": ["en", "de"]})
from_mapping({"year": {"$gt": 2020}, "lang": {"$in": ["en", "de"]}})
both give      "year" > 2020 and "lang" in ('en', 'de')

A value becomes a literal of its own type and nothing else, whatever it contains: a text is always quoted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime
from math import isfinite

from semsearch.documents.parsing.json_size import is_nested_deeper
from semsearch.errors import BadFilter
from semsearch.stores.filters import BUILTINS

LONGEST = 100_000  # characters of a filter; a list of ids may be long
_PLACEHOLDER = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w:]):(?P<name>[A-Za-z_]\w*)""")
_COMPARISONS = {"$eq": "=", "$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_COMPARISONS |= {"$like": "like", "$contains": "contains"}
_OPERATORS = (*_COMPARISONS, "$in", "$nin", "$exists", "$not", "$and", "$or", "$metadata")


def bind(text: str, values: Mapping[str, object]) -> str:
    """The filter `text` with a literal in place of each `:name`. Raises BadFilter for names that do not match."""
    if len(text) > LONGEST:
        raise BadFilter(f"the filter has {len(text):,} characters; {LONGEST:,} is the most.")
    used: set[str] = set()

    def literal_of(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return match[0]
        if name not in values:
            raise BadFilter(
                f"the filter asks for :{name}, and values has {_listed(values)}.",
                "Pass it, or put quotes around a text.",
            )
        used.add(name)
        value = values[name]
        return _among(value) if isinstance(value, list | tuple | set | frozenset) else _literal(value)

    bound = _PLACEHOLDER.sub(literal_of, text)
    if unused := set(values) - used:
        raise BadFilter(f"values has {_listed(unused)}, which the filter does not use.", f"Write :{min(unused)} in it.")
    return bound


def from_mapping(where: Mapping[str, object], builtins: Collection[str] = BUILTINS) -> str:
    """The text of a structure of fields and operators, as MongoDB and Chroma have them. Raises BadFilter.

    Several fields, and several operators of one field, all have to hold. A dotted field is a nested key. A name that is
    not among `builtins` is a key of the metadata; below `$metadata`, every name is.
    """
    if is_nested_deeper(where):
        raise BadFilter("the filter is nested too deep.", "Write it with fewer parts in parts.")
    return _all_of(where, builtins)


def _all_of(where: object, builtins: Collection[str]) -> str:
    if not isinstance(where, Mapping) or not where:
        raise BadFilter(f"a filter must be a mapping with at least one field, not {where!r:.60}.", _EXAMPLE)
    return " and ".join(_part(name, condition, builtins) for name, condition in where.items())


_EXAMPLE = 'Write for example {"year": {"$gt": 2020}, "lang": "en"}.'


def _part(name: str, condition: object, builtins: Collection[str]) -> str:
    if name in ("$and", "$or"):
        if not isinstance(condition, list | tuple) or not condition:
            raise BadFilter(f"{name} needs a list of filters, not {condition!r:.60}.", _EXAMPLE)
        return "(" + f" {name[1:]} ".join(f"({_all_of(part, builtins)})" for part in condition) + ")"
    if name == "$not":
        return f"not ({_all_of(condition, builtins)})"
    if name == "$metadata":
        return f"({_all_of(condition, ())})"
    if not isinstance(name, str) or not name or name.startswith("$"):
        raise BadFilter(f"{name!r} is no field and no operator.", f"Operators: {', '.join(_OPERATORS)}.")
    field = name if name in builtins else ".".join(_quoted(key, '"') for key in name.split("."))
    if not isinstance(condition, Mapping):
        return f"{field} = {_literal(condition)}"
    if not condition:
        raise BadFilter(f"there is no operator for {name!r}.", _EXAMPLE)
    return " and ".join(_comparison(field, operator, value) for operator, value in condition.items())


def _comparison(field: str, operator: str, value: object) -> str:
    if operator in _COMPARISONS:
        return f"{field} {_COMPARISONS[operator]} {_literal(value)}"
    if operator in ("$in", "$nin"):
        return f"{field} {'not ' if operator == '$nin' else ''}in {_among(value)}"
    if operator == "$exists":
        return f"{field} {'' if value else 'not '}exists"
    if operator == "$not" and isinstance(value, Mapping) and value:
        return "not (" + " and ".join(_comparison(field, inner, each) for inner, each in value.items()) + ")"
    raise BadFilter(f"{operator!r} is no operator.", f"Operators: {', '.join(_OPERATORS)}.")


def _among(values: object) -> str:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise BadFilter(f"a list of values is needed, not {values!r:.60}.", 'Write for example ["en", "de"].')
    literals = [_literal(value) for value in values]
    if not literals:
        raise BadFilter("a list of values is empty.", "Put one into it, or leave this part of the filter out.")
    return f"({', '.join(literals)})"


def _literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and isfinite(value):
        return repr(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None, microsecond=0).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return _quoted(value, "'")
    raise BadFilter(
        f"a filter cannot compare with {value!r:.60} (of type {type(value).__name__}).",
        "A value is a text, a finite number, True, False, None or a date.",
    )


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(map(str, names))) or "nothing"
