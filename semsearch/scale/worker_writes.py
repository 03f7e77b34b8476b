"""Writing by the workers: into a store on a server to which many may write, so that no vector passes the driver.

The driver records the files first, so that their documents have an owner; actors write documents of these files, by
upsert; and the driver's update of the index finds them there, and completes the files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.scale.encoding import Embedded
from semsearch.scale.inputs import Input
from semsearch.stores import drivers, links, machine
from semsearch.stores.records import UNFINISHED, Entry
from semsearch.types import Document

STORES = ("postgres",)


@dataclass(frozen=True, slots=True)
class Target:
    """A collection on a server. link: the content of the link to it; machine: the name that the driver writes under."""

    name: str
    link: str
    collection: str
    machine: str
    space: int


def target(index: Path, space: int) -> Target | None:
    """The collection that `index` is a link to; None where one process has to write: on this machine."""
    file = index / links.FILE
    if not file.is_file() or links.read(index).store not in STORES:
        return None
    return Target(index.name, file.read_text(encoding="utf-8"), links.read(index).id, machine.name(), space)


def owned(index: Path, found: Input) -> None:
    """Record the files of a job in the store, as files that are not finished, and give them their numbers there."""
    with drivers.find(index).open_writer(index) as writer, writer.transaction():
        numbers = writer.put_sources([replace(source, size=UNFINISHED, bookmark=None) for source in found.sources])
    found.files = [replace(file, source=number) for file, number in zip(found.files, numbers, strict=True)]


def linked(folder: Path, name: str, link: str) -> Path:
    """A link with that content, below `folder`, for a machine that has none."""
    location = folder / name
    location.mkdir()
    (location / links.FILE).write_text(link, encoding="utf-8")
    return location


class Writing:
    """The store of a target, open for writing on a worker's machine, which needs the same access to the server."""

    def __init__(self, chosen: Target) -> None:
        os.environ[machine.VARIABLE] = chosen.machine
        self._folder = tempfile.TemporaryDirectory(prefix="semsearch-")
        location = linked(Path(self._folder.name), chosen.name, chosen.link)
        self._writer = drivers.find(location).open_writer(location)
        self._space = chosen.space
        self._sources: dict[str, int] = {}
        self._there: set[str] = set()

    def wanted(self, documents: Sequence[Document], sources: Sequence[int]) -> list[Document]:
        """All but those that belong to another file: the update of the index says what becomes of them."""
        self._sources = {one.id: source for one, source in zip(documents, sources, strict=True)}
        stamps = self._writer.reader.stamps([one.id for one in documents])
        foreign = {uri for uri, stamp in stamps.items() if stamp.source != self._sources[uri]}
        self._there = stamps.keys() - foreign
        return [one for one in documents if one.id not in foreign]

    def put(self, rows: Sequence[Embedded]) -> int:
        """Store documents with their vectors, in one transaction; how many of them were there before."""
        entries = [Entry(row.document, self._sources[row.document.id], row.passages, row.vectors) for row in rows]
        self._writer.replace(entries, self._space)
        return sum(row.document.id in self._there for row in rows)
