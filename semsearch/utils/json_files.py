"""JSON files of models: one object each, read with an error that names the file."""

from __future__ import annotations

import json
from pathlib import Path

from semsearch.errors import Corrupt
from semsearch.types import JsonObject


def read_object(path: Path) -> JsonObject:
    """The JSON object in `path`; empty where there is no such file. Raises Corrupt."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Corrupt(f"{path} cannot be read: {error}.", "Copy the model again.") from error
    if not isinstance(found, dict):
        raise Corrupt(f"{path} is not a JSON object.", "Copy the model again.")
    return found
