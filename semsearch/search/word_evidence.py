"""What the words of a passage say for it, where they are all that a query in an unread language has.

There is no cosine, so no strength: a passage is likely, or weak. Likely is one whose words cover HALF of what the query
says. In unspaced scripts, where words are not known, pairs of letters stand for them.

HALF was chosen on null questions and man pages in ten languages: at most 4 % of the sentences and 17 % of the keywords
that the pages do not answer reach it, and 56 to 90 % of the lines that name a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from semsearch.utils.languages.writing_systems import CJK

if TYPE_CHECKING:
    from semsearch.search.retrieval import Candidates
    from semsearch.stores.protocol import StoreReader

HALF = 0.5
READ = 100  # passages in an unspaced script, best first


def judged(reader: StoreReader, text: str, candidates: Candidates, *, only: bool) -> Candidates:
    """With the likely ones as its `complete`; `only`: without the others. Call it inside a snapshot."""
    likely = candidates.complete | frozenset(_likely(reader, text, candidates))
    kept = {one: score for one, score in candidates.bm25.items() if one in likely}
    return replace(candidates, complete=likely, bm25=kept if only else candidates.bm25)


def _likely(reader: StoreReader, text: str, candidates: Candidates) -> Iterator[int]:
    if pairs := _pairs(text):
        for passage in reader.passages(list(candidates.bm25)[:READ]):
            if len(pairs & _pairs(passage.text)) >= HALF * len(pairs):
                yield passage.id
    else:
        yield from (one for one, covered in (candidates.coverage or {}).items() if covered >= HALF)


def _pairs(text: str) -> set[str]:
    """Two letters in a row of an unspaced script, or of Korean."""
    runs = re.findall(f"[{CJK}]+", text)
    return {run[at : at + 2] for run in runs for at in range(len(run) - 1)}
