"""Choice of a backend by number and width of the vectors, memory and wanted recall.

The limits follow docs/choices.md, which scripts/bench/scale.py measures.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SMALL = 10_000  # vectors; reading them from the store (65 ms) is as fast as importing FAISS (55 ms) and checking a file
FLAT_UNTIL = 50_000  # vectors: 77 MB at 384 dimensions, a few ms a query, exact, without training
IVF_UNTIL = 30_000_000  # vectors: the most for one machine
EXACT_RECALL = 0.995  # from here on only an exact backend will do
TOO_MANY = "too many to compare one by one, so only the nearest cells are"
SLACK = 1.25  # a backend stays as long as it is right for a quarter more or fewer vectors
LIST_BYTES = 24  # beside the codes: factors of RaBitQ, id, place in a list
MEMORY_SHARE = 0.5  # of the machine; the rest is for the encoder and other programs


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend, and the reason that `info` shows."""

    backend: str
    why: str


def choose(count: int, dim: int, *, recall: float = 0.98, memory: int | None = None) -> Choice:
    """The backend for `count` vectors of width `dim` in `memory` bytes (None: enough)."""
    flat = count * (4 * dim + 8)  # float32 vectors and their ids
    smallest = count * (dim // 8 + LIST_BYTES)  # codes of one bit a dimension
    refined = smallest + count * (dim // 2)  # and of four: at 384 dimensions 269 bytes a vector were measured
    room = flat if memory is None else memory
    size = f"{count:,} vectors"
    if recall >= EXACT_RECALL and flat <= room:
        return Choice("flat", f"{size}; a recall of {recall:g} needs exact search")
    if count <= FLAT_UNTIL and flat <= room:
        return Choice("flat", f"{size}; fast enough up to {FLAT_UNTIL:,}")
    why = f"flat would take {_size(flat)} of the {_size(room)} allowed" if count <= FLAT_UNTIL else TOO_MANY
    if memory is not None and refined > memory:
        why += f"; ivf would take {_size(refined)} of the {_size(room)} allowed"
        why += f", and this one takes {_size(smallest)}" if smallest > memory else ""
    if count > IVF_UNTIL:
        why += "; this is more than one machine is meant for"
    return Choice("compressed" if memory is not None and refined > memory else "ivf", f"{size}; {why}")


def fits(backend: str, count: int, dim: int, *, memory: int | None = None) -> bool:
    """Whether `choose` returns `backend` for about `count` vectors, so that sizes near a limit do not flip."""
    around = (count, int(count / SLACK), int(count * SLACK))
    return backend in {choose(n, dim, memory=memory).backend for n in around}


def allowed_memory() -> int | None:
    """Half of this machine or container in bytes: a fixed number, so that the plan does not depend on the hour."""
    sizes = [size for size in (_machine(), _container()) if size is not None]
    return int(min(sizes) * MEMORY_SHARE) if sizes else None


def _machine() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not available on every system
        return None


def _container() -> int | None:
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return int(Path(name).read_text())
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return None


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
