"""Base class of the back ends: the members that are the same for all, and defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from semsearch.types import Ids


class BaseBackend:
    """Ids (n,), ascending, and where the last search ran."""

    ids: Ids
    device: str = "cpu"
    warnings: tuple[str, ...] = ()
    rounding: ClassVar[float] = 1e-6

    def candidates(self, k: int) -> int:
        return k

    def __len__(self) -> int:
        return len(self.ids)
