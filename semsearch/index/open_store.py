"""What an open index is made of: the reader of its store, the space that is searched, and the writer once it writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from semsearch import indexing
from semsearch.encoders.base import as_encoder
from semsearch.encoders.index_encoder import LazyEncoder, NoEncoder, load
from semsearch.errors import UsageError
from semsearch.stores import drivers
from semsearch.stores.recorded_spaces import other_spaces

if TYPE_CHECKING:
    from semsearch.encoders.base import BaseEncoder
    from semsearch.search.current_space import CurrentSpace
    from semsearch.stores.protocol import StoreReader, StoreWriter
    from semsearch.stores.records import Space
    from semsearch.types import EncoderLike, Progress, ReembedReport


class OpenStore:
    """Reads at once, and writes from the first writing call until it is closed. Threads may share it."""

    def __init__(self, reader: StoreReader, current: CurrentSpace) -> None:
        self.reader, self.current = reader, current
        self._writer: indexing.IndexWriter | None = None
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
    def writing(self, *, dry_run: bool = False, needs_encoder: bool = True) -> Iterator[indexing.IndexWriter]:
        """The writer, for one thread at a time; the first call takes the lock.

        Raises Locked, and EncoderMismatch before anything is written.
        """
        with self._turn:
            yield self._dry_run() if dry_run else self._opened(needs_encoder)

    def begin(self, store: StoreWriter) -> None:
        """Write to a new store, which is locked already."""
        self._writer = _index_writer(store, self.space, self.encoder)

    def reembed(
        self,
        encoder: EncoderLike | str | None,
        progress: Callable[[Progress], None],
        *,
        keep_old: bool,
        switch: bool = True,
    ) -> ReembedReport:
        """See `Index.reembed`. From then on, searches and writes are in the new space.

        Without `switch` they stay in the present one, and the new one is kept beside it.
        """
        name = self.reader.name
        if not self.space.has_encoder:
            raise UsageError(
                f"index {name} has no encoder: its vectors are your own, and cannot be made from the texts.",
                "Make a new index with an encoder, and add the documents to it.",
            )
        with self.writing(needs_encoder=False) as writer:
            begun = next((one.encoder for one in other_spaces(self.reader) if not one.complete), "")
            chosen = encoder if encoder is not None else begun or "default"
            model, owned = encoder_of(chosen, None, name), isinstance(chosen, str)
            checked = LazyEncoder(
                name, model.name, model.fingerprint, model.dim, recorded=model.reference, encoder=model
            )
            try:
                report = writer.reembed(checked, progress, keep_old=keep_old, switch=switch)
            except BaseException:
                if owned:
                    model.close()
                raise
            if switch:
                used = self.current.switch(model, owned=owned)
                self._writer = writer.using(used.space, used.encoder)
            elif owned:
                model.close()
            return report

    def close(self) -> None:
        """Close the files and release the writer's lock."""
        self.reader.close()
        if self._writer is not None:  # last: it folds the log into the file
            self._writer.close()
        self.current.close()

    def _dry_run(self) -> indexing.IndexWriter:
        return _index_writer(indexing.DryRunWriter(self.reader), self.space, self.encoder)

    def _opened(self, needs_encoder: bool) -> indexing.IndexWriter:
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


def _index_writer(writer: StoreWriter, space: Space, encoder: LazyEncoder) -> indexing.IndexWriter:
    return indexing.IndexWriter(writer, space, encoder)


def encoder_of(encoder: EncoderLike | str | None, dimensions: int | None, index: str) -> BaseEncoder:
    """The encoder of a new index. Raises UsageError unless there is either an encoder or a width."""
    if encoder is None:
        if type(dimensions) is not int or dimensions < 1:
            raise UsageError(
                f"an index without an encoder needs the width of its vectors, not {dimensions!r}.",
                "For example: dimensions=384.",
            )
        return NoEncoder(index, dimensions)
    if dimensions is not None:
        raise UsageError(
            "dimensions belongs to an index without an encoder; an encoder has a width of its own.",
            "Pass encoder=None, or leave out dimensions.",
        )
    return load(encoder) if isinstance(encoder, str) else as_encoder(encoder)
