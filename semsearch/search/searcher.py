"""The read path, one straight line:

    encode the query → dense ∪ lexical → fuse → passages → group → hits (→ read again by a reranker)

All but the last happens inside one snapshot of the store, so a hit never mixes two states of the index.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from semsearch import search
from semsearch.encoders.index_encoder import refuse
from semsearch.errors import EncodingFailed, NotFound, UsageError
from semsearch.search import fusion, retrieval
from semsearch.search.grouping import READ, collapse, same_words
from semsearch.search.query_check import check, parse_filter, texts_to_encode
from semsearch.stores import null_queries
from semsearch.stores.filters import And, Field, In, Not
from semsearch.stores.sql import query_terms
from semsearch.types import Hit, Results
from semsearch.utils import strength
from semsearch.utils.batches import batches
from semsearch.utils.languages import detection
from semsearch.utils.late_numpy import np
from semsearch.utils.quantities import rounded_down
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.encoders.query_cache import QueryCache
    from semsearch.search.grouping import Collapsed, CollapsedHit
    from semsearch.search.retrieval import Candidates, Ranking
    from semsearch.stores.protocol import Allowed, StoreReader
    from semsearch.stores.records import Space
    from semsearch.types import Ids, JsonObject, Query, Vectors
    from semsearch.utils.strength import NullDistribution

MOST_ROUNDS = 8  # of such searches of others
DEEPEST = 1200  # candidates of each channel, read in 0.3 s; where they have too few documents, the others are searched
LISTED = 3  # of the words and phrases that no passage has
SAID = 3  # passages that are looked at for all words of a query in an unread language
NO_MATCH = "no passage that may be a hit matches the regular expression; with (?i) before it, case does not matter."
NONE_PASSES = "no passage passes the filter of metadata and paths."
LIKE_A_TEXT = 30  # tokens of a query that is a vector or an example
NO_STRENGTH = "Leave out min_strength.", "Leave out --min-strength."  # in Python, and at the command line


@dataclass(frozen=True, slots=True)
class _State:
    """The parts of the store at `version` that are read again only after a commit."""

    version: int
    space: Space
    total: int  # passages
    passages: int  # those with a vector in this space
    updating: bool  # a run goes on or was interrupted
    prefixes: Mapping[str, str]  # followed folder -> prefix of the ids of its documents


class _Answer(NamedTuple):
    """The hits of a snapshot, how they were found, and warnings for the user."""

    hits: list[Hit]
    plan: JsonObject
    warnings: tuple[str, ...]


class _Round(NamedTuple):
    """The hits among some passages, and the documents that crowd out others: they have the best candidates."""

    candidates: Candidates
    ranking: Ranking
    grouped: Collapsed
    depth: int
    crowding: list[str]


class Searcher:
    """Searches one space of one store. Threads may share it.

    `queries` encodes the texts; it is not called for a query that needs no vector. `like_files`: an example may be the
    path of a file. `most_characters`: of the hits of a query, as for `Index.open`.
    """

    def __init__(
        self,
        reader: StoreReader,
        space: Space,
        queries: QueryCache,
        *,
        like_files: bool = True,
        most_characters: int | None = None,
    ) -> None:
        self._reader = reader
        self._like_files, self._most_characters = like_files, most_characters
        self._space = space
        self.queries = queries
        self._state: _State | None = None
        self._extended: dict[NullDistribution | None, NullDistribution | None] = {}  # what is on record, and more of it
        self._unmeasurable = False
        self._matching: tuple[object, Ids] | None = None  # the last regular expression, and the passages that match

    @property
    def version(self) -> int:
        """That of the store at the last search; -1 before the first one."""
        return -1 if self._state is None else self._state.version

    def search(self, query: Query, vector: Vectors | None = None) -> Results:
        """The hits for one query, with a `vector` (1, d) also near that. Raises UsageError, BadFilter, NotFound."""
        check(query, has_vector=vector is not None)
        return self._search(query, self.queries, vector)

    def search_all(self, queries: Sequence[Query]) -> list[Results]:
        """The hits for each of many queries. Their texts are encoded in one call, and each reports its share."""
        for query in queries:
            check(query)
        readable = [self._readable(query, has_vector=False) for query in queries]
        texts = list(dict.fromkeys(text for query in readable for text, _ in self._to_encode(query)))
        if len(texts) < 2:
            return [self._search(query, self.queries) for query in queries]
        began = time.perf_counter()
        encoded = self.queries.prefetch(texts)
        share = round((time.perf_counter() - began) * 1000 / len(queries), 2)
        answers = [self._search(query, encoded) for query in queries]
        return [replace(one, took_ms={**one.took_ms, "encode": share}) for one in answers]

    def _search(self, asked: Query, queries: QueryCache, own_vector: Vectors | None = None) -> Results:
        query = self._readable(asked, has_vector=own_vector is not None)
        unread = query is not asked
        reranker = None if query.rerank is None else search.reranking.chosen(query)
        began = time.perf_counter()
        weighted = self._to_encode(query, has_vector=own_vector is not None)
        encoded = queries.encode_queries([text for text, _ in weighted]) if weighted else None
        vector = own_vector
        warnings = [self._unread(query)] if unread else []
        if encoded is not None:
            vector = np.array([[weight for _, weight in weighted]], dtype=np.float32) @ encoded.vectors
            vector = vector if own_vector is None else vector + own_vector
            if lost := encoded.truncated_tokens:
                warnings.append(f"the query is too long for the encoder: about {lost} tokens at its end were ignored.")
        started = time.perf_counter()
        with self._reader.snapshot():
            state = self._current_state()
            most = query.k + query.offset
            depth = query.rerank_depth if reranker else 0
            wanted = query if query.k == max(most, depth) else replace(query, k=max(most, depth))
            hits, plan, notes = self._answer(wanted, vector, state, unread=unread)
            texts = search.reranking.passages(self._reader, hits[:depth]) if reranker else []
        warnings += notes
        done = time.perf_counter()
        took = {"encode": round((started - began) * 1000, 2), "search": round((done - started) * 1000, 2)}
        plan["encoded"] = encoded.encoded if encoded else 0
        if reranker:  # outside the snapshot: it takes a while
            read = search.reranking.rerank(reranker, query, hits, texts)
            hits, plan["rerank"], took["rerank"] = read.hits, read.plan, read.took_ms
            warnings += read.warnings
        hits = hits[:most]
        good, notes = _verdict(query, hits, unread=unread, updating=state.updating)
        shown = hits[query.offset :] if good else [replace(hit, match="none") for hit in hits[query.offset :]]
        return Results(asked, tuple(shown), took, (*warnings, *notes), plan, good)

    def _readable(self, query: Query, *, has_vector: bool) -> Query:
        """The query, or a search by its words where it is nothing but a text in a language that the encoder lacks."""
        more = query.more or query.less or query.like or has_vector
        if query.mode == "keyword" or more or not (self._space.has_encoder and query.text):
            return query
        if detection.is_readable(query.text, self._languages()) or self._is_said(query.text):
            return query
        return replace(query, mode="keyword")

    def _is_said(self, text: str) -> bool:
        """Whether a passage that the encoder reads has all words of the text: names and terms are like many languages.

        Its letters may be those of another language, not its script.
        """
        if not detection.likely(text, languages := self._languages()):
            return False
        with self._reader.snapshot():
            having = self._reader.passages(sorted(self._reader.lexical(text, SAID).complete))
        return any(detection.is_readable(passage.text, languages) for passage in having)

    def _languages(self) -> Sequence[str]:
        """Those that the encoder states; an index that an older version built does not have them on record."""
        recorded: Sequence[str] | None = self._space.info.get("languages")
        return self.queries.encoder.languages if recorded is None else recorded

    def _unread(self, query: Query) -> str:
        languages = self._languages()
        text = f"{self._space.name} reads {detection.listed(languages)}, not the language of this query, which was "
        text += "answered by its words alone: a hit is likely, not more, where they cover half of the query."
        if query.min_strength:
            text += " In place of a minimum strength, other hits are left out."
        return text + detection.advice(languages, "search", f"semsearch reembed {self._reader.name} -m multilingual")

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

    def _null_distribution(self, state: _State, text: str) -> tuple[NullDistribution | None, tuple[str, ...]]:
        """The one on record, and the languages of it that `text` may be in; () for any.

        What an index has not been asked yet is measured here, once: of one that an older version built everything, and
        for a query in another language than the passages the questions of that language.
        """
        recorded = state.space.null_distribution
        null, asked_in = self._extended.get(recorded, recorded), None
        if null is not None and not detection.is_readable(text, null.languages):
            asked_in = null_queries.languages() & {detection.language(text)} & {*(self._languages() or detection.NAMES)}
        if (null is None or asked_in) and not self._unmeasurable:
            try:
                measured = null_queries.measure(self._reader, state.space, self.queries.encoder, asked_in)
            except EncodingFailed:  # at one of the questions, and this query may still be answered
                self._unmeasurable = True
            else:
                null = measured if null is None or measured is None else null.joined(measured)
                self._extended[recorded] = null
        return null, () if null is None else detection.likely(text, null.languages)

    def _answer(self, query: Query, vector: Vectors | None, state: _State, *, unread: bool = False) -> _Answer:
        """retrieve → rank → strengths → group, with `vector` (1, d) of the texts and what is like the examples.

        Where a few long documents have all of the best candidates, the documents beside them are searched next.
        """
        target, own, warnings = self._target(query, vector, state)
        allowed, notes = self._allowed(query, state)
        first = self._round(query, target, own, allowed, state, unread=unread)
        hits, gone, latest = _hits(query, first, state), first.grouped.gone, first
        crowding = list(first.crowding)
        for _ in range(MOST_ROUNDS):
            if not latest.crowding or len(hits) >= query.k:
                break
            others, _ = self._allowed(query, state, crowding)
            if others is None or not len(others):
                break
            rest = replace(query, k=query.k - len(hits), offset=max(0, query.offset - len(hits)))
            latest = self._round(rest, target, own, others, state, unread=unread)
            new = _hits(rest, latest, state, hits)
            if query.group == "document":
                new = [hit for hit in new if not any(same_words(hit.text, before.text) for before in hits)]
            hits += [replace(hit, rank=rank) for rank, hit in enumerate(new, 1 + len(hits))]
            gone += latest.grouped.gone
            crowding += latest.crowding
        if gone:
            warnings.append(f"{gone} passages are hidden: their files are gone. Update the index to remove them.")
        plan = {**first.candidates.plan, "allowed": None if allowed is None else len(allowed), "depth": first.depth}
        return _Answer(hits, plan, (*warnings, *notes, *first.candidates.warnings))

    def _round(
        self,
        query: Query,
        target: Vectors | None,
        own: frozenset[int],
        allowed: Allowed | None,
        state: _State,
        *,
        unread: bool,
    ) -> _Round:
        """The best of these passages, from DEEPEST candidates of each channel or a few times k."""
        depth = retrieval.depth_of(query)
        most = max(1, state.total) if allowed is None else len(allowed)
        while True:  # deeper only where grouping, filters or furniture leave fewer than k
            candidates = retrieval.retrieve(self._reader, self._space.id, query, target, min(depth, most), allowed)
            if unread:
                only = query.min_strength > 0
                candidates = search.word_evidence.judged(self._reader, query.text, candidates, only=only)
            strengths = self._strengths(query, candidates, state) if target is not None else {}
            if candidates.fused is not None and strengths:
                likely = likely_from(query)
                weak = np.array([strengths[one] < likely for one in candidates.fused.ids.tolist()])
                candidates = replace(candidates, fused=fusion.weak_last(candidates.fused, weak))
            ranking, grouped, all_text = self._grouped(query, candidates, strengths, own)
            if depth >= most or (len(grouped.hits) == query.k and all_text):
                return _Round(candidates, ranking, grouped, min(depth, most), [])
            nearest = sorted(candidates.cosine.values(), reverse=True)[:depth]
            below = query.min_strength and any(
                strengths.get(one, 1.0) < query.min_strength
                for one, cosine in candidates.cosine.items()
                if cosine == nearest[-1]
            )
            if depth >= DEEPEST or below:  # all that are farther are weaker still
                crowding = [] if below else self._crowding(query, ranking, grouped)
                return _Round(candidates, ranking, grouped, depth, crowding)
            depth *= 4

    def _crowding(self, query: Query, ranking: Ranking, grouped: Collapsed) -> list[str]:
        """The documents of the candidates; of a search for passages those without a hit."""
        one_each = {document: passage for passage, document in self._reader.owners(list(ranking.scores)).items()}
        some = batches(one_each.values(), READ)
        documents = {passage.document for ids in some for passage in self._reader.passages(ids)}
        if query.group == "passage":
            documents -= {hit.best.document for hit in grouped.hits}
        return sorted(documents)

    def _allowed(self, query: Query, state: _State, without: Sequence[str] = ()) -> tuple[Allowed | None, list[str]]:
        """The passages that may be hits, None for all; and a warning where none has what is quoted or demanded.

        without: documents of which there are hits already.
        """
        condition, phrases = parse_filter(query.where, query.path), query_terms.demanded_phrases(query.text)
        if without:
            others = Not(In(Field(("document",), builtin=True), tuple(without)))
            condition = others if condition is None else And((condition, others))
        must = (*query.must, *phrases)
        if query.grep is None:
            allowed = self._reader.allowed(condition, must)
        else:
            key = state.version, query.grep, query.where, query.path
            if self._matching is None or self._matching[0] != key:
                ids = search.passage_patterns.matching(self._reader, query.grep, condition)
                self._matching = key, ids
            if not len(self._matching[1]):
                return self._reader.allowed(None, ids=self._matching[1]), [NO_MATCH]
            allowed = self._reader.allowed(condition, must, ids=self._matching[1])
        if allowed is None or len(allowed):
            return allowed, []
        if not must:
            return allowed, [] if without else [NONE_PASSES]
        absent = [
            one for one in must if (having := self._reader.allowed(condition, (one,))) is not None and not len(having)
        ]
        named = absent or must
        listed = ", ".join(f'"{one}"' for one in named[:LISTED]) + (
            f" and {len(named) - LISTED} more" if len(named) > LISTED else ""
        )
        which = listed if absent or len(must) == 1 else f"all of {listed}"
        is_quoted = not set(phrases).isdisjoint(absent or must)
        advice = "Without quotes, its words are searched for." if is_quoted else "To search without it, leave out must."
        return allowed, [f"no passage that may be a hit has {which}. {advice}"]

    def _target(
        self, query: Query, texts: Vectors | None, state: _State
    ) -> tuple[Vectors | None, frozenset[int], list[str]]:
        """The unit vector (1, d) to search near, None for a search by words; the examples' passages; and warnings."""
        parts = [] if texts is None else [texts]
        own: frozenset[int] = frozenset()
        warnings: list[str] = []
        if query.like:
            encoder = self.queries.encoder
            examples = search.examples.Examples(
                self._reader, self._space.id, encoder, state.prefixes, files=self._like_files
            )
            own = examples.passages(query)
            if query.mode != "keyword":
                of_examples, warnings = examples.vectors(query)
                parts = of_examples + parts
        if query.mode == "keyword" or not parts:
            return None, own, warnings
        total = np.sum(parts, axis=0)
        return unit_rows(total) if total.any() else None, own, warnings

    def _grouped(
        self, query: Query, candidates: Candidates, strengths: Mapping[int, float], own: frozenset[int]
    ) -> tuple[Ranking, Collapsed, bool]:
        """The hits, and whether none is furniture.

        Where they are documents, those of all candidates are looked up only if the first are too few.
        """
        for first in retrieval.steps(query, candidates):
            ranking = retrieval.rank(self._reader, query, candidates, first)
            ranked, certain, last = self._furniture_last(list(ranking.scores), ranking.certain)
            most = self._most_characters
            grouped = collapse(self._reader, ranked, strengths, query, own, ranking.owners, certain, most)
            if len(grouped.hits) == query.k:
                break
        return ranking, grouped, not any(hit.best.id in last for hit in grouped.hits)

    def _furniture_last(self, ranked: list[int], certain: int | None) -> tuple[list[int], int | None, set[int]]:
        """The passages, those of furniture last; how many of the first keep their place; and those of furniture."""
        last = set(self._reader.owners(ranked, furniture=True))
        if not last:
            return ranked, certain, last
        others = [one for one in ranked if one not in last]
        if certain is not None and certain < len(ranked):
            certain = sum(one not in last for one in ranked[:certain])
        return [*others, *(one for one in ranked if one in last)], certain, last

    def _strengths(self, query: Query, candidates: Candidates, state: _State) -> dict[int, float]:
        """The strength of every candidate; {} where there is nothing to compare with."""
        text = retrieval.words_of(query)
        null, languages = self._null_distribution(state, text)
        if null is None:
            return {}
        ids = list(dict.fromkeys([*candidates.cosine, *candidates.bm25]))
        values = null.strengths(
            np.array([candidates.cosine.get(one, -1.0) for one in ids]),
            None if candidates.coverage is None else np.array([candidates.coverage.get(one, 0.0) for one in ids]),
            tokens=self.queries.encoder.count_tokens([text])[0] if text else LIKE_A_TEXT,
            passages=state.passages,
            languages=languages,
        ).tolist()
        most = strength.ABSENT if candidates.is_absent else 1.0
        return {
            one: max(value, strength.ALL_WORDS) if one in candidates.complete else min(value, most)
            for one, value in zip(ids, values, strict=True)
        }


def likely_from(query: Query) -> float:
    """The least strength of a likely match: a share of `abstain` of the questions without an answer reaches it."""
    return round(1 - query.abstain, 6)


def _verdict(query: Query, hits: Sequence[Hit], *, unread: bool, updating: bool) -> tuple[bool, tuple[str, ...]]:
    """Whether a hit is at least likely to answer the query, and warnings. A search for keywords is not denied one."""
    strengths = [hit.strength for hit in hits if hit.strength is not None]
    if unread and not any(hit.match == "likely" for hit in hits):
        return False, ("no good match: the words of no hit cover half of what the query says.",)
    if query.mode == "keyword" or not strengths:
        return bool(hits), ()
    warnings: tuple[str, ...] = ()
    if updating:
        warnings = ("the index is being updated, or an update was interrupted: strengths are provisional.",)
    best = max(strengths)
    if best >= likely_from(query):
        return True, warnings
    none = f"no good match: the best strength is {rounded_down(best):.2f}, "
    return False, (*warnings, f"{none}and a likely match has {likely_from(query):g} or more.")


def _hits(query: Query, found: _Round, state: _State, before: Sequence[Hit] = ()) -> list[Hit]:
    """The hits of a round, after those of earlier ones, with scores that still order the list."""
    ranking, likely = found.ranking, likely_from(query)
    if before and ranking.parts:
        lowest, highest = before[-1].score, max(ranking.scores.values(), default=0.0)
        share = lowest / highest if highest > lowest else 1.0
        scores = {one: share * score for one, score in ranking.scores.items()}
        parts = {one: [share * part for part in both] for one, both in ranking.parts.items()}
        ranking = replace(ranking, scores=scores, parts=parts)
    grouped = enumerate(found.grouped.hits, 1 + len(before))
    return [_hit(rank, one, found.candidates, ranking, state, likely) for rank, one in grouped]


def _hit(rank: int, group: CollapsedHit, candidates: Candidates, ranking: Ranking, state: _State, likely: float) -> Hit:
    best = group.best
    by_words = group.strength is None and best.id in candidates.complete
    scores = {"cosine": candidates.cosine.get(best.id), "bm25": candidates.bm25.get(best.id)}
    path = best.document if best.path is None else state.prefixes.get(best.root or "", "") + best.path
    return Hit(
        rank=rank,
        id=best.id,
        score=ranking.scores[best.id],
        strength=group.strength,
        path=path,
        document=best.document,
        start=best.start,
        end=best.end,
        line=best.line,
        page=best.page,
        heading=best.heading,
        text=best.text,
        scores={name: value for name, value in scores.items() if value is not None},
        parts=dict(zip(scores, ranking.parts[best.id], strict=True)) if ranking.parts else {},
        metadata=best.metadata,
        match="likely" if by_words else strength.match(group.strength, likely),
        more_in_document=group.more,
        near_copies=group.copies,
        file=f"{best.root.rstrip('/')}/{best.path}" if best.root and best.path else None,
    )
