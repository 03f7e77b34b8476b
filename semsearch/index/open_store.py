"""What an open index is made of: the reader of its store, the space that is searched, and the writer once it writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import UsageError
from semsearch.indexing.dry_run import DryRunWriter
from semsearch.search.current_space import CurrentSpace
from semsearch.stores import drivers
from semsearch.stores.protocol import StoreReader, StoreWriter
from semsearch.stores.records import Space

if TYPE_CHECKING:
    from semsearch.encoders.base import BaseEncoder
    from semsearch.indexing.writer import IndexWriter


class OpenStore:
    """Reads at once, and writes from the first writing call until it is closed. Threads may share it."""

    def __init__(self, reader: StoreReader, current: CurrentSpace) -> None:
        self.reader, self.current = reader, current
        self._writer: IndexWriter | None = None
        self._turn = threading.RLock()  # of the threads that write

    @property
    def space(self) -> Space:
        """The space that is searched."""
        return self.current.now().space

    @property
    def encoder(self) -> LazyEncoder:
        """The encoder of that space."""
        return self.current.now().encoder

    @contextmanager
    def writing(self, *, dry_run: bool = False, needs_encoder: bool = True) -> Iterator[IndexWriter]:
        """The writer, for one thread at a time; the first call takes the lock.

        Raises Locked, and EncoderMismatch before anything is written.
        """
        with self._turn:
            yield self._dry_run() if dry_run else self._opened(needs_encoder)

    def begin(self, store: StoreWriter) -> None:
        """Write to a new store, which is locked already."""
        self._writer = _index_writer(store, self.space, self.encoder)

    def switch(self, encoder: BaseEncoder, *, owned: bool) -> None:
        """Search and write in the store's current space, which is of this encoder, from now on."""
        used = self.current.switch(encoder, owned=owned)
        if self._writer is not None:
            self._writer = self._writer.using(used.space, used.encoder)

    def close(self) -> None:
        """Close the files and release the writer's lock."""
        self.reader.close()
        if self._writer is not None:  # last: it folds the log into the file
            self._writer.close()
        self.current.close()

    def _dry_run(self) -> IndexWriter:
        return _index_writer(DryRunWriter(self.reader), self.space, self.encoder)

    def _opened(self, needs_encoder: bool) -> IndexWriter:
        if self.current.chosen is not None:
            raise UsageError(
                f"index {self.reader.name} is open over one of its spaces, for reading.", "Open it by its name."
            )
        if self._writer is None:
            with self.reader.snapshot():  # raises where the index is closed
                pass
            if needs_encoder:
                _ = self.encoder.model
            store = drivers.find(self.reader.location).open_writer(self.reader.location)
            used = self.current.now()  # from now on, no other process can switch a local store to another space
            self._writer = _index_writer(store, used.space, used.encoder)
        elif (used := self.current.now()).space.id != self._writer.space.id:  # another machine has re-embedded it
            if needs_encoder:
                _ = used.encoder.model
            self._writer = self._writer.using(used.space, used.encoder)
        return self._writer


def _index_writer(writer: StoreWriter, space: Space, encoder: LazyEncoder) -> IndexWriter:
    from semsearch.indexing.writer import IndexWriter  # 60 ms with loaders and the walk: a search needs none of it

    return IndexWriter(writer, space, encoder)
