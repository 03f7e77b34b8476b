"""What every store shares, whatever it is built on: the report of `Index.info`, and walks over all passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.protocol import StoreReader
    from semsearch.types import Ids, JsonObject

AT_ONCE = 1000  # passages that are read together


def info(reader: StoreReader, size: int, backends: Mapping[int, JsonObject], server: str | None = None) -> JsonObject:
    """The result of `Index.info`. Call it inside a snapshot.

    size: bytes on disk; backends: by space, what searches it (`backend`, `why`, `cache`, `newer_than_cache`); server:
    where the documents are, None for this machine.
    """
    state = reader.state()
    return {
        "name": reader.name,
        "path": str(reader.location),
        "server": server,
        "documents": state.documents,
        "passages": state.passages,
        "vectors": sum(state.vectors.values()),
        "bytes": size,
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
                **backends[space.id],
            }
            for space in state.spaces
        ],
        "last_run": next(reader.runs(), None),
    }


def texts(reader: StoreReader) -> Iterator[str]:
    """The text of every passage, by id; of those that are deleted meanwhile, none. Raises Corrupt."""
    ids = reader.passage_ids()
    for at in range(0, len(ids), AT_ONCE):
        yield from (passage.text for passage in reader.passages(ids[at : at + AT_ONCE]))


def without_vector(reader: StoreReader, space: int) -> Ids:
    """The passages that have no vector in a space, ascending. Raises NotFound for an unknown space."""
    with reader.snapshot():
        have = reader.passage_ids(space=space)
        return np.setdiff1d(reader.passage_ids(), have, assume_unique=True)
