"""What a trained encoder was before its training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference
from semsearch.training.runs import RUN, SETTINGS


def trained_from(name: str) -> str:
    """The base that the encoder in the folder `name` was trained from, as `Encoder.load` takes it; "" where unknown.

    A folder that was moved to another machine names a base that need not be there.
    """
    folder = Path(Reference.parse(name).model).expanduser() if name else Path()
    if not name or not folder.is_dir():
        return ""
    base = _told(folder / RUN / SETTINGS, "base", "name")
    base = base or _told(folder / bundles.MANIFEST, "origin", "trained", "base", "name")
    return base if isinstance(base, str) else ""


def _told(file: Path, *keys: str) -> Any:
    """What a JSON file holds below these keys; None where it does not, or cannot be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
