"""The files below the roots of an index: each once, under the name that it has in the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.documents import walk
from semsearch.documents.walk import FoundFile
from semsearch.indexing.sources import Root, Roots, SyncOptions
from semsearch.stores import drivers
from semsearch.stores.records import Source
from semsearch.types import Skipped


@dataclass(frozen=True, slots=True)
class Place:
    """Where the walk through a root is, and how its files are named."""

    root: Root
    base: str
    prefix: str
    above: str  # of the root, below the base; "" where they are the same


@dataclass(frozen=True, slots=True)
class File:
    """A file that was found. There may be a million of them, so it has nothing that follows from the rest."""

    found: FoundFile
    place: Place

    @property
    def path(self) -> str:
        """Its path below the base."""
        return self.place.above + self.found.relative

    @property
    def uri(self) -> str:
        return self.place.prefix + self.path

    @property
    def source(self) -> Source:
        """What is to be recorded of it before it is read."""
        return Source(self.place.base, self.path, self.found.mtime_ns, self.found.size, "", "")


def walked(
    scopes: Sequence[Path], roots: Roots, options: SyncOptions, unseen: list[Path], warnings: list[str]
) -> Iterator[File | Skipped]:
    """Every file of the scopes once, under its base; a part of a root is read by the rules of the whole.

    Places that could not be read are added to `unseen`: nothing in them counts as deleted. Parts of a root in which
    nothing is read are added to `warnings`.
    """
    seen: dict[tuple[str, str], str] = {}
    several, count = len(scopes) > 1, 0
    for scope in scopes:
        root = roots.covering(scope) or Root(str(scope))
        top = Path(root.path)
        walk.guard(top, None, yes=options.yes)
        base, prefix = roots.base(top)
        above = (top if top.is_dir() else top.parent).relative_to(base).as_posix()
        place = Place(root, base, prefix, "" if above == "." else f"{above}/")
        within = scope.relative_to(top).as_posix()
        rules = replace(root.rules, streamed=()) if root.kind == "files" else root.rules
        empty = True
        for item in walk.files(top, rules, drivers.exists):
            relative = item.path if isinstance(item, Skipped) else item.relative
            inside = within == "." or relative == within or relative.startswith(within + "/")
            empty = empty and not inside
            if isinstance(item, Skipped):
                if isinstance(item, walk.Unseen):
                    unseen.append(top / item.path)
                yield item
                continue
            if not inside:
                continue
            file = File(item, place)
            if several or "\\x" in item.relative:  # a scope may be a part of another, and names may be printed alike
                other = seen.setdefault((base, file.path), item.location)
                if other is not item.location:
                    if other != item.location:  # a byte that is not UTF-8 is printed as \xe9, which may be a name too
                        yield Skipped(file.uri, "another file has this name, as far as names can be printed")
                    continue
            count += 1
            if count > walk.MAX_FILES:
                walk.guard(top, count, yes=options.yes)
            yield file
        if empty and within != ".":
            warnings.append(
                f"nothing in {scope} is read: it is empty, or hidden, ignored or excluded within {root.path}."
            )


def in_scope(source: Source, scopes: Sequence[Path], roots: Roots) -> bool:
    """Whether this run covers the place of the source, or nothing there is followed any more."""
    return source.root not in dict(roots.bases) or below(source, scopes)


def below(source: Source, places: Sequence[Path]) -> bool:
    return any((Path(source.root) / source.path).is_relative_to(place) for place in places)
