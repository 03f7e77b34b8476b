"""Folders to choose from, as a person would type them, and the sample that comes with semsearch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

MOST = 400  # folders in the list
SAMPLE = (Path("sample"), Path("..", "scripts", "sample"))  # installed, and in a checkout


def suggested(typed: str) -> list[str]:
    """Folders whose names complete what is typed: those of the home and the present folder, and below `typed`."""
    below = [expanded(typed)] if typed else []
    levels = [*below, *(folder for start in below for folder in _folders(start)), Path.home(), Path.cwd()]
    folders = (folder for start in levels for folder in _folders(start))
    return list(dict.fromkeys(map(shortened, islice(folders, MOST))))


def _folders(place: Path) -> Iterator[Path]:
    """The folders directly in a place, sorted, without hidden ones; none where it cannot be read."""
    with suppress(OSError), os.scandir(place) as entries:
        yield from sorted(Path(each.path) for each in entries if each.name[0] != "." and _is_folder(each))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.is_dir()
    return False


def expanded(typed: str) -> Path:
    """The path that is meant, absolute."""
    return Path(os.path.abspath(os.path.expanduser(typed)))  # noqa: PTH100, PTH111  (raise for an unknown user)


def shortened(place: Path) -> str:
    """A path with `~` for the home."""
    home = Path.home()
    return str(Path("~") / place.relative_to(home)) if place != home and place.is_relative_to(home) else str(place)


def sample() -> Path:
    """The folder of the sample. Raises StopIteration where it was not installed."""
    here = Path(__file__).resolve().parents[1]
    return next((here / each).resolve() for each in SAMPLE if (here / each / "engines").is_dir())
