"""RaBitQ fast scan over all vectors, SQ8 refinement: 1.15 d bytes a vector, 5.7 ms at 10^6 x 384 on one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from semsearch.vector_index.backends._rabitq import FACTORS, TARGET, RabitqBackend

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

TRAINING = 50_000  # vectors: only the mean and the range of each dimension are learned


class Backend(RabitqBackend):
    """The fast scan has no selectors (faiss 1.15 raises), so a filtered search compares SQ8 codes instead."""

    name: ClassVar[str] = "compressed"

    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        return f"RR{dim},RaBitQfs,Refine(SQ8)"

    @classmethod
    def training_size(cls, count: int) -> int:
        return TRAINING

    def tune(self, sample: Vectors) -> dict[str, int]:
        """The smallest number of candidates that reaches the target."""
        return {"factor": self.least(sample, FACTORS, TARGET, self.refined)}

    def nearest(self, queries: Vectors, k: int, selected: Any, share: float) -> tuple[Vectors, Ids]:
        if selected is not None:
            return self.scan(queries, k, selected)
        return self.refined(queries, k, self.settings["factor"])
