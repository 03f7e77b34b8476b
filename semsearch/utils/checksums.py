"""The checksum of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path


def hashed(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:  # in chunks: it may be larger than free memory
        return hashlib.file_digest(file, "sha256").hexdigest()
