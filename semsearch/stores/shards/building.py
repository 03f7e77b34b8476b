"""Makes a folder of shards searchable.

planning.prepared(folder) -> plan    the driver: documents, centroids, questions
part_of(task)                        threads here, or machines that see the folder: in any order, any number of times
finished(plan, encoder)              the driver: the parts put together, and the manifest last
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from semsearch.errors import NotFound
from semsearch.stores import foreign_questions
from semsearch.stores.shards import rows
from semsearch.stores.shards.location import DOCUMENTS, MANIFEST, SEARCH
from semsearch.stores.shards.manifest import Manifest
from semsearch.stores.shards.planning import CENTROIDS, PLAN, QUESTIONS, Plan, Tell
from semsearch.stores.shards.reader import ShardsReader
from semsearch.types import EncoderProtocol, JsonMapping, Progress
from semsearch.utils.atomic_write import replacing
from semsearch.utils.checksums import hashed
from semsearch.vector_index.on_disk import merging, parts
from semsearch.vector_index.on_disk.searching import ListsOnDisk

OWN = (merging.CENTROIDS, merging.SIZES, merging.LISTS, DOCUMENTS)


@dataclass(frozen=True, slots=True)
class Task:
    """A part to make, of the shard `name`, whose rows have the ids above `base`; `without` these."""

    place: str
    file: str
    name: str
    base: int
    without: tuple[int, ...] = ()

    @property
    def part(self) -> Path:
        """The file of the part."""
        return Path(self.place) / f"{self.name}.part.npy"

    @property
    def best(self) -> Path:
        """The file of what is nearest to the questions in it."""
        return Path(self.place) / f"{self.name}.best.npy"


def tasks(plan: Plan) -> Iterator[Task]:
    """The part of each shard that has passages, in the order of their ids."""
    for shard in sorted(plan.shards, key=lambda one: one.base):
        if shard.rows:
            without = tuple(plan.without.get(shard.name, ()))
            yield Task(str(plan.place), str(plan.location / shard.file), shard.name, shard.base, without)


def part_of(task: Task) -> None:
    """Make a part, unless it is there. Raises NotFound on a machine that does not see the folder, Corrupt."""
    if task.part.exists():
        return
    try:
        learned, asked = (np.load(Path(task.place) / name, allow_pickle=False) for name in (CENTROIDS, QUESTIONS))
    except FileNotFoundError:
        folder = Path(task.file).parent
        raise NotFound(
            f"{socket.gethostname()} does not see {folder}.", "Put it on a disk that all machines of the cluster share."
        ) from None
    with rows.reading(Path(task.file)) as reader:
        vectors = rows.matrix(reader.read([rows.VECTOR]).column(0).combine_chunks())
    ids = np.arange(task.base + 1, task.base + 1 + len(vectors))
    there = ~np.isin(ids, task.without)
    found = parts.part(learned, ids[there], vectors[there])
    _save(task.best, parts.packed(parts.nearest(asked, found)))
    _save(task.part, found)


def finished(plan: Plan, encoder: EncoderProtocol, reference: str, info: JsonMapping, tell: Tell) -> Manifest:
    """Put all parts together, choose how many lists a search reads, and let searches find it.

    reference: loads the encoder; info: describes it.
    """
    listed, place = list(tasks(plan)), plan.place
    learned, asked = (np.load(place / name, allow_pickle=False) for name in (CENTROIDS, QUESTIONS))

    def merged(done: int, total: int) -> None:
        tell(Progress(2, 4, "steps", f"putting list {done:,} of {total:,} together"))

    merging.merge([task.part for task in listed], learned, place, merged)
    tell(Progress(3, 4, "steps", "measuring"))
    right = parts.joined([parts.unpacked(np.load(task.best, allow_pickle=False)) for task in listed], len(asked))
    probes, recall = ListsOnDisk(place).fewest(asked, right, plan.asked)
    target = plan.location / SEARCH / str(plan.number)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    (place / PLAN).unlink()  # from here on, what is there is no plan any more
    for name in OWN:
        (place / name).replace(target / name)
    found = _manifest(plan, encoder, reference, info, ListsOnDisk(target), probes, recall)
    manifest = _measured(found, plan.location, encoder)
    manifest.write(plan.location)
    _sweep(plan.location, plan.number)
    return manifest


def _manifest(
    plan: Plan,
    encoder: EncoderProtocol,
    reference: str,
    info: JsonMapping,
    lists: ListsOnDisk,
    probes: int,
    recall: float,
) -> Manifest:
    folder = plan.location / SEARCH / str(plan.number)
    return Manifest(
        number=plan.number,
        reference=reference,
        encoder=encoder.name,
        fingerprint=encoder.fingerprint,
        dim=encoder.dim,
        info=dict(info),
        splitter=plan.job["splitter"],
        context=bool(plan.job.get("context", True)),
        shards=tuple(sorted(plan.shards, key=lambda one: one.base)),
        highest=plan.highest,
        documents=plan.documents,
        passages=plan.passages,
        left_out=plan.left_out,
        lists=lists.lists,
        probes=probes,
        recall=recall,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        files={name: ((folder / name).stat().st_size, hashed(folder / name)) for name in OWN},
    )


def _measured(found: Manifest, location: Path, encoder: EncoderProtocol) -> Manifest:
    """With the null distribution, by which hits get their strength."""
    with ShardsReader(location, found) as reader:
        measured = foreign_questions.measure(reader, found.space(), encoder)
    return found if measured is None else replace(found, quantiles=measured.quantiles)


def _sweep(location: Path, number: int) -> None:
    """Remove what the searchable folder does not need; who has an older one open goes on with it."""
    for other in (location / SEARCH).iterdir():
        if other.is_dir() and other.name != str(number):
            shutil.rmtree(other, ignore_errors=True)
        elif other.is_file() and other.name != MANIFEST:
            other.unlink(missing_ok=True)


def _save(file: Path, array: np.ndarray) -> None:
    with replacing(file) as new, new.open("wb") as opened:
        np.save(opened, array, allow_pickle=False)
