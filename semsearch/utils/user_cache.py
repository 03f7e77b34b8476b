"""Small files that could be made again, kept in the user's cache folder to save time. Losing them loses nothing else.

Reading and writing never raise: a folder that cannot be written to is done without.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def folder() -> Path:
    """Where they lie; it need not exist."""
    from platformdirs import user_cache_path  # 5 ms, and only where something is kept

    return user_cache_path("semsearch", appauthor=False)


def read(name: str) -> bytes | None:
    """The content of `name` (a path below the folder), or None where there is none."""
    try:
        return (folder() / name).read_bytes()
    except OSError:
        return None


def write(name: str, content: bytes) -> Path | None:
    """Keep `content` as `name`, whole or not at all; where it lies, or None where it cannot be kept."""
    path = folder() / name
    scratch = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(scratch).replace(path)
    except OSError:
        if scratch:
            with contextlib.suppress(OSError):
                Path(scratch).unlink()
        return None
    return path
