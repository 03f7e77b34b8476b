"""The user's cache folder: small files that save time and can be made again.

Reading and writing never raise: where the folder cannot be written to, there is no cache.
"""

from __future__ import annotations

import contextlib
from pathlib import Path


def folder() -> Path:
    """The path of the cache folder, which need not exist."""
    from platformdirs import user_cache_path  # 5 ms, and only where the cache is used

    return user_cache_path("semsearch", appauthor=False)


def read(name: str) -> bytes | None:
    """The content of the file `name`, a path below the folder; None where it cannot be read."""
    try:
        return (folder() / name).read_bytes()
    except OSError:
        return None


def write(name: str, content: bytes) -> Path | None:
    """Store `content` as `name`, atomically. Returns its path, or None where it cannot be stored."""
    path = folder() / name
    new = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.unlink(missing_ok=True)  # of a process that was killed
        with new.open("xb") as file:
            file.write(content)
        new.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        return path if read(name) == content else None  # another process may have stored the same meanwhile
    return path
