"""What an analysis of an index says: pairs, copies, topics over time, labels and layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from semsearch.types.items import Items
from semsearch.types.values import Metadata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from semsearch.types.values import Ids, Vectors

T = TypeVar("T")

Keep: TypeAlias = Literal["longest", "newest", "oldest", "first"]
Period: TypeAlias = Literal["auto", "day", "month", "year"]
LayoutMethod: TypeAlias = Literal["pca", "umap"]


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
class Topics(Items[Topic], Sequence[Topic]):
    """The clusters of an index, the largest first.

    `others` are in none. `coherence` is the mean cosine of two documents of the whole index: that of a good cluster is
    far above it.
    """

    topics: tuple[Topic, ...]
    others: tuple[str, ...]
    coherence: float

    def _items(self) -> tuple[Topic, ...]:
        return self.topics


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
