"""What filters ask of a document or passage, in two columns that mean the same in every version of Milvus.

`tokens` is a list of texts: the fields that there are, with their type, and those with one value, with it. Whether a
list has a token is true or false, never unknown, also behind `not`. `facts` are the values to compare by order. An
expression on Milvus's JSON itself would not do: whether `not meta["year"] < 2000` holds for a document without a year
differs from version to version.

A name or value with a quote, backslash or control character never enters an expression; see `expressions`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from semsearch.types import JsonObject

LONGEST = 120  # characters of a value that a token has
MOST_OF_TOKEN = 400  # bytes of a name, and of a value
MOST_TOKENS = 1_000
MOST_BYTES = 50_000
OVERFLOW = "~"  # the only token of a document with more of them: filters read it itself
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}")
_LAST_WHOLE = 2**53


def is_plain(text: str) -> bool:
    """Whether a text may stand in an expression."""
    return text.isprintable() and not any(char in "\"'\\" for char in text)


def field_name(names: Sequence[str]) -> str | None:
    """How a path of keys is called in tokens; None for one that is not plain."""
    joined = ".".join(names)
    plain = all(name and is_plain(name) and not set(name) & set(".=@~/") for name in names)
    return joined if plain and len(joined.encode()) <= MOST_OF_TOKEN else None


def number(value: float) -> str | None:
    """A number as it is written in tokens and expressions; None for one that has other forms too."""
    if abs(value) >= _LAST_WHOLE:
        return None
    text = repr(float(value) + 0.0)  # -0.0 is 0.0
    return None if "e" in text else text


def of(metadata: Mapping[str, Any], builtins: Mapping[str, Any]) -> tuple[list[str], JsonObject]:
    """Tokens and facts of a document, or of a passage."""
    tokens: dict[str, None] = {}
    facts: JsonObject = {}
    for name, value in [*_walk(metadata), *((f"@{name}", value) for name, value in builtins.items())]:
        for token in _tokens(name, value):
            tokens[token] = None
        facts |= _facts(name, value)
    if len(tokens) > MOST_TOKENS or len(json.dumps([*tokens, facts], ensure_ascii=False).encode()) > MOST_BYTES:
        return [OVERFLOW], {}
    return list(tokens), facts


def _walk(values: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = field_name((*above, key))
        if name is None:
            continue
        yield name, value
        if isinstance(value, Mapping):
            yield from _walk(value, (*above, key))


def _tokens(name: str, value: Any) -> Iterator[str]:
    if value is None:
        return
    yield f"x.{name}"
    if isinstance(value, list):
        yield from (f"l.{name}={item}" for one in value if (item := atom(one)))
        return
    if kind := type_of(value):
        yield f"{kind}.{name}"
        if isinstance(value, str) and _ISO.match(value):
            yield f"d.{name}"
    if item := atom(value):
        yield f"{item[0]}.{name}={item[2:]}"


def type_of(value: Any) -> str:
    """s for a text, n for a number, b for true and false; "" for other values."""
    if isinstance(value, bool):
        return "b"
    return "s" if isinstance(value, str) else "n" if isinstance(value, int | float) else ""


def atom(value: Any) -> str | None:
    """Type and value in one text; None for what no token has."""
    if isinstance(value, bool):
        return f"b={int(value)}"
    if isinstance(value, str):
        short = len(value) <= LONGEST and len(value.encode()) <= MOST_OF_TOKEN
        return f"s={value}" if short and is_plain(value) else None
    if isinstance(value, int | float) and (text := number(value)):
        return f"n={text}"
    return None


def _facts(name: str, value: Any) -> JsonObject:
    if isinstance(value, bool) or value is None:
        return {}
    if isinstance(value, str):
        dated = {f"d.{name}": value[:32].replace(" ", "T")} if _ISO.match(value) else {}
        return {f"s.{name}": value[: LONGEST + 1], **dated}  # one more than a value that it is compared with
    return {f"n.{name}": _float(value)} if isinstance(value, int | float) else {}


def _float(value: float) -> float:
    """The nearest one; of an integer beyond all of them, the last."""
    return max(-sys.float_info.max, min(value, sys.float_info.max)) + 0.0
