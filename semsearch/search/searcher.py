"""The read path, one straight line:

    encode the query → nearest ∪ keyword → fuse → passages → group → hits

Everything happens inside one read transaction, so a hit never mixes two states of the index.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from semsearch.encoders.query_cache import QueryCache
from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.search import fusion
from semsearch.search.grouping import Group as Picked
from semsearch.search.grouping import pick
from semsearch.stores.local import lexical
from semsearch.stores.local.store import Space, Store
from semsearch.types import Group, Hit, Mode, Query, Results
from semsearch.utils import calibration
from semsearch.utils.vectors import unit_rows
from semsearch.vector_index.searcher import Nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

DEPTH = 100  # candidates of each channel at least; rank 100 adds 1/160 to a fused score, rank 1 adds 1/61


@dataclass(slots=True)
class Searcher:
    """One open index, ready to be asked. `encoder` is called for only when a query needs a vector."""

    store: Store
    space: Space
    nearest: Nearest
    encoder: Callable[[], QueryCache]
    background: tuple[float, ...]
    bases: Mapping[str, str]  # folder -> the prefix of its documents' ids

    def search(self, query: Query) -> Results:
        """The best `query.k` hits. Raises UsageError for a query that asks for nothing."""
        check(query)
        began = time.perf_counter()
        told, warnings, fresh = self._told(query) if query.mode != "keyword" else (None, [], 0)
        encoded = time.perf_counter()
        with self.store.snapshot():
            target = self._target(query, told)
            hits, plan = self._ranked(query, target, warnings)
        done = time.perf_counter()
        took = {"encode": round((encoded - began) * 1000, 2), "search": round((done - encoded) * 1000, 2)}
        return Results(query, tuple(hits), took, (*warnings, *self._verdict(hits)), {**plan, "encoded": fresh})

    def _told(self, query: Query) -> tuple[Vectors | None, list[str], int]:
        """The weighted sum (1, d) of what the query says, None where it says nothing; what was cut (R17); how many
        texts went through the encoder: those that it remembers did not.
        """
        weighted = [(query.text, 1.0)] if query.text.strip() else []
        weighted += [*query.more, *((text, -weight) for text, weight in query.less)]
        if not weighted:
            return None, [], 0
        found = self.encoder().encode_queries([text for text, _ in weighted])
        lost = found.truncated_tokens
        cut = f"the query is too long for the encoder: about {lost} tokens at its end were not looked at."
        total = np.array([[weight for _, weight in weighted]], dtype=np.float32) @ found.vectors
        return total, [cut] if lost else [], found.encoded

    def _target(self, query: Query, told: Vectors | None) -> Vectors | None:
        """The unit vector (1, d) to look near: what the query says and what its examples are; None for nothing."""
        if query.mode == "keyword":
            return None
        parts = [self._example(example) for example in query.like] + ([] if told is None else [told])
        total = sum(parts, np.zeros((1, self.space.dim), dtype=np.float32))
        return unit_rows(total) if total.any() else None

    def _example(self, example: int | str) -> Vectors:
        """The (1, d) vector of a passage id, of a document id (mean of its passages), or of a file's text."""
        ids = np.array([example], dtype=np.int64) if isinstance(example, int) else self._passages_of(example)
        rows = [vectors for _, vectors in self.store.vectors(self.space.id, ids=ids)] if len(ids) else []
        if rows:
            return unit_rows(np.concatenate(rows).mean(axis=0, keepdims=True))
        if isinstance(example, str) and Path(example).is_file():
            from semsearch.documents import loaders
            from semsearch.types import Document

            texts = [d.text for d in loaders.load(Path(example)) if isinstance(d, Document)]
            return unit_rows(self.encoder().encode(texts, role="passage").mean(axis=0, keepdims=True))
        raise NotFound(
            f"no passage, document or file is called {str(example)!r}.",
            "Use the id or the document of a hit, or a file.",
        )

    def _ranked(self, query: Query, target: Vectors | None, warnings: list[str]) -> tuple[list[Hit], dict[str, Any]]:
        """The hits and how they were found; what went wrong on the way is added to `warnings`."""
        allowed = self._allowed(query)
        own = self._own_passages(query)
        depth = max(DEPTH, 4 * query.k)
        most = len(allowed) if allowed is not None else max(1, self.store.counts()["passages"])
        while True:  # deeper only where grouping or filters left fewer than k of what the channels gave
            channels = self._channels(query, target, min(depth, most), allowed)
            strengths = self._strengths(channels) if target is not None and self.background else {}
            picked = pick(self.store, list(channels.fused), strengths, query, own)
            if len(picked.groups) == query.k or depth >= most:
                break
            depth *= 4
        if picked.gone:
            warnings.append(
                f"{picked.gone} passages are hidden: their files are gone. Run `semsearch index` to update."
            )
        warnings += channels.warnings
        hits = [self._hit(rank, group, channels) for rank, group in enumerate(picked.groups, 1)]
        return hits, {**channels.plan, "allowed": None if allowed is None else len(allowed), "depth": min(depth, most)}

    def _allowed(self, query: Query) -> Ids | None:
        connection = self.store.connection
        allowed = None
        if query.where is not None or query.path is not None:
            from semsearch.stores.local import filter_sql  # 30 ms that most queries do not need

            allowed = filter_sql.allowed(connection, query.where, query.path)
        if query.must:
            containing = lexical.containing(connection, query.must)
            allowed = containing if allowed is None else np.intersect1d(allowed, containing, assume_unique=True)
        return allowed

    def _passages_of(self, example: str) -> Ids:
        """The passages of a document: by its id, or by the path of its file, seen from here."""
        ids = self.store.passage_ids(example)
        if len(ids) or not Path(example).is_file():
            return ids
        path = Path(example).resolve()
        known = (
            prefix + path.relative_to(base).as_posix()
            for base, prefix in self.bases.items()
            if path.is_relative_to(base)
        )
        return next((found for name in known if len(found := self.store.passage_ids(name))), ids)

    def _own_passages(self, query: Query) -> frozenset[int]:
        """Passages of the examples themselves, which are no answer to "more like this"."""
        own: set[int] = set()
        for example in query.like:
            if isinstance(example, int):
                found = self.store.passages(np.array([example], dtype=np.int64))
                own |= {example}
                example = found[0].document if found and query.group == "document" else ""
            own |= set(self._passages_of(example).tolist()) if example else set()
        return frozenset(own)

    def _channels(self, query: Query, target: Vectors | None, depth: int, allowed: Ids | None) -> _Channels:
        words = " ".join([query.text, *(text for text, _ in query.more)]).strip()
        plan: dict[str, Any] = {"mode": query.mode}
        cosine: dict[int, float] = {}
        bm25: dict[int, float] = {}
        covered = np.zeros(0)
        warnings: list[str] = []
        if target is not None:
            ids, scores, how = self.nearest.search(target, depth, allowed, exact=query.exact)
            warnings = how.pop("warnings", [])
            plan["nearest"] = how
            cosine = {int(i): float(s) for i, s in zip(ids[0], scores[0], strict=True) if i >= 0}
        if query.mode != "semantic" and words:
            found, ranks, covered = lexical.covered(self.store.connection, words, depth, allowed=allowed)
            bm25 = {int(i): float(s) for i, s in zip(found, ranks, strict=True)}
        channels = _Channels(cosine, bm25, fused={}, plan=plan, warnings=warnings)
        channels.fused = self._fused(query, channels, covered, plan)
        self._complete(channels, target)
        return channels

    def _fused(
        self, query: Query, channels: _Channels, covered: NDArray[np.float64], plan: dict[str, Any]
    ) -> dict[int, float]:
        both = (_columns(channels.cosine), _columns(channels.bm25))
        plan["fusion"] = "none"
        if query.mode == "semantic" or not (query.text.strip() or query.more):
            return dict(channels.cosine)
        if query.mode == "keyword":
            return dict(channels.bm25)
        if query.alpha is None:
            plan["fusion"] = "reciprocal rank, k = 60, weighted by evidence"
            fused = fusion.evidence(both[0], both[1], covered)
        else:
            plan["fusion"] = f"linear, alpha = {query.alpha}"
            fused = fusion.linear(both[0], both[1], query.alpha)
        ids = fused.ids.tolist()
        channels.parts = dict(zip(ids, fused.parts.T.tolist(), strict=True))
        return dict(zip(ids, fused.scores.tolist(), strict=True))

    def _complete(self, channels: _Channels, target: Vectors | None) -> None:
        """Give a passage that only the words found its cosine too: strength is for every hit."""
        missing = np.array(sorted(set(channels.bm25) - set(channels.cosine)), dtype=np.int64)
        if target is None or not len(missing):
            return
        for ids, vectors in self.store.vectors(self.space.id, ids=missing):
            channels.cosine |= dict(zip(ids.tolist(), (vectors @ target[0]).tolist(), strict=True))

    def _strengths(self, channels: _Channels) -> dict[int, float]:
        cosines = np.array([channels.cosine.get(one, -1.0) for one in channels.fused])
        return dict(zip(channels.fused, calibration.calibrate(cosines, self.background).tolist(), strict=True))

    def _hit(self, rank: int, group: Picked, channels: _Channels) -> Hit:
        found = group.best
        scores = {"cosine": channels.cosine.get(found.id), "bm25": channels.bm25.get(found.id)}
        path = found.document if found.path is None else self.bases.get(found.root or "", "") + found.path
        return Hit(
            rank=rank,
            id=found.id,
            score=channels.fused[found.id],
            strength=group.strength,
            path=path,
            document=found.document,
            start=found.start,
            end=found.end,
            line=found.line,
            page=found.page,
            heading=found.heading,
            text=found.text,
            scores={name: value for name, value in scores.items() if value is not None},
            parts=dict(zip(scores, channels.parts[found.id], strict=True)) if channels.parts else {},
            metadata=found.metadata,
            more_in_document=group.more,
            near_copies=tuple(group.copies),
        )

    def _verdict(self, hits: Sequence[Hit]) -> list[str]:
        """What to say where even the best hit is no better than chance."""
        known = [hit.strength for hit in hits if hit.strength is not None]
        least = calibration.threshold(self.background) if known else 0.0
        if not known or max(known) >= least:
            return []
        best = max(known)
        digits = 2 if round(best, 2) < round(least, 2) else 4  # so that rounding does not contradict the verdict
        reached = f"the best strength is {best:.{digits}f}, and unrelated text reaches {least:.{digits}f} here"
        return [f"no good match: {reached}."]


@dataclass(slots=True)
class _Channels:
    """What each channel found: passage id -> score; `fused` in the order of the answer, `parts` of it by channel."""

    cosine: dict[int, float]
    bm25: dict[int, float]
    fused: dict[int, float]
    plan: dict[str, Any]
    warnings: list[str]
    parts: dict[int, list[float]] = field(default_factory=dict)


def check(query: Query) -> None:
    """Raises UsageError where a query cannot be answered, with what it would take."""
    if not isinstance(query.k, int) or query.k < 1:
        raise UsageError(f"k must be a whole number of at least 1, not {query.k!r}.", "Use for example k=10 (-k 10).")
    for name, value, known in (("mode", query.mode, get_args(Mode)), ("group", query.group, get_args(Group))):
        if value not in known:
            raise UnknownName(name, str(value), known)
    for name, text in (("text", query.text), ("where", query.where or ""), ("path", query.path or "")):
        if not isinstance(text, str):
            raise UsageError(f"{name} must be a string, not {text!r}.", "Put it in quotes.")
    if query.alpha is not None and not 0 <= query.alpha <= 1:
        raise UsageError(
            f"alpha must be between 0 and 1, not {query.alpha}.", "1 uses only the cosine, 0 only the words."
        )
    if not 0 <= query.min_strength <= 1:
        raise UsageError(f"the minimum strength must be between 0 and 1, not {query.min_strength}.", "Try 0.5.")
    if not (query.text.strip() or query.more or query.like):
        raise UsageError("the query is empty.", "Pass a text to search for.")
    if query.mode == "keyword" and not (query.text.strip() or query.more):
        raise UsageError("a keyword search needs words.", "Pass a text, or use the semantic mode.")


def _columns(scores: dict[int, float]) -> tuple[Ids, Any]:
    return np.array(list(scores), dtype=np.int64), np.array(list(scores.values()), dtype=np.float64)
