"""What stands behind an open index: its store, its encoder once one is needed, and the right to write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from semsearch.encoders.base import as_encoder
from semsearch.encoders.query_cache import QueryCache
from semsearch.errors import EncoderMismatch
from semsearch.search.session import Session
from semsearch.stores.local.store import Space, Store
from semsearch.types import EncoderLike, EncoderProtocol

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder


class Opened:
    """A store that is open, for reading until `_write()`; the encoder is loaded by the first call that needs it."""

    def __init__(self, store: Store, encoder: EncoderLike | str | None, remember: int = 0) -> None:
        self.path = store.folder
        self.name = store.folder.name
        self._store = store
        self._given = encoder
        self._most_remembered = remember
        self._encoder: EncoderProtocol | None = None
        self._queries: QueryCache | None = None
        self._loaded: Encoder | None = None  # by its name, so that it is ours to close
        self._space: Space | None = None
        self._session: Session | None = None
        self._retired: list[Store] = []  # for reading, until the first write; a search may still be using it
        self._turn = threading.RLock()  # of the threads that write
        self._exchange = threading.RLock()  # for the moment in which store, session or encoder are put in place

    def close(self) -> None:
        """Let go of the files and of the writer's lock."""
        for store in (*self._retired, self._store):  # the writer last: it folds the log into the file
            store.close()
        if self._loaded is not None:
            self._loaded.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def encoder(self) -> EncoderProtocol:
        """The encoder that this index was built with. Raises EncoderMismatch, NotFound."""
        with self._exchange:
            if self._encoder is None:
                kept = self._store.recipe().get("encoder", "default")
                wanted = self._given if self._given is not None else kept
                if isinstance(wanted, str):
                    wanted = self._loaded = self._loaded or load(wanted)
                running = as_encoder(wanted)
                space = self._used_space()
                if running.fingerprint != space.fingerprint:
                    changed = self._loaded is not None and self._given in (None, kept)
                    first = f"{kept} has changed since: put it back" if changed else f"Use the encoder {space.name}"
                    raise EncoderMismatch(
                        self.name,
                        built_with=f"{space.name}@{space.fingerprint[:8]}",
                        got=f"{running.name}@{running.fingerprint[:8]}",
                        fix=f"{first}, search with --mode keyword, or build the index anew "
                        f"(semsearch rm {self.name}, then semsearch index).",
                    )
                self._encoder = running
            return self._encoder

    def _used_space(self) -> Space:
        if self._space is None:
            self._space = self._store.spaces()[0]
        return self._space

    def _write(self) -> None:
        """Take the writer's lock, if this is the first write. Raises Locked."""
        _ = self.encoder  # refuse a wrong encoder before anything is written
        if self._store.readonly:
            writer = Store.open(self._store.folder, write=True)
            with self._exchange:
                self._retired.append(self._store)
                self._store, self._session = writer, None

    def _ready(self) -> Session:
        with self._exchange:
            if self._session is None:
                self._session = Session(self._store, self._used_space(), self._asking)
            return self._session

    def _asking(self) -> QueryCache:
        """The encoder for queries, with the vectors of the last of them."""
        with self._exchange:
            if self._queries is None:
                self._queries = QueryCache(self.encoder, self._most_remembered)
            return self._queries


def load(name: str) -> Encoder:
    """The encoder of this name, as the settings have it run."""
    from semsearch.encoders.encoder import Encoder

    return Encoder.from_settings(name)
