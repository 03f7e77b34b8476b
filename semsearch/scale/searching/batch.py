"""Many queries answered on a Ray cluster: cut into parts, searched by actors that have the store open, in their order.

with closing(answers(index, queries, engine)) as found:     # Found for each query, as if this process had searched
    ...

A part that an actor was at when it was lost is searched by another one; a search changes nothing, so twice is harmless.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from semsearch import __version__
from semsearch.encoders.base import as_encoder
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.index import Index
from semsearch.scale import desk as desks
from semsearch.scale import pool, worker_writes
from semsearch.scale.actors import Worker
from semsearch.scale.cluster import Engine, connected
from semsearch.scale.job_report import cost
from semsearch.scale.parts import one_row
from semsearch.scale.searching import messages
from semsearch.scale.searching.messages import Found
from semsearch.stores import drivers, links
from semsearch.types import JsonObject, Query
from semsearch.utils.quantities import count
from semsearch.utils.vectors import OWN_VECTORS

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")
MOST = 64  # queries of a part: they are encoded together, as in one process
LEAST = 8
PARTS_PER_WORKER = 4  # at least, so that a slow one holds up little
AGAIN = "Run the same command again."


@dataclass(frozen=True, slots=True)
class Place:
    """Where an index is for every machine: a folder that all see, or the content of a link to a server."""

    name: str
    folder: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class How:
    """How an actor opens the index. reference: of the encoder, "" for an index without one."""

    place: Place
    reference: str
    fingerprint: str
    threads: int
    device: str
    snippets: bool


@dataclass
class BatchReport:
    """What a batch came to. worker_seconds: the time that actors spent on parts."""

    queries: int = 0
    seconds: float = 0.0
    worker_seconds: float = 0.0
    cores: float = 1.0
    gpus: float = 0.0
    workers: set[str] = field(default_factory=set)

    def summary(self) -> str:
        """Throughput and cost in a line."""
        return (
            f"{count(self.queries, 'query', 'queries')} answered by {count(len(self.workers), 'worker')} in "
            f"{self.seconds:.1f} s: {self.queries / max(self.seconds, 1e-9):,.1f} queries/s, "
            f"{cost(self)}"
        )


def place_of(index: Path) -> Place:
    """Where the index at `index` is for other machines. Raises UsageError for one that is on this machine alone."""
    link = index / links.FILE
    if link.is_file():
        return Place(index.name, link=link.read_text(encoding="utf-8"))
    if drivers.find(index).READ_ONLY:
        return Place(index.name, folder=str(index.absolute()))
    raise UsageError(
        f"{index.name} is on this machine alone, so a cluster cannot search it.",
        "Search a folder of shards that all machines see, or an index on a server; or leave out --engine ray.",
    )


def answers(
    index: Index, queries: Sequence[Query], engine: Engine, report: BatchReport, *, snippets: bool = False
) -> Generator[Found, None, None]:
    """The results of each query, in order; `report` is filled meanwhile.

    Raises NotFound, UsageError where the cluster or the index cannot be used, what a search raises, and SemsearchError
    where the job stands still.
    """
    place, files, reference = place_of(index.path), dict[str, str](), ""
    space = index.info()["spaces"][0]
    if space["encoder"]["fingerprint"] != OWN_VECTORS:
        encoder = as_encoder(index.encoder)
        reference, files = encoder.reference, desks.encoder_files(encoder)
    how = How(place, reference, space["encoder"]["fingerprint"], *pool.power(engine), snippets)
    report.cores, report.gpus = engine.cpus, engine.gpus
    if not queries:
        return
    out = sys.stdout
    with connected(engine) as ray, desks.opened(ray, files) as (desk_name, desk):
        most = pool.most(ray, engine)
        size = max(LEAST, min(MOST, -(-len(queries) // (PARTS_PER_WORKER * most))))
        parts = [queries[at : at + size] for at in range(0, len(queries), size)]
        rows = [one_row({"number": at, "queries": messages.queries_json(part)}) for at, part in enumerate(parts)]
        dataset = pool.over(ray, rows, Answerer, (desk_name, __version__, how), engine, most)
        began, given = time.monotonic(), pool.answers(ray, dataset, desk, engine.stall_seconds, pool.checked, AGAIN)
        with closing(given):
            for answer, part in _in_order(given, parts):
                report.queries += len(part)
                report.worker_seconds += answer["seconds"]
                report.workers.add(answer["worker"])
                report.seconds = time.monotonic() - began
                for found in messages.found_of(answer["found"], part):
                    with redirect_stdout(out):  # what Ray prints goes to stderr, and what the caller prints does not
                        yield found


def _in_order(given: Iterable[JsonObject], parts: Sequence[T]) -> Iterator[tuple[JsonObject, T]]:
    """The answer to each part, in the order of the parts; one that comes early waits, a second one is left out."""
    early: dict[int, JsonObject] = {}
    at = 0
    for answer in given:
        early.setdefault(answer["number"], answer)
        while at in early:
            yield early.pop(at), parts[at]
            at += 1
    if at < len(parts):
        raise SemsearchError(f"{count(len(parts) - at, 'part')} of the answers did not arrive.", AGAIN)


class Answerer(Worker):
    """An actor that has the store open, and searches."""

    def __init__(self, desk_name: str, version: str, how: How) -> None:
        self._how = how
        self._folder = tempfile.TemporaryDirectory(prefix="semsearch-")
        self._index: Index | None = None
        super().__init__(desk_name, version)

    def __call__(self, rows: pyarrow.Table) -> Iterator[pyarrow.Table]:
        for row in rows.to_pylist():
            began, answer = time.perf_counter(), {"number": row["number"], "found": "", "error": ""}
            try:
                answer["found"] = self._found(row["queries"])
            except SemsearchError as error:
                answer["error"] = self.told(error)
            yield one_row({**answer, "seconds": time.perf_counter() - began, "worker": self.name})

    def _found(self, queries: str) -> str:
        if self._index is None:
            self._index = self._opened()
        self.alive()
        index, found = self._index, []
        for results in index.search(messages.queries_of(queries)):
            found.append(Found(results, tuple(index.snippets(results)) if self._how.snippets else ()))
        return messages.found_json(found)

    def _opened(self) -> Index:
        """The index, with the encoder of the driver. Raises NotFound, EncoderMismatch and the like."""
        how, place = self._how, self._how.place
        folder = Path(place.folder)
        if place.link:
            folder = worker_writes.linked(Path(self._folder.name), place.name, place.link)
        elif not drivers.exists(folder):
            fix = "Put it on a disk that all machines of the cluster share."
            raise NotFound(f"there is no {folder} here.", fix)
        if not how.reference:
            return Index.open(folder)
        return Index.open(folder, encoder=self.encoder(how.reference, how.fingerprint, how.threads, how.device))
