"""Salvage: what is sound of a damaged store goes into a new one; what lacks a vector is encoded again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from semsearch.chunking.splitter import Splitter, passages
from semsearch.errors import SemsearchError
from semsearch.indexing.ingest import BATCH
from semsearch.stores.protocol import SalvageReader, StoreWriter
from semsearch.stores.records import UNSURE, Entry, Salvaged, Source, Space
from semsearch.types import EncoderProtocol, Progress, SalvageReport, Skipped
from semsearch.utils.passage_context import embedded


class Salvager:
    """Writes the documents of a damaged store to a new one that has a recipe and one space.

    `space` is that of the damaged store, None where its record is damaged: then every vector is made again.
    """

    def __init__(
        self, source: SalvageReader, space: Space | None, writer: StoreWriter, encoder: EncoderProtocol
    ) -> None:
        self._source, self._old_space = source, space
        self._writer, self._space = writer, writer.reader.state().spaces[0]
        self._encoder = encoder
        recipe = writer.reader.state().recipe
        self._splitter, self._context = Splitter(**recipe["splitter"]), bool(recipe.get("context"))
        self._files: dict[int, tuple[int, Source]] = {}  # id in the damaged store -> id in the new one, and the file
        self._no_encoder = ""  # why it cannot be used, once that is known
        self._embedded = 0

    def run(self, progress: Callable[[Progress], None]) -> SalvageReport:
        """Write all of it. Raises SemsearchError for errors of the new store."""
        lost: list[Skipped] = []
        batch: list[Entry] = []
        total, waiting = self._source.count(), 0
        self._writer.record_run(None)
        for done, salvaged in enumerate(self._source.documents(self._old_space), start=1):
            try:
                batch.append(self._entry(salvaged))
                waiting += len(batch[-1].passages) + 1
            except SemsearchError as error:
                lost.append(Skipped(salvaged.document.id, error.message))
            if waiting >= BATCH:
                self._commit(batch)
                batch, waiting = [], 0
                progress(Progress(min(done, total), total, "documents", salvaged.document.id))
        self._commit(batch)
        lost = [*self._source.lost, *lost]
        if not lost:
            self._settle()
        state = self._writer.reader.state()
        return SalvageReport(self._writer.reader.name, state.documents, state.passages, self._embedded, tuple(lost))

    def _entry(self, salvaged: Salvaged) -> Entry:
        """What is stored of a document. Raises SemsearchError where a vector has to be made and cannot be."""
        cut, rows = salvaged.passages, list(salvaged.vectors)
        if cut is None:
            self._require_encoder("its passages are damaged")
            cut = passages(salvaged.document, self._splitter, self._encoder.count_tokens)
            rows = [None] * len(cut)
        missing = [at for at, row in enumerate(rows) if row is None]
        if missing:
            self._require_encoder("a vector is damaged")
            texts = [embedded(salvaged.document, cut[at], with_context=self._context) for at in missing]
            for at, row in zip(missing, self._encoder.encode(texts, role="passage"), strict=True):
                rows[at] = row[None]
            self._embedded += len(missing)
        vectors = [row for row in rows if row is not None] or [np.empty((0, self._space.dim), np.float32)]
        return Entry(salvaged.document, self._file(salvaged.source), cut, np.concatenate(vectors))

    def _require_encoder(self, damage: str) -> None:
        if not self._no_encoder:
            try:
                self._encoder.count_tokens(["x"])
                if self._space.has_encoder:
                    return
                self._no_encoder = "the index has no encoder"
            except SemsearchError as error:
                self._no_encoder = error.message
        raise SemsearchError(f"{damage}, and cannot be made again: {self._no_encoder.rstrip('.')}")

    def _file(self, source: Source | None) -> int | None:
        """The id of a file in the new store; the next run of `index` reads it again, for what may be lost of it."""
        if source is None:
            return None
        if source.id not in self._files:
            unsure = replace(source, id=0, size=UNSURE, sha256="")
            self._files[source.id] = (self._writer.put_sources([unsure])[0], replace(source, id=0))
        return self._files[source.id][0]

    def _commit(self, batch: list[Entry]) -> None:
        if batch:
            self._writer.replace(batch, self._space.id)

    def _settle(self) -> None:
        """Nothing is lost: the files need not be read again."""
        with self._writer.transaction():
            self._writer.put_sources([source for _, source in self._files.values()])
