"""The file of a backend: a line of JSON, the ids, then the backend's own bytes.

Nothing here is verified by hash: `cache_files` compares the sha256 of the whole file before a byte is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from semsearch.errors import Corrupt, SemsearchError
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids

MAGIC = b"semsearch vectors 2 "
FIRST = b"semsearch vectors 1 "  # the same layout; `ivf` and `compressed` had other codes, which are refused
ALIGNMENT = 64  # bytes; a cache line, so that arrays can be used in place in the buffer


def write(path: Path, header: dict[str, Any], ids: Ids, body: Callable[[BinaryIO], object]) -> None:
    """Write header and ids (n,), and let `body` write the rest. Not atomic: the caller renames the file."""
    line = MAGIC + json.dumps({**header, "count": len(ids)}, sort_keys=True).encode()
    line += b" " * (-(len(line) + 1) % ALIGNMENT) + b"\n"
    numbers = np.ascontiguousarray(ids, dtype="<i8").tobytes()
    with path.open("wb") as file:
        file.write(line + numbers + bytes(-len(numbers) % ALIGNMENT))
        body(file)


def read(buffer: memoryview) -> tuple[dict[str, Any], Ids, memoryview]:
    """Header, ids and body of a file's bytes; the body is a part of `buffer`. Raises Corrupt for any other file."""
    try:
        line_end = bytes(buffer[: 1 << 16]).index(b"\n") + 1
        line = bytes(buffer[:line_end])
        if not line.startswith((MAGIC, FIRST)):
            raise ValueError("it does not begin like a cache of vectors")
        header = {**json.loads(line[len(MAGIC) :]), "first": line.startswith(FIRST)}
        ids = np.frombuffer(buffer, dtype="<i8", count=int(header["count"]), offset=line_end).astype(np.int64)
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(
            f"not a file of vectors: {error}.", "Build it again with compact().", "Build it again: semsearch compact"
        ) from error
    return header, ids, buffer[line_end + len(ids) * 8 + -(len(ids) * 8) % ALIGNMENT :]


def positions(ids: Ids, allowed: Ids) -> Ids:
    """The positions in `ids` (n,) of the allowed ids that it has; both ascend."""
    allowed = np.asarray(allowed, dtype=np.int64)
    if len(ids) < len(allowed):  # newer passages, and half a million allowed ones
        return np.flatnonzero(_are_in(allowed, ids))
    at = np.searchsorted(ids, allowed)  # a binary search each: at a million ids 50 times faster than np.isin
    at, allowed = at[at < len(ids)], allowed[at < len(ids)]
    hits: Ids = at[ids[at] == allowed]
    return hits


def _are_in(ids: Ids, some: Ids) -> NDArray[np.bool_]:
    """(m,) whether each of `some` is in `ids`; both ascend, and `ids` has one at least."""
    at = np.minimum(np.searchsorted(ids, some), len(ids) - 1)
    return np.asarray(ids[at] == some)


def ascending(present: Ids, more: Ids) -> Ids:
    """`present` followed by `more`, both (n,). Raises SemsearchError unless they strictly ascend together."""
    joined = np.concatenate([present, np.asarray(more, dtype=np.int64)])
    if (np.diff(joined[max(len(present) - 1, 0) :]) <= 0).any():
        raise SemsearchError("ids of vectors have to ascend, above those that are there already.")
    return joined
