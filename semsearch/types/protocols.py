"""What encoders, rerankers and vector indexes have to offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from semsearch.types.values import JsonObject, Role

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from semsearch.types.values import Chunks, Ids, Vectors


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
    def languages(self) -> Sequence[str]:
        """ISO 639-1 codes of the languages that it reads; empty where it does not say."""

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
