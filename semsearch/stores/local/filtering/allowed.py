"""The passages that filters let pass, kept for the next query with the same filter until a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semsearch.stores.local.database.connection import Connection
    from semsearch.types import Ids

MOST_IDS = 4_000_000  # of all filters that are kept: 32 MB


class AllowedIds:
    """The passages that pass a filter: `ids` (n,), ascending, which cannot be changed.

    Searches keep what they derive from this very array.
    """

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.ids.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ids)


class RecentFilters:
    """The passages of the filters that were used last, in one version of a store."""

    def __init__(self) -> None:
        self._version = -1
        self._recent: dict[str, AllowedIds] = {}  # the one used last comes last

    def get(self, name: str, connection: Connection) -> AllowedIds | None:
        """Those of a filter, None where they are not known. Forgets all that is not of this version of the store."""
        version = connection.count("version")
        if self._version != version or connection.is_writing:  # what is not committed has no version yet
            self._version, self._recent = -1 if connection.is_writing else version, {}
        passages = self._recent.pop(name, None)
        return None if passages is None else self.keep(name, passages)

    def keep(self, name: str, passages: AllowedIds) -> AllowedIds:
        """Keep those of a filter, in place of others that were not used for longest."""
        self._recent[name] = passages
        while len(self._recent) > 1 and sum(map(len, self._recent.values())) > MOST_IDS:
            del self._recent[next(iter(self._recent))]
        return passages
