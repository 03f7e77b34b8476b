"""The searches that the pages remember: a file in the home of indexes, for its owner alone, and the switch for it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock

from semsearch.types import JsonObject

from ..shared import pool

FILE = ".searches.json"
SWITCH, LABEL = "remember", "Remember searches"
_LOCK = RLock()


def on() -> bool:
    """Whether recent searches are kept."""
    return read().get(SWITCH) is not False


def switch(keep: bool) -> None:
    """Keep them from now on, or none, with those that are there; saved searches stay."""
    change(lambda content: {**content, SWITCH: keep, "recent": content.get("recent", []) if keep else []})


def read() -> JsonObject:
    """The object in the file, {} where it has none."""
    content: object = None
    with suppress(OSError, ValueError):
        content = json.loads(_place().read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def change(changed: Callable[[JsonObject], JsonObject]) -> None:
    """Replace the file by what `changed` makes of it; a disk that takes none costs the file, not the page."""
    with _LOCK, suppress(OSError):
        before = read()
        if (after := changed(before)) != before:
            made = _place().with_name(f"{FILE}.{os.getpid()}")
            made.touch(0o600)  # before anything is in it
            made.write_text(json.dumps(after, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            made.replace(_place())


def _place() -> Path:
    return pool.home() / FILE
