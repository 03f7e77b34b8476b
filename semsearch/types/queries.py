"""A query with all its parameters, and its hits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from semsearch.errors import MissingExtra
from semsearch.types.items import Items
from semsearch.types.values import JsonMapping, Metadata

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from semsearch.types.protocols import RerankerLike

Mode: TypeAlias = Literal["hybrid", "semantic", "keyword"]
Group: TypeAlias = Literal["document", "copy", "passage"]
Where: TypeAlias = str | JsonMapping  # a filter: text of the filter language, or a structure
Match: TypeAlias = Literal["strong", "likely", "weak", "none"]


@dataclass(frozen=True, slots=True)
class Query:
    """All parameters of a search. Of a hybrid one, `alpha` is the weight of the cosine, 0.5 by default.

    `more`, `less`: (text, weight) pairs that pull the query towards or away from a meaning. `like`: passage
    ids, or document ids. `must`: words that a passage has to contain, as it has to contain what is quoted in `text`.
    `grep`: a regular expression of RE2 that it has to match. `offset` hits are left out: a second
    page of ten has offset 10. `group`: one hit for each document, where nearly equal ones are one hit ("document"), or
    where each is a hit of its own ("copy"); or one for each passage ("passage"). `abstain`: of the questions without an
    answer here, the share that may be given a good match; less makes `match` and `good_match` stricter.

    `rerank` is a reranker, or the name of one as for `Reranker.load`: it reads the first `rerank_depth` hits again,
    each together with `text`. Its judgement counts `rerank_weight`, 1 to order them by it alone.
    """

    text: str = ""
    k: int = 10
    mode: Mode = "hybrid"
    alpha: float | None = None
    where: str | None = None
    path: str | None = None
    more: tuple[tuple[str, float], ...] = ()
    less: tuple[tuple[str, float], ...] = ()
    must: tuple[str, ...] = ()
    grep: str | None = None
    like: tuple[int | str, ...] = ()
    min_strength: float = 0.0
    abstain: float = 0.1
    group: Group = "document"
    exact: bool = False
    offset: int = 0
    rerank: str | RerankerLike | None = None
    rerank_depth: int = 30
    rerank_weight: float = 0.4


class QueryFields(TypedDict, total=False):
    """The fields of `Query` as keywords of `Index.search`; one text may stand where several may.

    `where` may be a structure of fields and operators too, and `values` are those of the names in it (docs/filters.md).
    """

    k: int
    mode: Mode
    alpha: float | None
    where: Where | None
    values: Mapping[str, object] | None
    path: str | None
    more: str | Iterable[str | tuple[str, float]]
    less: str | Iterable[str | tuple[str, float]]
    must: str | Iterable[str]
    grep: str | None
    like: int | str | Iterable[int | str]
    min_strength: float
    abstain: float
    group: Group
    exact: bool
    offset: int
    rerank: str | RerankerLike | None
    rerank_depth: int
    rerank_weight: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. `score` orders the list; `scores` has one for each channel (cosine, bm25). After fusion, `parts` is
    the contribution of each channel to `score`.

    `strength` in 0..1 is the chance that the hit is better than the best hit of a question that this index cannot
    answer; None where no cosine was computed, and in an index without an encoder. `match` is the word for it: strong
    (at least 0.99), likely (0.9), weak; none in an answer without a good match. `text` is the passage,
    `document_text[start:end]`. `rerank` in 0..1 is the chance that it answers the query, as a reranker that has read
    both says; None for a hit that was not read again.
    `file` is the absolute path of its file; None for a document that is from none.
    """

    rank: int
    id: int
    score: float
    strength: float | None
    path: str
    document: str
    start: int
    end: int
    line: int | None
    page: int | None
    heading: str | None
    text: str
    scores: Mapping[str, float]
    metadata: Metadata
    more_in_document: int = 0
    near_copies: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    match: Match = "none"
    rerank: float | None = None
    file: str | None = None


_HIT_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("rank", "id"), int),
    **dict.fromkeys(("score", "strength", "rerank"), float),
    **dict.fromkeys(("match", "document", "path"), str),
    **dict.fromkeys(("start", "end", "line", "page"), int),
    **dict.fromkeys(("heading", "text"), str),
    **dict.fromkeys(("cosine", "bm25"), float),
    "more_in_document": int,
}


@dataclass(frozen=True, slots=True)
class Results(Items[Hit], Sequence[Hit]):
    """The hits of one query, in order, with times, warnings and the plan of the search.

    `good_match` is False where no hit is a likely match.
    """

    query: Query
    hits: tuple[Hit, ...]
    took_ms: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    plan: JsonMapping = field(default_factory=dict)
    good_match: bool = True

    def _items(self) -> tuple[Hit, ...]:
        return self.hits

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each hit, with the columns of `to_arrow`; `metadata` are mappings. Raises MissingExtra."""
        try:
            import pandas as pd  # only where it is used: an extra
        except ImportError as error:
            raise MissingExtra("to_pandas()", "arrow", "pandas") from error
        return pd.DataFrame({**self._columns(), "metadata": [dict(hit.metadata) for hit in self.hits]})

    def to_arrow(self) -> pyarrow.Table:
        """A row for each hit: its fields, scores `cosine` and `bm25`, `metadata` as JSON. Raises MissingExtra."""
        try:
            import pyarrow as pa  # only where it is used: an extra
        except ImportError as error:
            raise MissingExtra("to_arrow()", "arrow", "pyarrow") from error
        kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
        columns = {name: pa.array(cells, kinds[_HIT_COLUMNS[name]]) for name, cells in self._columns().items()}
        metadata = [json.dumps(dict(hit.metadata), ensure_ascii=False) for hit in self.hits]
        return pa.table({**columns, "metadata": pa.array(metadata, pa.string())})

    def _columns(self) -> dict[str, list[object]]:
        """The columns of a table of hits, by name."""
        return {
            name: [hit.scores.get(name) if name in ("cosine", "bm25") else getattr(hit, name) for hit in self.hits]
            for name in _HIT_COLUMNS
        }
