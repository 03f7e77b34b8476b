"""What a trained encoder was before its training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from semsearch import bundle as bundles
from semsearch.reference import Reference

SETTINGS = Path("run") / "settings.json"  # beside the encoder: what `semsearch train` writes, with whole paths


def trained_from(name: str) -> str:
    """The base that the encoder in the folder `name` was trained from, as `Encoder.load` takes it; "" where unknown.

    A folder that was moved to another machine names a base that need not be there.
    """
    folder = Path(Reference.parse(name).model).expanduser() if name else Path()
    if not name or not folder.is_dir():
        return ""
    told = _object(folder / SETTINGS) or _object(folder / bundles.MANIFEST).get("origin", {}).get("trained", {})
    base = told.get("base") if isinstance(told, dict) else None
    return str(base["name"]) if isinstance(base, dict) and isinstance(base.get("name"), str) else ""


def _object(file: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none that can be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
