"""What a method is unless it says otherwise: no [MASK] is read, no head is needed, nothing is taken away."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from semsearch.models.tokenization import PromptTokens


class Plain:
    """A method for encoders and decoders alike, without a mask, a head or a bias."""

    kind: ClassVar[str] = "any"
    __slots__ = ()

    @property
    def masks(self) -> int | None:
        return 0

    @property
    def needs(self) -> frozenset[str]:
        return frozenset()

    @property
    def denoises(self) -> bool:
        return False

    def bias(self, network: Any, frame: PromptTokens, lengths: Tensor) -> Tensor:
        raise NotImplementedError
