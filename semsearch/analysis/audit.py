"""Audit of an index: recall and speed of its searches against exact search, and what has gone stale or astray.

The queries are stored vectors, each without itself. They are searched among all passages, and among random subsets of
the sizes that filters leave. A sample is encoded again: `drift` says whether the encoder still gives those vectors. The
same queries are asked in a race of all vector indexes.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from semsearch.analysis.sampling import smallest_hashes
from semsearch.errors import SemsearchError
from semsearch.stores import base
from semsearch.stores.protocol import Dense, StoreReader
from semsearch.stores.records import Space
from semsearch.types import EncoderProtocol, JsonObject
from semsearch.vector_index import race

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

    Search = Callable[[Vectors, int], Dense]

SHARES = (0.5, 0.05, 0.001)  # of all passages that a filter lets pass
EXACT_TIMED = 3  # queries whose exact search is timed; each reads every vector
ENCODED = 50  # passages that are encoded again
SAME = 0.99  # cosine of a passage's vector of now with the stored one; int8 on another processor reaches 0.995
NEAR = 0.98  # cosine of two passages that say nearly the same
IDS_AT_ONCE = 10_000


def audit(
    reader: StoreReader, space: Space, encoder: EncoderProtocol | None, *, context: bool, sample: int, k: int
) -> JsonObject:
    """The result of `Analysis.audit`. `encoder`: None leaves out what needs one. `context`: as in the recipe."""
    with reader.snapshot():
        everything = reader.passage_ids(space=space.id)
        ids, queries = _sampled(reader, space, everything, sample)
        recall, nearest = _recall(reader, space, everything, ids, queries, k)
        again = np.isin(ids, smallest_hashes(ids, ENCODED))  # of all ages
        return {
            "queries": len(ids),
            "k": k,
            **recall,
            "orphans": _orphans(reader, everything),
            "duplicates": {"passages": _repeated(reader), "near": _share(nearest >= NEAR), "near_cosine": NEAR},
            **_encoded_again(reader, encoder, ids[again], queries[again], context),
        }


def race_of_backends(
    reader: StoreReader, space: Space, sample: int, k: int, recall: float, progress: Callable[[str], None]
) -> JsonObject:
    """The result of `admin.bench`, but for `kept`."""
    with reader.snapshot():
        ids, queries = _sampled(reader, space, reader.passage_ids(space=space.id), sample)
        trial = race.Trial(
            space.dim,
            reader.state().vectors[space.id],
            partial(reader.vectors, space.id),
            lambda chosen: reader.vectors(space.id, ids=chosen),
            ids,
            queries,
            k,
        )
        finishers = race.race(trial, progress) if len(ids) else []
    return {
        "vectors": trial.count,
        "queries": len(ids),
        "k": k,
        "backends": [asdict(one) for one in finishers],
        "fastest": race.fastest(finishers, recall),
    }


def _sampled(reader: StoreReader, space: Space, everything: Ids, sample: int) -> tuple[Ids, Vectors]:
    """ids (m,), ascending, and vectors (m, d) of up to `sample` stored vectors."""
    chosen = smallest_hashes(everything, sample)
    rows = [vectors for _, vectors in reader.vectors(space.id, ids=chosen)]
    return chosen, np.concatenate([np.empty((0, space.dim), np.float32), *rows])


def _recall(
    reader: StoreReader, space: Space, everything: Ids, ids: Ids, queries: Vectors, k: int
) -> tuple[JsonObject, Vectors]:
    """Recall and medians in ms, and (m,) the cosine of the nearest other passage of each query."""
    plain = _Measured(lambda rows, n: reader.dense(space.id, rows, n), ids, queries, k)
    right = reader.dense(space.id, queries, k + 1, exact=True) if len(ids) else None
    exact = _Measured(lambda rows, n: reader.dense(space.id, rows, n, exact=True), ids, queries[:EXACT_TIMED], k)
    filters = [_filtered(reader, space, everything, ids, queries, k, share) for share in SHARES]
    recalls = [one["recall"] for one in filters if one["recall"] is not None]
    hits = {
        "exact": plain.exact,
        "recall": None if plain.exact else plain.recall(right),
        "recall_filtered": min(recalls, default=None),
        "filters": filters,
        "ms": plain.ms,
        "ms_exact": exact.ms,
        "plan": {**plain.plan, "warnings": list(plain.warnings)},
    }
    return hits, _nearest(ids, right)


def _filtered(
    reader: StoreReader, space: Space, everything: Ids, ids: Ids, queries: Vectors, k: int, share: float
) -> JsonObject:
    """Recall and speed with a filter that lets a random share of the passages pass."""
    passing = everything[np.random.default_rng(1).random(len(everything)) < share]
    allowed = reader.allowed(None, ids=passing)
    measured = _Measured(lambda rows, n: reader.dense(space.id, rows, n, allowed), ids, queries, k)
    right = None if measured.exact else reader.dense(space.id, queries, k + 1, allowed, exact=True)
    recall = None if measured.exact else measured.recall(right)
    return {"share": share, "passages": len(passing), "exact": measured.exact, "recall": recall, "ms": measured.ms}


class _Measured:
    """The answers of a search to (m, d) queries, one at a time, with the median time in ms."""

    def __init__(self, search: Search, ids: Ids, queries: Vectors, k: int) -> None:
        self._ids, self._k = ids, k
        self._answers: list[Dense] = []
        took = []
        first = search(queries[:1], k + 1) if len(queries) else None  # opens caches, outside the timing
        for query in queries:
            began = time.perf_counter()
            self._answers.append(search(query[None], k + 1))
            took.append((time.perf_counter() - began) * 1000)
        self.ms = round(float(np.median(took or [0.0])), 3)
        self.plan: JsonObject = first.plan if first else {}
        self.warnings = first.warnings if first else ()
        self.exact = str(self.plan.get("pass", "exact")).startswith("exact")

    def recall(self, right: Dense | None) -> float | None:
        """Share of the right k that was found. A hit counts if it reaches the k-th right cosine: texts may be equal."""
        hits = neighbours = 0
        for at, (own, answer) in enumerate(zip(self._ids, self._answers, strict=True) if right else ()):
            others = _others(own, right, at)[: self._k]
            neighbours += len(others)
            if len(others):
                reached = answer.cosines[0][answer.ids[0] != own] >= others[-1] - 1e-6
                hits += min(len(others), int(reached.sum()))
        return round(hits / neighbours, 4) if neighbours else None


def _others(own: int, dense: Dense | None, at: int) -> Vectors:
    """The cosines of row `at` without the passage `own`, best first."""
    if dense is None:
        return np.empty(0, np.float32)
    ids = dense.ids[at]
    others: Vectors = dense.cosines[at][(ids != own) & (ids >= 0)]
    return others


def _nearest(ids: Ids, dense: Dense | None) -> Vectors:
    best = [_others(own, dense, at)[:1] for at, own in enumerate(ids)]
    return np.concatenate([np.empty(0, np.float32), *best])


def _share(of: NDArray[np.bool_]) -> float | None:
    return round(float(np.mean(of)), 4) if len(of) else None


def _orphans(reader: StoreReader, everything: Ids) -> JsonObject:
    """Vectors without their passage, passages without a vector, documents none of whose passages has a vector."""
    owners: dict[int, int] = {}
    for at in range(0, len(everything), IDS_AT_ONCE):
        owners |= reader.owners(everything[at : at + IDS_AT_ONCE].tolist())
    state = reader.state()
    return {
        "vectors": len(everything) - len(owners),
        "passages": state.passages - len(owners),
        "documents": state.documents - len(set(owners.values())),
    }


def _repeated(reader: StoreReader) -> int:
    """Passages with the text of an earlier one."""
    counts = Counter(hashlib.blake2b(text.encode(), digest_size=12).digest() for text in base.texts(reader))
    return counts.total() - len(counts)


def _encoded_again(
    reader: StoreReader, encoder: EncoderProtocol | None, ids: Ids, stored: Vectors, context: bool
) -> JsonObject:
    """Cosines of a sample's vectors of now with the stored ones, and how many texts are longer than the encoder reads.

    The embedding cache is passed over: it would give what was stored.
    """
    if encoder is None:
        return {"drift": None, "truncation": None}
    try:
        passages = {passage.id: passage for passage in reader.passages(ids)}  # not those of orphans
        here = [at for at, id_ in enumerate(ids.tolist()) if id_ in passages]
        texts = [passages[id_].embedded(with_context=context) for id_ in ids[here].tolist()]
        before = encoder.truncation.passages
        now = (encoder.backend or encoder).encode(texts, role="passage")
        cut = encoder.truncation.passages - before
    except SemsearchError as error:
        return {"drift": {"error": error.message}, "truncation": None}
    cosines = np.einsum("nd,nd->n", now, stored[here])
    moved = [passages[id_].document for id_ in ids[here][cosines < SAME].tolist()]
    lowest = round(float(cosines.min(initial=1.0)), 4)
    drift = {"passages": len(texts), "changed": len(moved), "lowest_cosine": lowest, "documents": sorted(set(moved))}
    return {"drift": drift, "truncation": {"passages": len(texts), "truncated": cut}}
