"""The names and folders of indexes. Nothing here imports numpy: every command asks for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from semsearch import settings
from semsearch.errors import SemsearchError
from semsearch.stores import drivers


def names(home: Path | None = None) -> list[str]:
    """The indexes of the home of indexes, sorted."""
    return drivers.stores_below(settings.home(home))


def folder(name: str | Path, home: Path | None = None) -> Path:
    """The folder of the index called `name`, which need not exist. Raises UsageError for what cannot be a name."""
    return settings.index_folder(name, home)


def exists(name: str | Path, home: Path | None = None) -> bool:
    """Whether there is an index called `name`, or at the path `name`. Raises UsageError for an invalid name."""
    return drivers.exists(settings.index_folder(name, home))


def identity(name: str | Path, home: Path | None = None) -> tuple[int, int]:
    """Two numbers that change when an index is removed and another is created in its place. Raises NotFound."""
    place = settings.index_folder(name, home)
    return drivers.find(place).identity(place)


def name_after(paths: Sequence[Path]) -> str:
    """The name of an index of these: that of the only file or folder, else of the folder of the first.

    >>> name_after([Path("/home/ada/My notes")])
    'My-notes'
    """
    first = paths[0].resolve()
    only = first if len(paths) == 1 else first.parent
    return re.sub(r"[^\w.-]+", "-", only.stem if only.is_file() else only.name).strip(".-") or "documents"


def followed(place: Path) -> frozenset[Path]:
    """The files and folders that the index in the folder `place` follows; none for one that cannot be read."""
    try:
        with drivers.find(place).open_reader(place) as reader:
            return frozenset(Path(root["path"]) for root in reader.state().recipe.get("roots", ()))
    except (SemsearchError, KeyError, TypeError):
        return frozenset()


def following(paths: Sequence[Path], home: Path | None = None) -> Path:
    """The folder of the index that follows exactly these files and folders, which exist or not.

    Without one it is that of a new index, which is not there yet: named after them, with a number where another index
    has that name.
    """
    resolved = {path.resolve() for path in paths}
    outermost = {path for path in resolved if resolved.isdisjoint(path.parents)}
    name = name_after(paths)
    for one in sorted(names(home), key=lambda other: (not other.startswith(name), other)):  # most often it has the name
        if followed(place := folder(one, home)) == outermost:
            return place
    numbered = (f"{name}-{number}" for number in count(2))
    places = (folder(each, home) for each in chain([name], numbered))
    return next(place for place in places if not place.exists())
