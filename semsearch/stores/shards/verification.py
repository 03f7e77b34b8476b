"""Checks of a folder of shards: checksums of its files, and the vectors of the shards against those of the lists.

The vectors are in another order in the lists. So a number is made of each vector and its id, and the sums of these
numbers, shard by shard, have to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import SemsearchError
from semsearch.stores.local.filtering.row_file import RowFile
from semsearch.stores.shards import manifest as manifests
from semsearch.stores.shards import rows
from semsearch.stores.shards.location import build_command
from semsearch.stores.shards.manifest import Manifest, Shard
from semsearch.types import Progress
from semsearch.utils.checksums import hashed
from semsearch.utils.quantities import count
from semsearch.vector_index.on_disk.searching import ListsOnDisk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids

SEED = 5  # of the weights


def not_searchable(location: Path, found: Manifest) -> str:
    """What was embedded since, as a sentence; "" for nothing."""
    try:
        newer = {str(one) for one in manifests.job(location)["shards"]} - {shard.name for shard in found.shards}
    except SemsearchError as error:
        return error.message
    are = "is" if len(newer) == 1 else "are"
    if not newer:
        return ""
    return f"{count(len(newer), 'shard')} of {location.name} {are} not searchable yet. {build_command(location)}"


def verify(
    location: Path, found: Manifest, lists: ListsOnDisk, catalogue: RowFile, tell: Callable[[Progress], None]
) -> list[str]:
    """Every problem, a sentence each."""
    problems: list[str] = []
    total, done = len(found.files) + len(found.shards) + 3, 0

    def next_check(item: str) -> None:
        nonlocal done
        tell(Progress(done, total, "checks", item))
        done += 1

    for name, (_, sha256) in found.files.items():
        next_check(name)
        problems += _differs(found.folder(location) / name, sha256, build_command(location))
    for shard in found.shards:
        next_check(shard.file)
        problems += _differs(location / shard.file, shard.sha256, manifests.AGAIN) if shard.rows else []
    next_check("documents")
    problems += [f"{count(1, 'file')} of documents is damaged: {what}." for what in [catalogue.damage()] if what]
    if not problems:  # else a reason was named, and these would repeat it
        next_check("vectors")
        problems += _vectors(location, found, lists, catalogue)
    next_check("shards")
    newer = not_searchable(location, found)
    return problems + ([newer] if newer else [])


def _differs(file: Path, sha256: str, fix: str) -> Iterator[str]:
    try:
        if hashed(file) != sha256:
            yield f"{file.name} is not what was written. {fix}"
    except OSError as error:
        yield f"{file.name} cannot be read: {error.strerror}. {fix}"


def _vectors(location: Path, found: Manifest, lists: ListsOnDisk, catalogue: RowFile) -> Iterator[str]:
    weights = np.random.default_rng(SEED).integers(0, 2**63, found.dim, np.uint64)
    bases = np.array([shard.base for shard in found.shards], np.int64)
    sums = np.zeros(len(bases) + 1, np.uint64)
    for ids, codes in lists.rows():
        np.add.at(sums, np.searchsorted(bases, ids, side="left"), _numbers(ids, codes, weights))
    for at, shard in enumerate(found.shards, start=1):
        if int(sums[at]) != _sum(location, shard, catalogue, weights):
            yield f"the vectors of {shard.file} are not those that searches compare. {build_command(location)}"


def _sum(location: Path, shard: Shard, catalogue: RowFile, weights: NDArray[np.uint64]) -> int:
    """The sum of the numbers of a shard's vectors, without the passages that are left out."""
    if not shard.rows:
        return 0
    searchable = catalogue.ids(shard.base, shard.base + shard.rows)
    total, first = np.uint64(0), shard.base + 1
    with rows.reading(location / shard.file) as reader:
        for batch in reader.iter_batches(rows.AT_ONCE, columns=[rows.VECTOR]):
            ids = np.arange(first, first + len(batch))
            codes = rows.matrix(batch.column(0)).astype(np.float16)
            there = np.isin(ids, searchable, assume_unique=True)
            total = np.add(total, _numbers(ids[there], codes[there], weights).sum(dtype=np.uint64))
            first += len(batch)
    return int(total)


def _numbers(ids: Ids, codes: NDArray[np.float16], weights: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """(n,) a number of each code (n, d) and its id, modulo 2^64."""
    words = np.ascontiguousarray(codes).view("<u2").astype(np.uint64)
    return np.asarray((words @ weights + np.uint64(1)) * (2 * ids.astype(np.uint64) + np.uint64(1)), np.uint64)
