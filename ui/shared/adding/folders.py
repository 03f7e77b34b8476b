"""Folders that complete what is typed, as a person would type them, and the sample that comes with semsearch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MOST = 6
SAMPLE = (Path("sample"), Path("..", "scripts", "sample"))  # installed, and in a checkout


def suggested(typed: str) -> list[str]:
    """Folders whose names have what is typed last, those that begin so first; then those inside the typed folder."""
    head, slash, last = typed.rpartition("/")
    places = [expanded(head or "/")] if slash else [Path.home(), Path.cwd()]
    named = [each for place in places for each in _folders(place) if last.casefold() in each.name.casefold()]
    named.sort(key=lambda each: not each.name.casefold().startswith(last.casefold()))
    inside = _folders(expanded(typed)) if last not in ("", "~") else ()
    every = dict.fromkeys(map(shortened, [*named, *inside]))
    return [each for each in every if each != typed.rstrip("/")][:MOST]


def _folders(place: Path) -> Iterator[Path]:
    """The folders directly in a place, sorted, without hidden ones; none where it cannot be read."""
    with suppress(OSError, ValueError), os.scandir(place) as entries:
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
    here = Path(__file__).resolve().parents[2]
    return next((here / each).resolve() for each in SAMPLE if (here / each / "engines").is_dir())
