"""Runs of measurements that are kept: a JSON file each, in a folder beside the indexes that no index can be called by.

A file is written whole or not at all, and nothing changes it afterwards, so that several processes may write.
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
from typing import Any

from semsearch import settings
from semsearch.errors import NotFound, UsageError
from semsearch.utils import atomic_write

FOLDER = ".evaluations"
SUFFIX = ".json"
NAME = re.compile(r"[0-9]{8}T[0-9]{12}-[0-9a-f]{8}")
LOG = logging.getLogger(__name__)


def keep_run(run: Mapping[str, Any], home: Path | None = None) -> str:
    """Write a run, any JSON object, below the home of indexes; what it is called by. Raises UsageError, OSError."""
    folder = (home or settings.home()) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"
    try:
        content = json.dumps(dict(run), ensure_ascii=False, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the run is no JSON: {error}.", "Keep texts, finite numbers, lists and objects.") from None
    atomic_write.write_text(folder / f"{name}{SUFFIX}", content + "\n")
    return name


def kept_runs(home: Path | None = None) -> dict[str, dict[str, Any]]:
    """Every run that was kept, by what it is called, the oldest first. One that cannot be read is left where it is.

    What a run holds is shared between calls: do not change it.
    """
    found = {}
    for file in sorted(((home or settings.home()) / FOLDER).glob(f"*{SUFFIX}")):
        if not NAME.fullmatch(file.stem):
            continue
        try:
            read = _read(str(file), file.stat().st_mtime_ns)
        except FileNotFoundError:  # another process has removed it just now
            continue
        except (OSError, ValueError) as error:
            LOG.warning("%s cannot be read, and is left where it is: %s", file, error)
            continue
        if isinstance(read, dict):
            found[file.stem] = dict(read)
    return found


@lru_cache(maxsize=512)
def _read(file: str, changed: int) -> Any:
    """What a file holds; as none changes, each is read once."""
    return json.loads(Path(file).read_text(encoding="utf-8"))


def remove_run(name: str, home: Path | None = None) -> None:
    """Remove a run that was kept. Raises NotFound."""
    file = (home or settings.home()) / FOLDER / f"{name}{SUFFIX}"
    try:
        if not NAME.fullmatch(name):
            raise FileNotFoundError
        file.unlink()
    except FileNotFoundError:
        raise NotFound(f"no run is called {name!r}.", "It may have been removed already.") from None
