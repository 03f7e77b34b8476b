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
from typing import TYPE_CHECKING, NamedTuple

from semsearch.documents import annotated_metadata
from semsearch.scale.input_files import Input
from semsearch.stores import drivers, machine_recipes
from semsearch.stores.records import UNFINISHED, Entry
from semsearch.stores.remote import links
from semsearch.types import Document, JsonObject, Passage

if TYPE_CHECKING:
    from semsearch.types import Vectors


class EncodedDocument(NamedTuple):
    """A document with its n passages, the keys of their texts, and their vectors (n, d)."""

    document: Document
    passages: Sequence[Passage]
    keys: Sequence[bytes]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Target:
    """A collection on a server. link: the content of the link to it; machine: the name that the driver writes under.

    annotated: the keys of metadata that users have set by themselves, and that stay.
    """

    name: str
    link: str
    machine: str
    space: int
    annotated: tuple[str, ...]


def target(index: Path, space: int, recipe: JsonObject) -> Target | None:
    """The collection that `index` is a link to; None where one process has to write: on this machine."""
    if links.store(index) != "postgres":
        return None
    link = (index / links.FILE).read_text(encoding="utf-8")
    return Target(index.name, link, machine_recipes.name(), space, tuple(annotated_metadata.keys(recipe)))


def record_sources(index: Path, job: Input) -> None:
    """Record the files of a job in the store, as files that are not finished, and give them their numbers there."""
    with drivers.find(index).open_writer(index) as writer, writer.transaction():
        numbers = writer.put_sources([replace(source, size=UNFINISHED, bookmark=None) for source in job.sources])
    job.files = [replace(file, source=number) for file, number in zip(job.files, numbers, strict=True)]


class StoreWrites:
    """The store of a target, open for writing on a worker's machine, which needs the same access to the server."""

    def __init__(self, chosen: Target) -> None:
        os.environ[machine_recipes.VARIABLE] = chosen.machine
        self._folder = tempfile.TemporaryDirectory(prefix="semsearch-")
        location = Path(self._folder.name) / chosen.name
        location.mkdir()
        (location / links.FILE).write_text(chosen.link, encoding="utf-8")
        self._writer = drivers.find(location).open_writer(location)
        self._space, self._annotated = chosen.space, chosen.annotated
        self._sources: dict[str, int] = {}
        self._there: set[str] = set()

    def own(self, documents: Sequence[Document], sources: Sequence[int]) -> list[Document]:
        """All but those that belong to another file: the update of the index says what becomes of them."""
        self._sources = {one.id: source for one, source in zip(documents, sources, strict=True)}
        rows = list(self._writer.reader.document_rows([one.id for one in documents]))
        foreign = {row.uri for row in rows if row.source != self._sources[row.uri]}
        self._there = {row.uri for row in rows} - foreign
        return [self._annotate(one) for one in documents if one.id not in foreign]

    def put(self, rows: Sequence[EncodedDocument]) -> int:
        """Store documents with their vectors, in one transaction; how many of them were there before."""
        entries = [Entry(row.document, self._sources[row.document.id], row.passages, row.vectors) for row in rows]
        self._writer.replace(entries, self._space)
        return sum(row.document.id in self._there for row in rows)

    def _annotate(self, document: Document) -> Document:
        if not self._annotated or document.id not in self._there:
            return document
        stored = next(iter(self._writer.reader.full_documents([document.id])), None)
        return annotated_metadata.kept(document, stored, self._annotated)
