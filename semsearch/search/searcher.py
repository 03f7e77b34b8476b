"""The read path, one straight line:

    encode the query → dense ∪ lexical → fuse → passages → group → hits (→ read again by a reranker)

All but the last happens inside one snapshot of the store, so a hit never mixes two states of the index.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.chunking.splitter import Splitter, passages
from semsearch.encoders.index_encoder import refuse
from semsearch.encoders.query_cache import QueryCache
from semsearch.errors import EncodingFailed, NotFound, UsageError
from semsearch.search import fusion, reranking
from semsearch.search.grouping import Collapsed, CollapsedHit, collapse
from semsearch.search.query_check import check, parse_filter, texts_to_encode
from semsearch.stores import foreign_questions
from semsearch.stores.protocol import Allowed, Lexical, StoreReader
from semsearch.stores.records import Space
from semsearch.types import Document, Hit, JsonObject, Query, Results
from semsearch.utils import strength
from semsearch.utils.passage_context import embedded
from semsearch.utils.quantities import rounded_down
from semsearch.utils.vectors import row_ids, unit_rows

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors
    from semsearch.utils.strength import NullDistribution

NO_STRENGTH = "Leave out min_strength.", "Leave out --min-strength."  # in Python, and at the command line
DEPTH = 300  # candidates of each channel at least: a document's passages add up, and cosines are compared with the last
NEAREST = 30  # candidates at least where the cosine alone decides
FEEDBACK = 5  # best passages that pull the query towards their mean (Rocchio 1971), chosen with PULL on choosing data
PULL = 0.4


@dataclass(frozen=True, slots=True)
class _State:
    """The parts of the store at `version` that are read again only after a commit."""

    version: int
    space: Space
    total: int  # passages
    passages: int  # those with a vector in this space
    updating: bool  # a run goes on or was interrupted
    prefixes: Mapping[str, str]  # followed folder -> prefix of the ids of its documents


@dataclass(slots=True)
class _Channels:
    """The results of each channel, passage id -> score; `fused` in the order of the answer, `parts` by channel."""

    cosine: dict[int, float]
    bm25: dict[int, float]
    fused: dict[int, float]
    plan: JsonObject
    warnings: tuple[str, ...]
    parts: dict[int, list[float]] = field(default_factory=dict)
    complete: frozenset[int] = frozenset()  # passages with all telling words of the query
    ranked: fusion.Fused | None = None  # of a hybrid search, before passages of one document add up
    owners: Mapping[int, int] | None = None  # passage -> its document, where that was asked for


class Searcher:
    """Searches one space of one store. Threads may share it.

    `queries` encodes the texts; it is not called for a query that needs no vector. `like_files`: an example may be the
    path of a file.
    """

    def __init__(self, reader: StoreReader, space: Space, queries: QueryCache, *, like_files: bool = True) -> None:
        self._reader = reader
        self._like_files = like_files
        self._space = space
        self.queries = queries
        self._state: _State | None = None
        self._measured: NullDistribution | None = None  # of an index that has none on record
        self._unmeasurable = False

    def search(self, query: Query, vector: Vectors | None = None) -> Results:
        """The hits for one query, with a `vector` (1, d) also near that. Raises UsageError, BadFilter, NotFound."""
        check(query, has_vector=vector is not None)
        return self._search(query, self.queries, vector)

    def search_all(self, queries: Sequence[Query]) -> list[Results]:
        """The hits for each of many queries. Their texts are encoded in one call, and each reports its share."""
        for query in queries:
            check(query)
        texts = list(dict.fromkeys(text for query in queries for text, _ in self._to_encode(query)))
        if len(texts) < 2:
            return [self._search(query, self.queries) for query in queries]
        began = time.perf_counter()
        encoded = self.queries.prefetch(texts)
        share = round((time.perf_counter() - began) * 1000 / len(queries), 2)
        found = [self._search(query, encoded) for query in queries]
        return [replace(one, took_ms={**one.took_ms, "encode": share}) for one in found]

    def _search(self, query: Query, queries: QueryCache, own_vector: Vectors | None = None) -> Results:
        reranker = reranking.chosen(query)
        began = time.perf_counter()
        weighted = self._to_encode(query, has_vector=own_vector is not None)
        encoded = queries.encode_queries([text for text, _ in weighted]) if weighted else None
        vector = own_vector
        warnings: list[str] = []
        if encoded is not None:
            vector = np.array([[weight for _, weight in weighted]], dtype=np.float32) @ encoded.vectors
            vector = vector if own_vector is None else vector + own_vector
            if lost := encoded.truncated_tokens:
                warnings.append(f"the query is too long for the encoder: about {lost} tokens at its end were ignored.")
        started = time.perf_counter()
        with self._reader.snapshot():
            state = self._current_state()
            target = self._target(query, vector, state, warnings)
            wanted = query.k + query.offset
            depth = query.rerank_depth if reranker else 0
            hits, plan = self._ranked(replace(query, k=max(wanted, depth)), target, state, warnings)
            texts = reranking.passages(self._reader, hits[:depth]) if reranker else []
        done = time.perf_counter()
        took = {"encode": round((started - began) * 1000, 2), "search": round((done - started) * 1000, 2)}
        plan["encoded"] = encoded.encoded if encoded else 0
        if reranker:  # outside the snapshot: it takes a while
            read = reranking.rerank(reranker, query, hits, texts)
            hits, plan["rerank"], took["rerank"] = read.hits, read.plan, read.took_ms
            warnings += read.warnings
        hits = hits[:wanted]
        good = self._verdict(query, hits, state, warnings)
        shown = hits[query.offset :] if good else [replace(hit, match="none") for hit in hits[query.offset :]]
        return Results(query, tuple(shown), took, tuple(warnings), plan, good)

    def _to_encode(self, query: Query, *, has_vector: bool = False) -> list[tuple[str, float]]:
        """The texts of a query that need a vector, each with its weight. Raises UsageError without an encoder.

        There, the text of a hybrid query with a vector or an example is searched for by its words.
        """
        weighted = texts_to_encode(query)
        if self._space.has_encoder or query.mode == "keyword":
            return weighted
        if query.min_strength:
            raise UsageError(f"index {self._reader.name} has no encoder, so its hits have no strength.", *NO_STRENGTH)
        by_words = query.mode == "hybrid" and not query.more and not query.less and (has_vector or query.like)
        return refuse(self._reader.name) if weighted and not by_words else []

    def _current_state(self) -> _State:
        with self._reader.snapshot() as version:
            state = self._state
            if state is None or state.version != version:
                stored = self._reader.state()
                if (space := stored.space(self._space.id)) is None:
                    raise NotFound(
                        f"index {self._reader.name} has no space {self._space.id} any more.", "Search again."
                    )
                vectors, prefixes = stored.vectors[space.id], stored.recipe.get("bases", {})
                state = self._state = _State(version, space, stored.passages, vectors, stored.updating, prefixes)
        return state

    def _null_distribution(self, state: _State) -> NullDistribution | None:
        """The one on record; an index that an older version built is measured here, once."""
        if state.space.null_distribution is not None:
            return state.space.null_distribution
        if self._measured is None and not self._unmeasurable:
            try:
                self._measured = foreign_questions.measure(self._reader, state.space, self.queries.encoder)
            except EncodingFailed:  # at one of the questions, and this query may still be answered
                self._unmeasurable = True
        return self._measured

    # ---- the query vector

    def _target(self, query: Query, texts: Vectors | None, state: _State, warnings: list[str]) -> Vectors | None:
        """The unit vector (1, d) to search near, from the query's texts and its examples; None without any."""
        if query.mode == "keyword":
            return None
        parts = [self._example(example, state, warnings) for example in query.like] + ([] if texts is None else [texts])
        total = sum(parts, np.zeros((1, self._space.dim), dtype=np.float32))
        return unit_rows(total) if total.any() else None

    def _example(self, example: int | str, state: _State, warnings: list[str]) -> Vectors:
        """The (1, d) vector of a passage id, of a document id (mean of its passages), or of a file's text."""
        ids = row_ids([example]) if isinstance(example, int) else self._passages_of(example, state)
        rows = [vectors for _, vectors in self._reader.vectors(self._space.id, ids=ids)] if len(ids) else []
        if not rows and isinstance(example, str) and self._is_file(example):
            rows = [self._file_vectors(Path(example), warnings)]
        if not rows and not self._like_files:
            raise NotFound(
                f"no passage or document is called {str(example)!r}.", "Use the id or the document of a hit."
            )
        if not rows:
            raise NotFound(
                f"no passage, document or file is called {str(example)!r}.",
                "Use the id or the document of a hit, or a file.",
            )
        return unit_rows(np.concatenate(rows).mean(axis=0, keepdims=True))

    def _is_file(self, example: str) -> bool:
        return self._like_files and Path(example).is_file()

    def _file_vectors(self, path: Path, warnings: list[str]) -> Vectors:
        """The vectors (n, d) of a file's passages, split as in the index. Raises UsageError for a file without text."""
        from semsearch.documents import loaders  # 30 ms, and few queries name a file

        encoder, recipe = self.queries.encoder, self._reader.state().recipe
        splitter, context = Splitter(**recipe["splitter"]), recipe.get("context", False)
        cut = [
            embedded(one, part, with_context=context)
            for one in loaders.load(path)
            if isinstance(one, Document)
            for part in passages(one, splitter, encoder.count_tokens)
        ]
        if not cut:
            raise UsageError(f"{path} has no text to compare with.", "Name a file with text in it.")
        before = encoder.truncation.tokens
        vectors = encoder.encode(cut, role="passage")
        if lost := encoder.truncation.tokens - before:
            warnings.append(
                f"{path} has passages too long for the encoder: about {lost} tokens at their ends were ignored."
            )
        return vectors

    def _passages_of(self, example: str, state: _State) -> Ids:
        """The passages of a document: by its id, or by the path of its file, seen from the working directory."""
        ids = self._reader.passage_ids([example])
        if len(ids) or not self._is_file(example):
            return ids
        path = Path(example).resolve()
        known = (
            prefix + path.relative_to(base).as_posix()
            for base, prefix in state.prefixes.items()
            if path.is_relative_to(base)
        )
        return next((found for name in known if len(found := self._reader.passage_ids([name]))), ids)

    def _own_passages(self, query: Query, state: _State) -> frozenset[int]:
        """The passages of the examples themselves, which are left out of the answer."""
        own: set[int] = set()
        for example in query.like:
            if isinstance(example, int):
                found = self._reader.passages(row_ids([example]))
                own |= {example}
                example = found[0].document if found and query.group != "passage" else ""
            own |= set(self._passages_of(example, state).tolist()) if example else set()
        return frozenset(own)

    # ---- ranking

    def _ranked(
        self, query: Query, target: Vectors | None, state: _State, warnings: list[str]
    ) -> tuple[list[Hit], JsonObject]:
        """The hits and how they were found; problems are added to `warnings`."""
        allowed = self._reader.allowed(parse_filter(query.where, query.path), query.must)
        own = self._own_passages(query, state)
        depth = _depth(query)
        total = max(1, state.total)
        most = total if allowed is None else len(allowed)
        while True:  # deeper only where grouping or filters leave fewer than k
            channels = self._channels(query, target, min(depth, most), allowed)
            collapsed = self._collapsed(query, target, channels, state, own)
            if len(collapsed.hits) == query.k or depth >= most:
                break
            depth *= 4
        if collapsed.gone:
            warnings.append(
                f"{collapsed.gone} passages are hidden: their files are gone. Update the index to remove them."
            )
        warnings += channels.warnings
        hits = [_hit(rank, found, channels, state) for rank, found in enumerate(collapsed.hits, 1)]
        return hits, {**channels.plan, "allowed": None if allowed is None else len(allowed), "depth": min(depth, most)}

    def _collapsed(
        self, query: Query, target: Vectors | None, channels: _Channels, state: _State, own: frozenset[int]
    ) -> Collapsed:
        """The hits. Where they are documents, those of all candidates are looked up only if the first are too few."""
        ranked = channels.ranked
        for first in _steps(query, ranked):
            certain = None if ranked is None else self._take(ranked, first, query, channels)
            strengths = {} if target is None else self._strengths(query, channels, state)
            ids = list(channels.fused)
            collapsed = collapse(self._reader, ids, strengths, query, own, channels.owners, certain)
            if len(collapsed.hits) == query.k:
                break
        return collapsed

    def _channels(self, query: Query, target: Vectors | None, depth: int, allowed: Allowed | None) -> _Channels:
        words = _words(query)
        plan: JsonObject = {"mode": query.mode, "fusion": "none"}
        channels = _Channels(cosine={}, bm25={}, fused={}, plan=plan, warnings=())
        if target is not None:
            dense = self._reader.dense(self._space.id, target, depth, allowed, exact=query.exact)
            channels.plan["nearest"], channels.warnings = dense.plan, dense.warnings
            found = zip(dense.ids[0].tolist(), dense.cosines[0].tolist(), strict=True)
            channels.cosine = {passage: cosine for passage, cosine in found if passage >= 0}
        lexical = None
        if query.mode != "semantic" and words:
            lexical = self._reader.lexical(words, depth, allowed)
            channels.bm25 = dict(zip(lexical.ids.tolist(), lexical.scores.tolist(), strict=True))
            channels.complete = frozenset(lexical.ids[lexical.complete].tolist())
            channels.warnings += tuple(
                f"no passage has the word {typed!r}; {known!r} was searched for instead."
                for typed, known in lexical.corrected.items()
            )
        if query.mode == "semantic" or not (query.text.strip() or query.more):
            channels.fused = dict(channels.cosine)
        elif query.mode == "keyword":
            channels.fused = dict(channels.bm25)
        else:
            channels.ranked = self._fused(query, target, depth, lexical, channels)
        return channels

    def _fused(
        self, query: Query, target: Vectors | None, depth: int, lexical: Lexical | None, channels: _Channels
    ) -> fusion.Fused:
        """The candidates in the order of both channels together; all of them then have a cosine.

        The best ones pull the query's vector towards their mean, and are fused again: what they have in common says
        more about the subject than a few words do.
        """
        fused = _linear(query, channels, channels.cosine, lexical)
        pieces = [] if target is None else list(self._reader.vectors(self._space.id, ids=np.sort(fused.ids)))
        if target is None or not pieces:
            return fused
        ids, rows = (np.concatenate(column) for column in zip(*pieces, strict=True))
        channels.cosine = dict(zip(ids.tolist(), (rows @ target[0]).tolist(), strict=True)) | channels.cosine
        best = rows[np.isin(ids, fused.ids[:FEEDBACK])]
        if query.less or not len(best):
            return fused
        near = rows @ unit_rows(target + PULL * best.mean(axis=0, keepdims=True))[0]
        order = np.argsort(-near, kind="stable")[:depth]
        return _linear(query, channels, dict(zip(ids[order].tolist(), near[order].tolist(), strict=True)), lexical)

    def _take(self, ranked: fusion.Fused, first: int, query: Query, channels: _Channels) -> int:
        """Record the order of a hybrid search; passages of one document add up where hits are documents.

        Then only the documents of the `first` passages are recorded; how many of the best passages are sure to be.
        """
        fused, certain = ranked, len(ranked.ids)
        if query.group != "passage":
            owners = channels.owners = self._reader.owners(ranked.ids.tolist(), first=first)
            known = np.array([one in owners for one in ranked.ids.tolist()], dtype=np.bool_)
            fused = fusion.by_document(
                fusion.Fused(ranked.ids[known], ranked.scores[known], ranked.parts[:, known]), owners
            )
            certain = fusion.certain(fused, ranked, first)
        ids = fused.ids.tolist()
        channels.parts = dict(zip(ids, fused.parts.T.tolist(), strict=True))
        channels.fused = dict(zip(ids, fused.scores.tolist(), strict=True))
        return certain

    def _strengths(self, query: Query, channels: _Channels, state: _State) -> dict[int, float]:
        """The strength of every candidate; {} where there is nothing to compare with."""
        null = self._null_distribution(state)
        if null is None:
            return {}
        words = len(_words(query).split()) or strength.LENGTHS[-1]
        cosines = np.array([channels.cosine.get(one, -1.0) for one in channels.fused])
        values = null.strengths(cosines, words=words, passages=state.passages).tolist()
        return {
            one: max(value, strength.ALL_WORDS) if one in channels.complete else value
            for one, value in zip(channels.fused, values, strict=True)
        }

    def _verdict(self, query: Query, hits: Sequence[Hit], state: _State, warnings: list[str]) -> bool:
        """Whether a hit is at least likely to answer the query. Keywords alone are no ground to deny it."""
        strengths = [hit.strength for hit in hits if hit.strength is not None]
        if query.mode == "keyword" or not strengths:
            return bool(hits)
        if state.updating:
            warnings.append("the index is being updated, or an update was interrupted: strengths are provisional.")
        best = max(strengths)
        if best < strength.LIKELY:
            warnings.append(
                f"no good match: the best strength is {rounded_down(best):.2f}, "
                f"and a likely match has {strength.LIKELY} or more."
            )
        return best >= strength.LIKELY


def _depth(query: Query) -> int:
    """Candidates of each channel to begin with: more than k where some of them become one hit, or are fused."""
    if query.mode != "semantic":
        return max(DEPTH, 4 * query.k)
    return query.k if query.group == "passage" else max(NEAREST, 3 * query.k)


def _steps(query: Query, ranked: fusion.Fused | None) -> list[int]:
    """How many of the candidates to look up the documents of: the first ones, then all."""
    if ranked is None or query.group == "passage":
        return [-1]
    return list(dict.fromkeys([fusion.enough(ranked, query.k), len(ranked.ids)]))


def _words(query: Query) -> str:
    """All texts that pull the query towards a meaning, for lexical search."""
    return " ".join([query.text, *(text for text, _ in query.more)]).strip()


def _linear(query: Query, channels: _Channels, cosines: Mapping[int, float], lexical: Lexical | None) -> fusion.Fused:
    """Both channels as a weighted sum."""
    dense = np.array(list(cosines), dtype=np.int64), np.array(list(cosines.values()), dtype=np.float64)
    words = (np.zeros(0, np.int64), np.zeros(0)) if lexical is None else (lexical.ids, lexical.scores)
    covered = 1.0 if lexical is None else float(np.max(lexical.coverage, initial=0.0))
    alpha = fusion.ALPHA if query.alpha is None else query.alpha
    channels.plan["fusion"] = f"linear, alpha = {alpha}"
    return fusion.linear(dense, words, alpha, covered)


def _hit(rank: int, found: CollapsedHit, channels: _Channels, state: _State) -> Hit:
    best = found.best
    scores = {"cosine": channels.cosine.get(best.id), "bm25": channels.bm25.get(best.id)}
    path = best.document if best.path is None else state.prefixes.get(best.root or "", "") + best.path
    return Hit(
        rank=rank,
        id=best.id,
        score=channels.fused[best.id],
        strength=found.strength,
        path=path,
        document=best.document,
        start=best.start,
        end=best.end,
        line=best.line,
        page=best.page,
        heading=best.heading,
        text=best.text,
        scores={name: value for name, value in scores.items() if value is not None},
        parts=dict(zip(scores, channels.parts[best.id], strict=True)) if channels.parts else {},
        metadata=best.metadata,
        match="likely" if found.strength is None and best.id in channels.complete else strength.match(found.strength),
        more_in_document=found.more,
        near_copies=tuple(found.copies),
    )
