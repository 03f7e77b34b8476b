"""What has to be done to make a folder of shards searchable: its documents, centroids of a sample, what is left out.

It is written down, so that the same call goes on after a kill, with the parts that are there, if the shards are the
same.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from semsearch.errors import SemsearchError
from semsearch.stores.local.filtering.row_file import PassageRow, RowFileWriter
from semsearch.stores.shards import likely_queries, rows
from semsearch.stores.shards import manifest as manifests
from semsearch.stores.shards.location import BUILDING, DOCUMENTS, SEARCH
from semsearch.stores.shards.manifest import AGAIN, Shard
from semsearch.types import JsonObject, Progress
from semsearch.utils.atomic_write import write_text
from semsearch.utils.quantities import count
from semsearch.vector_index.on_disk import parts

if TYPE_CHECKING:
    from semsearch.types import Vectors

Tell = Callable[[Progress], None]
Encode: TypeAlias = "Callable[[Sequence[str]], Vectors]"
CENTROIDS, QUESTIONS, PLAN = "learned.npy", "questions.npy", "plan.json"
SEED = 9  # of the sample


@dataclass(frozen=True, slots=True)
class Plan:
    """shards: in the order of the input. left_out: documents whose id an earlier shard has; without: their passages.

    number: of the folder to make. highest: the highest id of a passage, ever. asked: how many questions of each kind
    there are, one kind after the other.
    """

    location: Path
    job: JsonObject
    shards: tuple[Shard, ...]
    number: int
    highest: int
    documents: int = 0
    passages: int = 0
    left_out: tuple[str, ...] = ()
    without: Mapping[str, Sequence[int]] = field(default_factory=dict)
    asked: Sequence[int] = ()

    @property
    def place(self) -> Path:
        """The folder of what is being made."""
        return self.location / SEARCH / BUILDING


def prepared(location: Path, encode: Encode, tell: Tell) -> Plan:
    """The plan for the shards at `location`, with documents.db, centroids and questions on disk.

    encode: gives the vectors (n, d) of n queries. Raises NotFound, Corrupt, SemsearchError where a shard is missing.
    """
    job = manifests.job(location)
    plan = _numbered(location, job)
    made_of = [plan.number, job["fingerprint"], [asdict(shard) for shard in plan.shards]]
    if (known := _written(plan.place, made_of)) is not None:
        return Plan(location, job, plan.shards, plan.number, plan.highest, **known)
    shutil.rmtree(plan.place, ignore_errors=True)
    plan.place.mkdir(parents=True)
    known = _documents(plan, tell)
    tell(Progress(1, 4, "steps", "learning centroids"))
    sample = _sample(plan, parts.sample_size(known["passages"]), int(job["dim"]))
    np.save(plan.place / CENTROIDS, parts.centroids(sample, known["passages"]), allow_pickle=False)
    questions = [parts.questions(sample), *_encoded(plan, encode)]
    np.save(plan.place / QUESTIONS, np.concatenate(questions), allow_pickle=False)
    known["asked"] = [len(each) for each in questions]
    write_text(plan.place / PLAN, json.dumps({"made_of": made_of, "known": known}))
    return Plan(location, job, plan.shards, plan.number, plan.highest, **known)


def _encoded(plan: Plan, encode: Encode) -> Iterator[Vectors]:
    """The vectors of likely queries, of each kind that there is."""
    for texts in likely_queries.made(plan.location, plan.shards).values():
        if texts:
            yield encode(texts)


def _numbered(location: Path, job: JsonObject) -> Plan:
    """The shards with the ids of their passages: those of shards that are searchable already stay."""
    number, highest, bases = 1, 0, dict[str, int]()
    with suppress(SemsearchError):
        before = manifests.read(location)
        number, highest = before.number + 1, before.highest
        bases = {shard.name: shard.base for shard in before.shards}
    shards, missing = [], 0
    for name in map(str, job["shards"]):
        marker = _marker(location, name)
        if marker is None:
            missing += 1
            continue
        count_, bytes_, sha256 = marker
        base = bases.get(name, highest)
        highest += 0 if name in bases else count_
        shards.append(Shard(name, base, count_, bytes_, sha256))
    if missing:
        total = count(len(job["shards"]), "shard")
        raise SemsearchError(f"{missing:,} of {total} of {location} are not complete.", AGAIN)
    return Plan(location, job, tuple(shards), number, highest)


def _marker(location: Path, name: str) -> tuple[int, int, str] | None:
    """Rows, bytes and checksum of a shard; None where it is not complete."""
    try:
        found = json.loads((location / f"shard-{name}.done").read_text(encoding="utf-8"))
        passages, bytes_, sha256 = int(found["passages"]), int(found["bytes"]), str(found["sha256"])
        if bytes_ and (location / f"shard-{name}.parquet").stat().st_size != bytes_:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (passages, bytes_, sha256) if bytes_ else (0, 0, "")


def _written(place: Path, made_of: Sequence[object]) -> JsonObject | None:
    """What is known of the plan that was written before, if it is for the same shards."""
    try:
        found = json.loads((place / PLAN).read_text(encoding="utf-8"))
        if found["made_of"] == json.loads(json.dumps(made_of)):
            known: JsonObject = found["known"]
            return {**known, "left_out": tuple(known["left_out"])}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _documents(plan: Plan, tell: Tell) -> JsonObject:
    """Write documents.db; counts, and what is left out."""
    left_out: dict[str, None] = {}
    without: dict[str, list[int]] = {}
    writer = RowFileWriter(plan.place / DOCUMENTS)
    for at, shard in enumerate(plan.shards):
        tell(Progress(0, 4, "steps", f"documents of shard {at + 1:,} of {len(plan.shards):,}"))
        writer.begin_shard()
        for row in _rows(plan.location, shard):
            if not writer.put(row):
                left_out[row.document] = None
                without.setdefault(shard.name, []).append(row.id)
    writer.close()
    counts = {"documents": writer.documents, "passages": writer.passages}
    return {**counts, "left_out": tuple(left_out), "without": without}


def _rows(location: Path, shard: Shard) -> Iterator[PassageRow]:
    if not shard.rows:
        return
    number = shard.base
    with rows.reading(location / shard.file) as reader:
        names = ["document", "title", "metadata", "page", "heading"]
        for batch in reader.iter_batches(rows.AT_ONCE, columns=names):
            for row in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
                number += 1
                yield PassageRow(number, *row)
        if number != shard.base + shard.rows:
            raise OSError(f"it has {number - shard.base:,} rows in place of {shard.rows:,}")


def _sample(plan: Plan, size: int, dim: int) -> Vectors:
    """About `size` vectors (m, d): whole row groups, chosen at random, the same ones every time."""
    groups = []
    for shard in plan.shards:
        if shard.rows:
            with rows.reading(plan.location / shard.file) as reader:
                groups += [(shard, group) for group in range(reader.metadata.num_row_groups)]
    pieces, there = [np.empty((0, dim), np.float32)], 0
    for at in np.random.default_rng(SEED).permutation(len(groups)).tolist():
        shard, group = groups[at]
        with rows.reading(plan.location / shard.file) as reader:
            pieces.append(rows.group_vectors(reader, group))
        there += len(pieces[-1])
        if there >= size:
            break
    return np.concatenate(pieces)
