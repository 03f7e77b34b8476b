"""How rows are encoded on disk: packed texts, half-precision vectors, and the checksums that guard them."""

from __future__ import annotations

import zlib

import numpy as np

FLOAT16 = np.dtype("<f2")  # half the room; the order of cosines changes beyond the third decimal only
COMPRESSION = 6


def passage_crc(row_id: int, document: int, start: int, end: int, text: str) -> int:
    """CRC-32 of a passage's text and of its place, so that the right text in the wrong place fails too."""
    return zlib.crc32(text.encode(), zlib.crc32(f"{row_id} {document} {start} {end}".encode()))


def vector_crc(row_id: int, blob: bytes) -> int:
    """CRC-32 of a vector's bytes, seeded with its passage's id."""
    return zlib.crc32(blob, row_id & 0xFFFFFFFF)


def compress(text: str) -> bytes:
    """A text as it is stored in `documents.body`."""
    return zlib.compress(text.encode(), COMPRESSION)


def decompress(body: bytes) -> str:
    """The text of a stored body. Raises ValueError where it is damaged."""
    try:
        return zlib.decompress(body).decode()
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from error
