"""The layout of an index on disk, beside its store: a cache that may be deleted at any time.

One file, replaced atomically: a JSON header in a line, then ids (n,) as int64 and places (n, 2) as float32. A file that
is damaged, or that belongs to other vectors, is as good as none.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semsearch.utils.atomic_write import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids

FILES = "layout-*.cache*"  # every file made here
HEADER = 4_096  # bytes in which the header has to end


class KeptLayout(NamedTuple):
    """Passages with their places (n, 2) in the plane; ids ascending."""

    ids: Ids
    places: NDArray[np.float32]


def read(folder: Path, method: str, fingerprint: str) -> KeptLayout | None:
    """The layout that was kept for vectors of the encoder with this fingerprint; None for none, or a damaged one."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        head, _, body = (folder / _name(method)).read_bytes().partition(b"\n")
        header = json.loads(head[:HEADER])
        count = int(header["count"])
        if header["fingerprint"] == fingerprint and header["crc"] == zlib.crc32(body) and len(body) == 16 * count:
            ids, places = np.frombuffer(body, "<i8", count), np.frombuffer(body, "<f4", offset=8 * count)
            return KeptLayout(ids.astype(np.int64), places.reshape(count, 2).astype(np.float32))
    return None


def write(folder: Path, method: str, fingerprint: str, layout: KeptLayout) -> None:
    """Keep a layout in place of an earlier one by the same method. Raises OSError."""
    body = layout.ids.astype("<i8").tobytes() + layout.places.astype("<f4").tobytes()
    head = {"schema": 1, "fingerprint": fingerprint, "count": len(layout.ids), "crc": zlib.crc32(body)}
    with replacing(folder / _name(method)) as file:
        file.write_bytes(json.dumps(head).encode("ascii") + b"\n" + body)


def _name(method: str) -> str:
    return f"layout-{method}.cache"
