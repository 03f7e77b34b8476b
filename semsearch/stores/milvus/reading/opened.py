"""An index in Milvus that is open, until it is closed, and what its damaged rows are told as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semsearch.errors import Corrupt, SemsearchError
from semsearch.stores.milvus.index_tables import IndexTables

REPAIR = "Index its documents again."
_DAMAGE = (ValueError, TypeError, KeyError)


class OpenedIndex:
    """The collections of an index, under the name of its link."""

    def __init__(self, location: Path, tables: IndexTables) -> None:
        self._location = location
        self._opened: IndexTables | None = tables

    @property
    def tables(self) -> IndexTables:
        """The collections. Raises SemsearchError where it is closed."""
        if self._opened is None:
            raise SemsearchError(f"index {self.name} is closed.", "Open it again.")
        return self._opened

    @property
    def name(self) -> str:
        return self._location.name

    @property
    def location(self) -> Path:
        return self._location

    def close(self) -> None:
        """Every later call raises SemsearchError. The connection is shared, and stays."""
        self._opened = None

    def _reading(self, what: str) -> _Reading:
        return _Reading(f"{self.name}: {what} is damaged")


class _Reading:
    """Turns errors of damaged rows into Corrupt."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: Any) -> None:
        if isinstance(error, Corrupt):
            raise Corrupt(f"{self._what} ({error.message.rstrip('.')}).", REPAIR) from error
        if isinstance(error, _DAMAGE):
            raise Corrupt(f"{self._what} ({error}).", REPAIR) from error
