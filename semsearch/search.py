"""The read path, one straight line:

    encode the query → nearest ∪ keyword → fuse → passages → group → hits

Everything happens inside one read transaction, so a hit never mixes two states of the index.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch import fusion, keyword, strength
from semsearch.copies import same_words
from semsearch.errors import NotFound, UsageError
from semsearch.nearest import Nearest
from semsearch.store import Space, Store, StoredPassage
from semsearch.types import EncoderProtocol, Hit, Query, Results
from semsearch.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

DEPTH = 100  # candidates of each channel at least; rank 100 adds 1/160 to a fused score, rank 1 adds 1/61
MODES = ("hybrid", "semantic", "keyword")


@dataclass(slots=True)
class Searcher:
    """One open index, ready to be asked. `encoder` is called for only when a query needs a vector."""

    store: Store
    space: Space
    nearest: Nearest
    encoder: Callable[[], EncoderProtocol]
    background: tuple[float, ...]
    bases: Mapping[str, str]  # folder -> the prefix of its documents' ids

    def search(self, query: Query) -> Results:
        """The best `query.k` hits. Raises UsageError for a query that asks for nothing."""
        check(query)
        began = time.perf_counter()
        target, cut = self._target(query) if query.mode != "keyword" else (None, [])
        encoded = time.perf_counter()
        with self.store.snapshot():
            hits, warnings, plan = self._ranked(query, target)
        done = time.perf_counter()
        took = {"encode": (encoded - began) * 1000, "search": (done - encoded) * 1000}
        return Results(query, tuple(hits), {k: round(v, 2) for k, v in took.items()}, (*cut, *warnings), plan)

    def _target(self, query: Query) -> tuple[Vectors | None, list[str]]:
        """The (1, d) vector that the query's texts and examples add up to, None for none; and what was cut (R17)."""
        cut = []
        weighted = [(query.text, 1.0)] if query.text.strip() else []
        weighted += [*query.more, *((text, -weight) for text, weight in query.less)]
        total = np.zeros((1, self.space.dim), dtype=np.float32)
        if weighted:
            encoder = self.encoder()
            before = _cut_tokens(encoder)
            vectors = encoder.encode([text for text, _ in weighted], role="query")
            if lost := _cut_tokens(encoder) - before:
                cut = [f"the query is too long for the encoder: about {lost} tokens at its end were not looked at."]
            total += np.array([[weight for _, weight in weighted]], dtype=np.float32) @ vectors
        for example in query.like:
            total += self._example(example)
        return (unit_rows(total) if total.any() else None), cut

    def _example(self, example: int | str) -> Vectors:
        """The (1, d) vector of a passage id, of a document id (mean of its passages), or of a file's text."""
        ids = np.array([example], dtype=np.int64) if isinstance(example, int) else self.store.passage_ids(example)
        rows = [vectors for _, vectors in self.store.vectors(self.space.id, ids=ids)] if len(ids) else []
        if rows:
            return unit_rows(np.concatenate(rows).mean(axis=0, keepdims=True))
        if isinstance(example, str) and Path(example).is_file():
            from semsearch import loaders
            from semsearch.types import Document

            texts = [d.text for d in loaders.load(Path(example)) if isinstance(d, Document)]
            return unit_rows(self.encoder().encode(texts, role="passage").mean(axis=0, keepdims=True))
        raise NotFound(
            f"no passage, document or file is called {str(example)!r}.",
            "Use the id or the document of a hit, or a file.",
        )

    def _ranked(self, query: Query, target: Vectors | None) -> tuple[list[Hit], list[str], dict[str, Any]]:
        allowed = self._allowed(query)
        depth = max(DEPTH, 4 * query.k)
        most = len(allowed) if allowed is not None else max(1, self.store.counts()["passages"])
        while True:  # deeper only where grouping or filters left fewer than k of what the channels gave
            channels = self._channels(query, target, min(depth, most), allowed)
            picked, warnings = self._pick(query, target, channels)
            if len(picked) >= query.k or depth >= most:
                break
            depth *= 4
        hits = [self._hit(rank, group, channels) for rank, group in enumerate(picked[: query.k], 1)]
        plan = {**channels.plan, "allowed": None if allowed is None else len(allowed), "depth": min(depth, most)}
        warnings += plan.get("nearest", {}).pop("warnings", [])
        return hits, warnings + self._verdict(hits, target), plan

    def _allowed(self, query: Query) -> Ids | None:
        connection = self.store.connection
        allowed = None
        if query.where is not None or query.path is not None:
            from semsearch import filters  # 30 ms that most queries do not need

            allowed = filters.allowed(connection, query.where, query.path)
        if query.must:
            containing = keyword.containing(connection, query.must)
            allowed = containing if allowed is None else np.intersect1d(allowed, containing, assume_unique=True)
        return allowed

    def _own_passages(self, query: Query) -> set[int]:
        """Passages of the examples themselves, which are no answer to "more like this"."""
        own: set[int] = set()
        for example in query.like:
            if isinstance(example, int):
                found = self.store.passages(np.array([example], dtype=np.int64))
                own |= {example}
                example = found[0].document if found and query.group == "document" else ""
            own |= set(self.store.passage_ids(example).tolist())
        return own

    def _channels(self, query: Query, target: Vectors | None, depth: int, allowed: Ids | None) -> _Channels:
        words = " ".join([query.text, *(text for text, _ in query.more)]).strip()
        plan: dict[str, Any] = {"mode": query.mode}
        cosine: dict[int, float] = {}
        bm25: dict[int, float] = {}
        covered = np.zeros(0)
        if target is not None:
            ids, scores, plan["nearest"] = self.nearest.search(target, depth, allowed, exact=query.exact)
            cosine = {int(i): float(s) for i, s in zip(ids[0], scores[0], strict=True) if i >= 0}
        if query.mode != "semantic" and words:
            found, ranks, covered = keyword.covered(self.store.connection, words, depth, allowed=allowed)
            bm25 = {int(i): float(s) for i, s in zip(found, ranks, strict=True)}
        channels = _Channels(cosine, bm25, fused={}, plan=plan)
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
            ids, scores = fusion.evidence(both[0], both[1], covered)
        else:
            plan["fusion"] = f"linear, alpha = {query.alpha}"
            ids, scores = fusion.linear(both[0], both[1], query.alpha)
        return {int(i): float(s) for i, s in zip(ids, scores, strict=True)}

    def _complete(self, channels: _Channels, target: Vectors | None) -> None:
        """Give a passage that only the words found its cosine too: strength is for every hit."""
        missing = np.array(sorted(set(channels.bm25) - set(channels.cosine)), dtype=np.int64)
        if target is None or not len(missing):
            return
        for ids, vectors in self.store.vectors(self.space.id, ids=missing):
            channels.cosine |= dict(zip(ids.tolist(), (vectors @ target[0]).tolist(), strict=True))

    def _pick(self, query: Query, target: Vectors | None, channels: _Channels) -> tuple[list[_Group], list[str]]:
        """Groups in order of their best passage: one a document, copies folded; what is gone or weak left out."""
        order = np.array(list(channels.fused), dtype=np.int64)
        own = self._own_passages(query)
        strengths = self._strengths(order, channels) if target is not None and self.background else {}
        groups: dict[str, _Group] = {}
        gone = 0
        for passage in self.store.passages(order):
            if passage.id in own or strengths.get(passage.id, 1.0) < query.min_strength:
                continue
            if self._is_gone(passage):
                gone += 1
                continue
            key = passage.document if query.group == "document" else str(passage.id)
            if key in groups:
                groups[key].more += 1
            elif len(groups) < query.k and not (query.group == "document" and _folded(passage, groups)):
                groups[key] = _Group(passage, strengths.get(passage.id))
        hidden = f"{gone} passages are hidden: their files are gone. Run `semsearch index` to update."
        return list(groups.values()), [hidden] if gone else []

    def _strengths(self, ids: Ids, channels: _Channels) -> dict[int, float]:
        cosines = np.array([channels.cosine.get(i, -1.0) for i in ids.tolist()])
        return dict(zip(ids.tolist(), strength.of(cosines, self.background).tolist(), strict=True))

    def _is_gone(self, passage: StoredPassage) -> bool:
        """A file that is no longer in a folder that still is (a folder that is away says nothing, R13)."""
        if passage.root is None or passage.path is None:
            return False
        return Path(passage.root).is_dir() and not Path(passage.root, passage.path).exists()

    def _hit(self, rank: int, group: _Group, channels: _Channels) -> Hit:
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
            metadata=found.metadata,
            more_in_document=group.more,
            near_copies=tuple(group.copies),
        )

    def _verdict(self, hits: Sequence[Hit], target: Vectors | None) -> list[str]:
        if target is None or not hits or not self.background:
            return []
        best = max(hit.strength or 0.0 for hit in hits)
        least = strength.threshold(self.background)
        if best >= least:
            return []
        return [f"no good match: the best strength is {best:.2f}, and {least:.2f} is what unrelated text reaches here."]


@dataclass(slots=True)
class _Channels:
    """What each channel found: passage id -> score; `fused` in the order of the answer."""

    cosine: dict[int, float]
    bm25: dict[int, float]
    fused: dict[int, float]
    plan: dict[str, Any]


@dataclass(slots=True)
class _Group:
    best: StoredPassage
    strength: float | None
    more: int = 0
    copies: list[str] = field(default_factory=list)


def check(query: Query) -> None:
    """Raises UsageError where a query cannot be answered, with what it would take."""
    if query.k < 1:
        raise UsageError(f"k is {query.k}, but at least one hit has to be asked for.", "Use -k 10.")
    if query.mode not in MODES:
        raise UsageError(f"no mode is called {query.mode!r}.", f"Choose from: {', '.join(MODES)}.")
    if query.alpha is not None and not 0 <= query.alpha <= 1:
        raise UsageError(f"alpha is {query.alpha}, but it lies in 0 … 1.", "1 is the cosine alone, 0 the words alone.")
    if not (query.text.strip() or query.more or query.like):
        raise UsageError("the query is empty.", "Say what to look for.")
    if query.mode == "keyword" and not (query.text.strip() or query.more):
        raise UsageError("a keyword search needs words.", "Give TEXT, or use --mode semantic with --like.")
    if not 0 <= query.min_strength <= 1:
        raise UsageError(f"the minimum strength is {query.min_strength}, but it lies in 0 … 1.")


def _cut_tokens(encoder: EncoderProtocol) -> int:
    """How many tokens were cut so far; an encoder that does not count cuts nothing that we know of."""
    return int(getattr(getattr(encoder, "cuts", None), "tokens", 0))


def _columns(scores: dict[int, float]) -> tuple[Ids, Any]:
    return np.array(list(scores), dtype=np.int64), np.array(list(scores.values()), dtype=np.float64)


def _folded(passage: StoredPassage, groups: Mapping[str, _Group]) -> bool:
    """True where an earlier hit says the same in the same words; it then carries this one's document."""
    for group in groups.values():
        if same_words(group.best.text, passage.text):
            if passage.document not in group.copies:
                group.copies.append(passage.document)
            return True
    return False
