"""What thumbs on hits change: where a person found no answer among likely hits, fewer hits are likely."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from semsearch import evaluation
from semsearch.errors import Corrupt
from semsearch.search.query_check import check_abstain
from semsearch.types import Query
from semsearch.utils import strength


def with_level(query: Query, index: Path, marks: Path) -> Query:
    """The query with the share of unanswerable questions to accept that the marks on hits of the index leave of it.

    Raises UsageError for a share that is none.
    """
    check_abstain(query)
    return replace(query, abstain=strength.tightened(query.abstain, _rejected(index, marks.stat().st_mtime_ns)))


@lru_cache(maxsize=64)  # a search asks every time
def _rejected(index: Path, changed: int) -> tuple[float, ...]:
    try:
        return tuple(evaluation.Judgements(index).rejected())
    except Corrupt:  # the page that shows the marks says so
        return ()
