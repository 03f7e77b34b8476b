"""Texts as PostgreSQL can store them: its texts and jsonb have no NUL, so NUL is written as two control characters.

    NUL -> U+0001 U+0002      U+0001 -> U+0001 U+0003

Every text has one form, which differs from that of any other text, and they sort as the texts do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from semsearch.stores.records import storable
from semsearch.types import JsonObject

_STORED = str.maketrans({"\0": "\x01\x02", "\x01": "\x01\x03"})
_PAIR = re.compile("\x01([\x02\x03])")
_IN_JSON = re.compile(r"\\u000[01]")


def stored(text: str) -> str:
    """A text as it is stored."""
    return text.translate(_STORED) if "\0" in text or "\x01" in text else text


def restored(text: str) -> str:
    """The inverse of `stored`."""
    return _PAIR.sub(lambda pair: "\0" if pair[1] == "\x02" else "\x01", text) if "\x01" in text else text


def stored_or_none(text: str | None) -> str | None:
    return None if text is None else stored(text)


def restored_or_none(text: str | None) -> str | None:
    return None if text is None else restored(text)


def stored_json(packed: str) -> str:
    """JSON with all of its texts and keys as they are stored."""
    return json.dumps(_stored_value(json.loads(packed)), ensure_ascii=False) if _IN_JSON.search(packed) else packed


def _stored_value(value: object) -> object:
    if isinstance(value, str):
        return stored(value)
    if isinstance(value, list):
        return [_stored_value(item) for item in value]
    if isinstance(value, dict):
        made: JsonObject = {stored(key): _stored_value(item) for key, item in value.items()}
        return made
    return value


def stored_all(texts: Iterable[str]) -> list[str]:
    """Those of some texts that a store may have, as they are stored."""
    return list(map(stored, storable(texts)))
