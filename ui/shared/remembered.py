"""What the pages remember of a person: files in the home of indexes, for its owner alone, with one switch for all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock

from semsearch.types import JsonObject

from . import pool

SEARCHES, COMPARISONS = ".searches.json", ".comparisons.json"
SWITCH, LABEL = "remember", "Remember searches and compared pairs"
_LOCK = RLock()


def on() -> bool:
    """Whether recent searches and compared pairs are kept."""
    return read(SEARCHES).get(SWITCH) is not False


def switch(keep: bool) -> None:
    """Keep them from now on, or none, with those that are there; saved searches stay."""
    change(SEARCHES, lambda content: {**content, SWITCH: keep, "recent": content.get("recent", []) if keep else []})
    if not keep:
        delete(COMPARISONS)


def read(file: str) -> JsonObject:
    """The object in a file, {} where it has none."""
    content: object = None
    with suppress(OSError, ValueError):
        content = json.loads(_place(file).read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def change(file: str, changed: Callable[[JsonObject], JsonObject]) -> None:
    """Replace a file by what `changed` makes of it; a disk that takes none costs the file, not the page."""
    with _LOCK:
        before = read(file)
        if (after := changed(before)) != before:
            _write(file, after)


def delete(file: str) -> None:
    """Delete a file."""
    with suppress(OSError):
        _place(file).unlink(missing_ok=True)


def _place(file: str) -> Path:
    return pool.home() / file


def _write(file: str, content: JsonObject) -> None:
    with suppress(OSError):
        made = _place(file).with_name(f"{file}.{os.getpid()}")
        made.touch(0o600)  # before anything is in it
        made.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        made.replace(_place(file))
