"""Snippets: the sentence of a passage that is closest to the query, and the words that match."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from semsearch import search
from semsearch.chunking.sentences import after_space, sentences
from semsearch.documents.parsing import front_matter
from semsearch.documents.suffixes import has_short_parts
from semsearch.stores.sql import lexical_search
from semsearch.utils.vectors import OWN_VECTORS

if TYPE_CHECKING:
    from semsearch.encoders.query_cache import QueryCache
    from semsearch.stores.protocol import StoreReader
    from semsearch.types import Hit, Query, Results

LEAST = 160  # characters: two lines of a page
_TABLE_ROW = re.compile(r"[|+]|[^\w\s](?:[^\w\n]*[^\w\s])?[^\S\n]*$", re.MULTILINE)  # or a border, or an underline
_UNDERLINED = re.compile(r"(?P<title>[^\n]+)\n[^\S\n]*(?P<sign>[=\-~^*+#\"'`_])(?P=sign){2,}[^\S\n]*(?:\n\s*|$)")


@dataclass(frozen=True, slots=True)
class Snippet:
    """`hit.text[start:end]` is the sentence; `words` are (start, end) offsets into `hit.text` as well.

    `begin` is where reading begins: at the sentence, or at one before it where little text would follow. `page` and
    `heading` are those of the sentence: in a passage over several slides, others than those of the hit, which are
    where its passage begins.
    """

    start: int
    end: int
    words: tuple[tuple[int, int], ...]
    begin: int = 0
    page: int | None = None
    heading: str | None = None

    def placed(self, hit: Hit) -> Hit:
        """The hit, with page and heading of the snippet in place of those where its passage begins."""
        return replace(hit, page=self.page, heading=self.heading) if self.page or self.heading else hit


def snippets(results: Results, reader: StoreReader, queries: QueryCache) -> list[Snippet]:
    """One per hit, in order. Sentences are chosen by meaning, or by the number of the query's words: in keyword mode,
    and without an encoder.

    All sentences of all hits go through the encoder in one call: about 1 ms each on one core.
    """
    query = results.query
    words = [lexical_search.spans(hit.text, query.text) for hit in results]
    marked = [list(search.passage_patterns.spans(query.grep, hit.text)) if query.grep else [] for hit in results]
    spans = [list(_prose(hit)) or sentences(hit.text) or [(0, len(hit.text))] for hit in results]
    if query.mode == "keyword" or not query.text.strip() or queries.encoder.fingerprint == OWN_VECTORS:
        scores = [
            [float(sum(start <= at < end for at, _ in matches)) for start, end in own]
            for own, matches in zip(spans, words, strict=True)
        ]
    else:
        scores = _cosines(results, spans, query, queries)
    best = [
        max(range(len(own)), key=lambda at: (_has(own[at], matched), score[at], -at))
        for own, matched, score in zip(spans, marked, scores, strict=True)
    ]
    return [
        Snippet(*own[at], (*matched, *matches), _begin(own, at), *_place(hit, own[at][0], reader))
        for hit, own, at, matched, matches in zip(results, spans, best, marked, words, strict=True)
    ]


def _has(sentence: tuple[int, int], matched: Sequence[tuple[int, int]]) -> bool:
    """Whether a match begins in the sentence."""
    return any(sentence[0] <= start < sentence[1] for start, _ in matched)


def _place(hit: Hit, at: int, reader: StoreReader) -> tuple[int | None, str | None]:
    """Page and heading at this offset of a hit. Only documents of short slides, cells or times are read for that."""
    ids = [hit.document] if at and has_short_parts(hit.path) else []
    document = next(iter(reader.full_documents(ids)), None)
    if document is None or document.text[hit.start : hit.end] != hit.text:  # changed meanwhile
        return hit.page, hit.heading
    before = bisect_right([mark.start for mark in document.marks], hit.start + at) - 1
    return (document.marks[before].page, document.marks[before].heading) if before >= 0 else (hit.page, hit.heading)


def _begin(spans: list[tuple[int, int]], at: int) -> int:
    """The start of sentence `at`, or of an earlier one with which there are LEAST characters to read."""
    end = spans[-1][1]
    while at and end - spans[at][0] < LEAST and end - spans[at - 1][0] <= 2 * LEAST:
        at -= 1
    return spans[at][0]


def _prose(hit: Hit) -> Iterator[tuple[int, int]]:
    """The sentences of a hit without front matter, rows of tables, and underlines with the headings above them."""
    text = hit.text
    behind = front_matter.end(text) if hit.start == 0 else 0
    for start, end in sentences(text):
        start = max(start, behind)
        if underlined := _UNDERLINED.match(text, start, end):
            start = underlined.end()
        if text.startswith("#", start) and "\n" not in text[start:end]:
            continue  # a heading
        while start < end and _TABLE_ROW.match(text, start, end):
            line = text.find("\n", start, end)
            start = after_space(text, line, end) if line >= 0 else end
        if start < end:
            yield start, end


def _cosines(
    results: Results, spans: list[list[tuple[int, int]]], query: Query, queries: QueryCache
) -> list[list[float]]:
    texts = [hit.text[start:end] for hit, own in zip(results, spans, strict=True) for start, end in own]
    scores = iter((queries.encode(texts, role="passage") @ queries.encode([query.text], role="query")[0]).tolist())
    return [[next(scores) for _ in own] for own in spans]
