"""Folders that have moved: one that an index follows is gone, and one that is named holds its files.

The files are compared by path below the folder, with size and time, else with their content. So the documents of a
renamed folder keep their ids and vectors, and none stays behind with a path that leads nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from semsearch.errors import Unreadable
from semsearch.indexing.file_reader import file_hash
from semsearch.indexing.sources import Roots, absence
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import UNSURE, Source

COMPARED = 200  # files of a folder; half of them have to be there


def moves(reader: StoreReader, paths: Sequence[Path]) -> dict[str, str]:
    """Of the folders `paths` that the index does not follow, those that have moved: where each is now, and was."""
    roots = Roots.of(reader.state().recipe)
    missing = [root.path for root in roots.roots if root.path in dict(roots.bases) and absence(Path(root.path))]
    moved: dict[str, str] = {}
    for place in (path.resolve() for path in paths if missing):
        if place.is_dir() and roots.covering(place) is None:
            others = [old for old in missing if old not in moved.values()]
            moved |= {str(place): old for old in others[::-1] if _holds(place, reader, old)}
    return moved


def renamed(recipe: Mapping[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    """The recipe with the folders where they are now."""
    roots = [{**root, "path": _now(root["path"], moved)} for root in recipe.get("roots", ())]
    bases = {_now(base, moved): prefix for base, prefix in recipe.get("bases", {}).items()}
    return {**recipe, "roots": roots, "bases": bases} if moved else dict(recipe)


def _now(path: str, moved: Mapping[str, str]) -> str:
    for new, old in moved.items():
        if Path(path).is_relative_to(old):
            return str(new / Path(path).relative_to(old))
    return path


def _holds(place: Path, reader: StoreReader, old: str) -> bool:
    files = list(islice((source for source in reader.sources() if source.root == old), COMPARED))
    return bool(files) and 2 * sum(_is_at(place / file.path, file) for file in files) >= len(files)


def _is_at(file: Path, source: Source) -> bool:
    try:
        status = file.stat()
        if (status.st_size, status.st_mtime_ns) == (source.size, source.mtime_ns):
            return True
        return source.size in (status.st_size, UNSURE) and file_hash(file).sha256 == source.sha256
    except (OSError, Unreadable):
        return False
