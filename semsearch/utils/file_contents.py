"""What a file holds: its checksum, and the JSON object in a file of a model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from semsearch.errors import Corrupt
from semsearch.types import JsonObject


def hashed(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:  # in chunks: it may be larger than free memory
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_object(path: Path) -> JsonObject:
    """The JSON object in `path`; empty where there is no such file. Raises Corrupt."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Corrupt(f"{path} cannot be read: {error}.", "Copy the model again.") from error
    if not isinstance(content, dict):
        raise Corrupt(f"{path} is not a JSON object.", "Copy the model again.")
    return content
