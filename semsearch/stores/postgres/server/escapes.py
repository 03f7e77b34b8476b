"""Texts as PostgreSQL can store them: its texts and jsonb have no NUL, so NUL is written as two control characters.

    NUL -> U+0001 U+0002      U+0001 -> U+0001 U+0003

Every text has one form, which differs from that of any other text, and they sort as the texts do. A connection writes
and reads all of its texts so; JSON in a text has no control characters, and that for jsonb is made by `stored_json`.
"""

from __future__ import annotations

import json
import re

from semsearch.stores.postgres.server.address import Raw
from semsearch.stores.postgres.server.client import adapt, pq
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


class _Dumper(adapt.Dumper):
    oid = 0  # of no type, as psycopg writes a text: the server decides

    def dump(self, obj: str) -> bytes:
        return stored(obj).encode()


class _Loader(adapt.Loader):
    format = pq.Format.TEXT

    def load(self, data: bytes | bytearray | memoryview) -> str:
        return restored(bytes(data).decode())


class _BinaryLoader(_Loader):
    format = pq.Format.BINARY


def register(raw: Raw) -> None:
    """Let a connection write and read texts in this way."""
    raw.adapters.register_dumper(str, _Dumper)
    for loader in (_Loader, _BinaryLoader):
        raw.adapters.register_loader("text", loader)
