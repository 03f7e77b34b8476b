"""Saved evaluation runs: one JSON file each, in a folder next to the indexes whose name no index can have.

A file is written atomically and never changed afterwards, so several processes may save at the same time.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from semsearch import settings
from semsearch.errors import NotFound, UsageError
from semsearch.types import JsonObject
from semsearch.utils import atomic_write

FOLDER = ".evaluations"
SUFFIX = ".json"
NAME = re.compile(r"[0-9]{8}T[0-9]{12}-[0-9a-f]{8}")
LOG = logging.getLogger(__name__)


def save_run(run: Mapping[str, object], home: Path | None = None) -> str:
    """Save a run, any JSON object, in the home of indexes and return its name. Raises UsageError, OSError."""
    folder = (home or settings.home()) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"
    try:
        content = json.dumps(dict(run), ensure_ascii=False, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        fix = "Use strings, finite numbers, lists and objects."
        raise UsageError(f"the run cannot be saved as JSON: {error}.", fix) from None
    atomic_write.write_text(folder / f"{name}{SUFFIX}", content + "\n")
    return name


def list_runs(home: Path | None = None) -> dict[str, JsonObject]:
    """Every saved run by name, oldest first; do not change them. Unreadable files are skipped with a warning."""
    runs = {}
    for file in sorted(((home or settings.home()) / FOLDER).glob(f"*{SUFFIX}")):
        if not NAME.fullmatch(file.stem):
            continue
        try:
            run = _load(file, file.stat().st_mtime_ns)
        except FileNotFoundError:  # deleted by another process in the meantime
            continue
        except (OSError, ValueError) as error:
            LOG.warning("skipped %s, which cannot be read: %s", file, error)
            continue
        if isinstance(run, dict):
            runs[file.stem] = dict(run)
    return runs


@lru_cache(maxsize=512)
def _load(file: Path, modified: int) -> object:
    """The content of a file; since files never change, each is parsed once."""
    return json.loads(file.read_text(encoding="utf-8"))


def delete_run(name: str, home: Path | None = None) -> None:
    """Delete a saved run. Raises NotFound."""
    file = (home or settings.home()) / FOLDER / f"{name}{SUFFIX}"
    try:
        if not NAME.fullmatch(name):
            raise FileNotFoundError
        file.unlink()
    except FileNotFoundError:
        raise NotFound(f"there is no saved run {name!r}.", "It may have been deleted already.") from None
