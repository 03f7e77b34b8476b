"""What every store shares, whatever it is built on: what its readers and writers do alike, the report of `Index.info`,
and walks over all passages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from semsearch.errors import NotFound, UsageError
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import StoreState
    from semsearch.types import Ids, JsonObject, Metadata

SAMPLED = 200  # passages
AT_ONCE = 1000  # passages that are read together
FEW = 8  # the same, where their metadata, of as much as 1 MB each, is not asked for


class Resource(ABC):
    """What is open until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """Close the files or connections. Every later call raises SemsearchError."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BaseReader(Resource):
    """A store that is open for reading."""

    name: str
    location: Path

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[int]:
        """See `StoreReader.snapshot`."""

    @abstractmethod
    def state(self) -> StoreState:
        """See `StoreReader.state`."""

    @abstractmethod
    def runs(self) -> Iterator[JsonObject]:
        """See `StoreReader.runs`."""

    @abstractmethod
    def _size(self) -> int:
        """Bytes on disk."""

    @abstractmethod
    def _backend(self, space: int) -> JsonObject:
        """What searches a space: `backend`, `why`, `cache`, `newer_than_cache`."""

    def _server(self) -> str | None:
        """Where the documents are; None for this machine."""
        return None

    def info(self) -> JsonObject:
        """The result of `Index.info`."""
        with self.snapshot():
            state = self.state()
            return {
                "name": self.name,
                "path": str(self.location),
                "server": self._server(),
                "documents": state.documents,
                "passages": state.passages,
                "vectors": sum(state.vectors.values()),
                "bytes": self._size(),
                "recipe": state.recipe,
                "spaces": [
                    {
                        "id": space.id,
                        "encoder": {
                            **{key: value for key, value in space.info.items() if key != "background"},
                            "name": space.name,
                            "fingerprint": space.fingerprint,
                        },
                        "dim": space.dim,
                        "vectors": state.vectors[space.id],
                        **self._backend(space.id),
                    }
                    for space in state.spaces
                ],
                "last_run": next(self.runs(), None),
            }


class BaseWriter(Resource):
    """A store that is open for writing."""

    dry_run = False

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """See `StoreWriter.transaction`."""

    def revise(
        self, uri: str, *, new_uri: str | None = None, metadata: Metadata | None = None, title: str | None = None
    ) -> None:
        """See `StoreWriter.revise`."""
        with self.transaction():
            if metadata is not None:
                self._refresh(uri, metadata, title)
            if new_uri is not None:
                self._rename(uri, new_uri)

    @abstractmethod
    def _refresh(self, uri: str, metadata: Metadata, title: str | None) -> None: ...
    @abstractmethod
    def _rename(self, uri: str, new_uri: str) -> None: ...


def check_restore(file: Path, location: Path) -> None:
    """Raise NotFound without the dump `file`, UsageError where there is something at `location` already."""
    if not file.is_file():
        raise NotFound(f"there is no file {str(file)!r}.")
    if location.exists():
        raise UsageError(f"{location} exists already.", "Restore under another name, or remove it first.")


def texts(reader: StoreReader) -> Iterator[str]:
    """The text of every passage, by id; of those that are deleted meanwhile, none. Raises Corrupt."""
    return _texts(reader, reader.passage_ids(), AT_ONCE)


def sampled_texts(reader: StoreReader) -> tuple[str, ...]:
    """The texts of some SAMPLED passages, evenly. Raises Corrupt."""
    ids = reader.passage_ids()
    return tuple(_texts(reader, ids[:: max(1, len(ids) // SAMPLED)], FEW))


def _texts(reader: StoreReader, ids: Ids, most: int) -> Iterator[str]:
    """The texts of these passages, of which at most so many are read together."""
    for at in range(0, len(ids), most):
        yield from (passage.text for passage in reader.passages(ids[at : at + most]))


def without_vector(reader: StoreReader, space: int) -> Ids:
    """The passages that have no vector in a space, ascending. Raises NotFound for an unknown space."""
    with reader.snapshot():
        have = reader.passage_ids(space=space)
        return np.setdiff1d(reader.passage_ids(), have, assume_unique=True)
