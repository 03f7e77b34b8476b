"""The nouns of semsearch: what a document, a passage, a query and a hit are.

Letters used in every docstring: `n` texts, `q` queries, `t` tokens, `h` hidden width, `d` vector width,
`k` neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    overload,
)

from semsearch.errors import MissingExtra

if TYPE_CHECKING:  # numpy costs 0.1 s to import and is needed here for annotations only
    from pathlib import Path

    import numpy as np
    import pandas
    import pyarrow
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]  # (n, d), C-contiguous, rows of length 1: a dot product is a cosine
    Ids: TypeAlias = NDArray[np.int64]  # (n,), >= 1, SQLite row ids, AUTOINCREMENT: never reused
    Chunks: TypeAlias = Callable[[], Iterator[tuple[Ids, Vectors]]]

T = TypeVar("T")

Role: TypeAlias = Literal["query", "passage"]
Mode: TypeAlias = Literal["hybrid", "semantic", "keyword"]
Group: TypeAlias = Literal["document", "copy", "passage"]
Metadata: TypeAlias = Mapping[str, Any]  # JSON values only
JsonObject: TypeAlias = dict[str, Any]  # as `json` reads and writes it
JsonMapping: TypeAlias = Mapping[str, Any]  # a JSON object that is only read
SqlValue: TypeAlias = str | int | float | bytes | None
Where: TypeAlias = str | Mapping[str, Any]  # a filter: text of the filter language, or a structure
Match: TypeAlias = Literal["strong", "likely", "weak", "none"]
Keep: TypeAlias = Literal["longest", "newest", "oldest", "first"]
Period: TypeAlias = Literal["auto", "day", "month", "year"]
LayoutMethod: TypeAlias = Literal["pca", "umap"]
DocumentState: TypeAlias = Literal["current", "changed", "unfinished", "gone", "unseen", "kept"]


@dataclass(frozen=True, slots=True)
class Mark:
    """The page and the heading of a document's text from offset `start` on."""

    start: int
    page: int | None = None
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One text to search, under an `id` that is unique within an index.

    `marks` are sorted by start. `lines`: a line of `text` is a line of the source file, so a passage has a line number;
    a text extracted from HTML or PDF has no such lines.
    """

    id: str
    text: str
    metadata: Metadata = field(default_factory=dict)
    title: str | None = None
    marks: tuple[Mark, ...] = ()
    lines: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of a document: `document.text[start:end] == text`."""

    start: int
    end: int
    text: str
    page: int | None = None
    line: int | None = None
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not indexed, and the reason in words for a person."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Query:
    """All parameters of a search. Of a hybrid one, `alpha` is the weight of the cosine, 0.5 by default.

    `more`, `less`: (text, weight) pairs that pull the query towards or away from a meaning. `like`: passage
    ids, or document ids. `must`: words that a passage has to contain. `offset` hits are left out: a second
    page of ten has offset 10. `group`: one hit for each document, where nearly equal ones are one hit ("document"), or
    where each is a hit of its own ("copy"); or one for each passage ("passage").

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
    like: tuple[int | str, ...] = ()
    min_strength: float = 0.0
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
    like: int | str | Iterable[int | str]
    min_strength: float
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


class Pair(NamedTuple, Generic[T]):
    """Two that are alike: `score`, their cosine, and each of them, by its position, or by its id in an index."""

    score: float
    first: T
    second: T


@dataclass(frozen=True, slots=True)
class Copy:
    """A document that repeats another one, and how much.

    kind: "exact", the same text; "same words", but for case, punctuation and space; "near", `cosine` reaches the
    threshold. `shared_words` in 0..1 is the share of the words of both texts that they have in common.
    """

    document: str
    kind: Literal["exact", "same words", "near"]
    cosine: float
    shared_words: float


@dataclass(frozen=True, slots=True)
class Copies:
    """A document to keep, `why` it rather than its copies, in words, and the copies, the closest first."""

    keep: str
    why: str
    copies: tuple[Copy, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A cluster of documents: its `name`, words that distinguish it, and the ids, the most central document first.

    `coherence` is the mean cosine of two of them, and `example` the beginning of the text of the most central one.
    """

    name: str
    documents: tuple[str, ...]
    coherence: float
    example: str


@dataclass(frozen=True, slots=True)
class Topics(Sequence[Topic]):
    """The clusters of an index, the largest first.

    `others` are in none. `coherence` is the mean cosine of two documents of the whole index: that of a good cluster is
    far above it.
    """

    topics: tuple[Topic, ...]
    others: tuple[str, ...]
    coherence: float

    @overload
    def __getitem__(self, at: int) -> Topic: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Topic, ...]: ...
    def __getitem__(self, at: int | slice) -> Topic | tuple[Topic, ...]:
        return self.topics[at]

    def __len__(self) -> int:
        return len(self.topics)


@dataclass(frozen=True, slots=True)
class Timeline:
    """How many documents of each of t topics there are in each of p periods: `counts` (t, p).

    `periods` are without gaps, as 2024, 2024-05 or 2024-05-17; `undated` documents have no date.
    """

    periods: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    undated: int


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a text: None where it is too unlike all examples, `nearest` is the best one all the same.

    `probability` in 0..1 is that of `nearest` among all labels. `fit` in 0..1 says how much the text is like the
    examples: the share of held-out examples that are no nearer to a label.
    """

    label: str | None
    nearest: str
    probability: float
    fit: float


@dataclass(frozen=True, slots=True)
class LabelAccuracy:
    """How well examples are labelled by those of other folds; shares in 0..1, None where none could be tested.

    `tested` of the `examples` have another one with their label. `labelled`: the share that gets a label rather than
    none. `by_label`: the examples that are labelled rightly, and their number.
    """

    folds: int
    examples: int
    tested: int
    accuracy: float | None
    labelled: float | None
    accuracy_of_labelled: float | None
    by_label: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Facet:
    """A property by which documents can be filtered, and its values.

    number  from `low` to `high`; `whole` where all are integers     words  one of `values`, with their counts
    date    from `low` to `high`, ISO days                           list   the same, of lists: each holds several
    flag    true or false                                            text   more values than can be listed
    `builtin` ones (loader, date) are not keys of the metadata. `documents` is the number of documents that have it.
    """

    key: str
    kind: Literal["number", "date", "words", "list", "flag", "text"]
    documents: int
    builtin: bool = False
    low: Any = None  # a number, or an ISO day
    high: Any = None
    whole: bool = True
    values: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class VectorSample:
    """A sample of an index: ids (n,), unit vectors (n, d), and for each passage its document, the beginning of its text
    and the metadata of the document. `total` passages of the index have a vector.
    """

    ids: Ids
    vectors: Vectors
    documents: tuple[str, ...]
    texts: tuple[str, ...]
    metadata: tuple[Metadata, ...]
    total: int

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Passages of an index in the plane: row i of `places` (n, 2) is where passage i of the `sample` is.

    `method` is the one that was used. By PCA distances mean something, and the axes explain the share `explained` of
    the variance; by UMAP (None) neighbours lie together, and long distances mean little.
    """

    sample: VectorSample
    places: NDArray[np.float32]
    method: LayoutMethod
    explained: float | None = None


@dataclass(frozen=True, slots=True)
class SqlRows(Sequence[tuple[SqlValue, ...]]):
    """The rows of a SELECT, in order, and the names of their columns. A value is None, int, float, str or bytes.

    Of columns with one name the second is called `name_2`.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[SqlValue, ...]]

    @overload
    def __getitem__(self, at: int, /) -> tuple[SqlValue, ...]: ...
    @overload
    def __getitem__(self, at: slice, /) -> Sequence[tuple[SqlValue, ...]]: ...
    def __getitem__(self, at: int | slice, /) -> tuple[SqlValue, ...] | Sequence[tuple[SqlValue, ...]]:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def dicts(self) -> list[JsonObject]:
        """Each row by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


_HIT_COLUMNS: dict[str, type] = {
    "rank": int,
    "id": int,
    "score": float,
    "strength": float,
    "rerank": float,
    "match": str,
    "document": str,
    "path": str,
    "start": int,
    "end": int,
    "line": int,
    "page": int,
    "heading": str,
    "text": str,
    "cosine": float,
    "bm25": float,
    "more_in_document": int,
}


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of one query, in order, with times, warnings and the plan of the search.

    `good_match` is False where no hit is a likely match.
    """

    query: Query
    hits: tuple[Hit, ...]
    took_ms: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)
    good_match: bool = True

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

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


@dataclass(slots=True)
class TruncationStats:
    """How many texts were longer than an encoder reads, and how many of their tokens were left out.

    In a text far beyond the limit the rest is counted in words, so `tokens` is then a lower bound.
    """

    passages: int = 0
    tokens: int = 0


class EncoderLike(Protocol):
    """The minimum that an encoder of your own needs; `semsearch.encoders.base.as_encoder` adds the rest."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""

    @property
    def dim(self) -> int: ...
    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """n texts -> (n, dim) in their order, (0, dim) for none; no vector depends on its batch."""


class EncoderProtocol(EncoderLike, Protocol):
    """A full encoder. `semsearch.encoders.base.BaseEncoder` has defaults for all members below."""

    def count_tokens(self, texts: Sequence[str], /) -> Sequence[int]:
        """Tokens of each text alone, without prompt and special tokens."""

    @property
    def background(self) -> Sequence[float]:
        """Ascending quantiles of the cosines of unrelated texts, p = 0 … 1 in equal steps; empty where unknown."""

    @property
    def info(self) -> JsonObject:
        """Name, fingerprint, method, width, limits, prompts, licence, source, device."""

    @property
    def reference(self) -> str:
        """The argument with which `Encoder.load` loads this encoder again."""

    @property
    def embedded(self) -> int | None:
        """Texts that went through the model so far; a cache may spare some. None: not counted."""

    @property
    def truncation(self) -> TruncationStats:
        """Counts of the texts that were too long so far."""

    @property
    def backend(self) -> EncoderLike | None:
        """The back end that runs the model (`semsearch.encoders.base.EncoderBackend`); None where there is none."""

    def close(self) -> None:
        """Close the files that are open."""


class RerankerLike(Protocol):
    """A reranker: `semsearch.Reranker`, or one of your own."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """Changes whenever the same query and passage would get another score."""

    def score(self, query: str, passages: Sequence[str], /) -> Sequence[float] | NDArray[np.float64]:
        """n passages -> (n,) in 0 … 1, in their order: the chance that each answers `query`."""


class VectorIndex(Protocol):
    """A vector index: one file of `backends/` each, whose class is called `Backend`; `backends` describes them.

    `name` is that of its file, `engine` the library that runs it with its version, `spec` a line about its structure.
    """

    name: ClassVar[str]
    engine: ClassVar[str]

    @classmethod
    def build(cls, dim: int, chunks: Chunks, *, count: int) -> Self:
        """`chunks()` yields ids (m,), ascending, and unit rows (m, dim) of about `count`; it can be called again."""

    @classmethod
    def read(cls, buffer: memoryview) -> Self:
        """From the bytes of a file, which may be used in place. Raises Corrupt."""

    def candidates(self, k: int) -> int:
        """How many hits to ask `search` for, so that exact cosines find the `k` nearest among them."""

    @property
    def device(self) -> str:
        """Where the last search ran: cpu, or cuda:N."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages about the last search, such as the reason why an available GPU was not used."""

    @property
    def dim(self) -> int: ...
    @property
    def spec(self) -> str: ...
    @property
    def ids(self) -> Ids:
        """(n,), ascending."""

    def save(self, path: Path) -> None: ...
    def add(self, ids: Ids, vectors: Vectors) -> None:
        """ids (n,), ascending, above the present ones; vectors (n, d)."""

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
        """queries (q, d) -> ids (q, k), cosines (q, k) or estimates, best first; missing ones are id -1 and -inf."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a long job: `done` of `total` in `unit`, the current item, and the passages so far.

    While files are read, by `bytes`, also the number of files read and of all of them.
    """

    done: int
    total: int
    unit: Literal["bytes", "files", "documents", "passages", "templates", "queries", "texts", "checks", "steps"]
    item: str = ""
    passages: int = 0
    files_done: int = 0
    files_total: int = 0


@dataclass(frozen=True, slots=True)
class FileType:
    """The files of a folder whose names end in `suffix` (lower case, with the dot; "" for none), and their bytes."""

    suffix: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What an index of a folder would take: its files by type, the largest first, and what would be skipped unread.

    `passages` and `seconds` are estimates from a sample that was read, split and encoded on this machine; `seconds` is
    None where none of it has text. Without `complete` there was no time to count all files.
    """

    types: tuple[FileType, ...]
    skipped: int
    passages: int
    seconds: float | None
    complete: bool

    @property
    def files(self) -> int:
        """The number of files that would be read."""
        return sum(each.files for each in self.types)

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(each.bytes for each in self.types)


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """What came out of a damaged index, and what is lost.

    `embedded` passages had no sound vector and went through the encoder again.
    """

    index: str
    documents: int
    passages: int
    embedded: int
    lost: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class ReembedReport:
    """What one call of `reembed` did: the index was encoded with `before`, and is with `encoder`.

    Of its `passages`, `present` had a vector in the new space already, from an interrupted call, and `encoded` got
    one now. `replaced` is the encoder of an unfinished space that was given up for this one. `removed` and `kept` are
    the encoders of the other spaces. `cut_tokens` exceeded the encoder's maximum length.
    """

    index: str
    encoder: str
    before: str
    passages: int
    encoded: int
    present: int
    replaced: str | None = None
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    cut_tokens: int = 0
    took_s: float = 0.0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The changes by one run of `index`, and the size of the index afterwards.

    `embedded` passages went through the encoder; the others had a vector already. `cut_tokens` exceeded the encoder's
    maximum length, in `cut_passages` passages.
    """

    index: str
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    moved: int = 0
    deleted: int = 0
    skipped: tuple[Skipped, ...] = ()
    passages: int = 0
    vectors: int = 0
    embedded: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0
    took_s: float = 0.0
    dry_run: bool = False
    warnings: tuple[str, ...] = ()

    def document_counts(self) -> dict[str, int]:
        """The number of documents that the run added, changed, skipped, …"""
        kinds = ("added", "changed", "unchanged", "moved", "deleted")
        return {kind: getattr(self, kind) for kind in kinds} | {"skipped": len(self.skipped)}
