"""The one file of a backend: a line of JSON, the ids, then what the backend wrote itself.

Nothing here is checked by hash: `caches` compares the sha256 of the whole before a byte is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from semsearch.errors import Corrupt, SemsearchError

if TYPE_CHECKING:
    from semsearch.types import Ids

MAGIC = b"semsearch vectors 1 "
ALIGNMENT = 64  # bytes; a cache line, so that arrays can be used where they lie in the buffer


@dataclass(frozen=True)
class Contents:
    """A parsed file. `ids` and `body` look into the buffer they came from."""

    header: dict[str, Any]
    ids: Ids
    body: memoryview


def write(path: Path, header: dict[str, Any], ids: Ids, body: Callable[[BinaryIO], None]) -> None:
    """Write header, ids (n,) and whatever `body` writes. Not atomic: that is the caller's rename."""
    line = MAGIC + json.dumps({**header, "count": len(ids)}, sort_keys=True).encode()
    line += b" " * (-(len(line) + 1) % ALIGNMENT) + b"\n"
    numbers = np.ascontiguousarray(ids, dtype="<i8").tobytes()
    with path.open("wb") as file:
        file.write(line + numbers + bytes(-len(numbers) % ALIGNMENT))
        body(file)


def read(buffer: memoryview) -> Contents:
    """The parts of a file's bytes. Raises Corrupt where it is not such a file."""
    try:
        line_end = bytes(buffer[: 1 << 16]).index(b"\n") + 1
        line = bytes(buffer[:line_end])
        if not line.startswith(MAGIC):
            raise ValueError("it does not begin like a cache of vectors")
        header = json.loads(line[len(MAGIC) :])
        ids = np.frombuffer(buffer, dtype="<i8", count=int(header["count"]), offset=line_end).astype(np.int64)
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"not a file of vectors: {error}.", "Build it again: semsearch compact") from error
    return Contents(header, ids, buffer[line_end + len(ids) * 8 + -(len(ids) * 8) % ALIGNMENT :])


def positions(ids: Ids, allowed: Ids) -> Ids:
    """Where in `ids` (n,) the allowed ones are; both ascend. Those that are not there are left out."""
    wanted = np.asarray(allowed, dtype=np.int64)
    at = np.searchsorted(ids, wanted)  # a binary search each: at a million ids 50 times faster than np.isin
    at, wanted = at[at < len(ids)], wanted[at < len(ids)]
    found: Ids = at[ids[at] == wanted]
    return found


def ascending(known: Ids, more: Ids) -> Ids:
    """`known` followed by `more`, both (n,) and strictly ascending together, or an error."""
    joined = np.concatenate([known, np.asarray(more, dtype=np.int64)])
    start = max(len(known) - 1, 0)
    if (np.diff(joined[start:]) <= 0).any():
        raise SemsearchError("ids of vectors have to ascend, above those that are there already.")
    return joined
