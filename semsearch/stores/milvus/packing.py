"""Texts of any length in columns of at most 65,535 bytes: as they are, compressed, or in parts in rows of their own.

The first character says how: J as it is, Z compressed, P the key and the number of its parts. Parts are named by their
content, so that writing them twice gives the same rows, and nothing that is still read is overwritten.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Iterable, Mapping

from semsearch.errors import Corrupt

LONGEST = 60_000  # bytes of a column, below Milvus's limit of 65,535
_DAMAGE = (ValueError, zlib.error, binascii.Error, KeyError)


def pack(text: str, owner: str) -> tuple[str, dict[str, str]]:
    """The value of a column, and the parts by their keys; `owner` is what the text belongs to."""
    if len(text) <= LONGEST and len(text.encode()) < LONGEST:
        return f"J{text}", {}
    packed = base64.b64encode(zlib.compress(text.encode())).decode()
    if len(packed) < LONGEST:
        return f"Z{packed}", {}
    name = hashlib.sha256(f"{owner}\0{packed}".encode()).hexdigest()[:24]
    pieces = [packed[at : at + LONGEST] for at in range(0, len(packed), LONGEST)]
    return f"P{name}{len(pieces)}", {f"{name}{at:08x}": piece for at, piece in enumerate(pieces)}


def parts_of(values: Iterable[str]) -> list[str]:
    """The keys of the parts of some columns."""
    return [f"{value[1:25]}{at:08x}" for value in values if value[:1] == "P" for at in range(int(value[25:]))]


def unpack(value: str, parts: Mapping[str, str]) -> str:
    """The text of a column. Raises Corrupt where a part is missing or damaged."""
    try:
        if value[0] == "J":
            return value[1:]
        packed = value[1:] if value[0] == "Z" else "".join(parts[key] for key in parts_of([value]))
        return zlib.decompress(base64.b64decode(packed, validate=True)).decode()
    except (*_DAMAGE, IndexError) as error:
        raise Corrupt(
            f"a row is not what was written ({type(error).__name__}: {error}).",
            "Verify the index, which names the document; then index that again.",
            "semsearch verify names the document; then index that again.",
        ) from error
