"""The write path for documents from any source: compare, split, encode, store.

Document ─ text is stored already? skip → splitter.passages → encoder.encode(role="passage")
         → writer.replace(…)      one transaction per batch, acknowledged only after commit

A batch is encoded while the one before is committed and the next one is read (`batch_encoder`); batches are committed
in their order, by the caller's thread.

`Ingest.put` returns the outcome for a document, and its callers count it in the run's `RunReport`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from semsearch.chunking.splitter import Splitter, passages
from semsearch.documents import annotated_metadata
from semsearch.encoders.index_encoder import refuse_text
from semsearch.errors import Unreadable
from semsearch.indexing.batch_encoder import BatchEncoder, Encoding
from semsearch.indexing.derived import Derived
from semsearch.indexing.run_report import Outcome, RunReport
from semsearch.indexing.visited import VisitedDocuments
from semsearch.stores.entry_checks import check_new
from semsearch.stores.protocol import StoreWriter
from semsearch.stores.records import (
    UNFINISHED,
    Bookmark,
    DocumentRow,
    Entry,
    Source,
    Space,
    meta_hash,
    text_hash,
)
from semsearch.types import Document, EncoderProtocol, Passage, Skipped
from semsearch.utils.batches import batches
from semsearch.utils.passage_context import embedded

if TYPE_CHECKING:
    from semsearch.types import Vectors

BATCH_CHARACTERS = 8 * 2**20  # of texts and metadata; as objects, metadata may take twenty times the memory
AHEAD_CHARACTERS = 2**20  # of a batch that is encoded while the next is read; larger ones are not kept beside another
LOOKED_UP = 64  # documents; few, as another machine may change one before it is put
BATCH = 256  # passages; a kill costs at most two batches of work, and larger ones were not faster
FIRST = 50  # of the first batch of a run: somebody may wait for a first hit
T = TypeVar("T")


class _Pending(NamedTuple):
    """A document to commit with the next batch."""

    document: Document
    origin: Source | None
    passages: Sequence[Passage]
    vector: Vectors | None  # (1, d), of a document that comes with its own
    bookmark: Callable[[], Bookmark | None]
    outcome: Outcome


class _Batch(NamedTuple):
    """What one transaction commits. `files`: those with a document in it, and how far they were read by then."""

    items: Sequence[_Pending]
    refresh: Sequence[Document]
    files: Mapping[tuple[str, str], Source]
    encoding: Encoding  # of the passages of the items without vectors


class Ingest:
    """Takes documents one after the other and commits them in batches; `flush()` commits the rest, `close()` ends it.

    Memory is bounded by one batch, the largest document and AHEAD_CHARACTERS. Over a writer of a dry run it only
    compares. With `context` passages are embedded with their title and heading. `report` is for the callers of `put`.
    """

    def __init__(
        self,
        writer: StoreWriter,
        space: Space,
        encoder: EncoderProtocol,
        splitter: Splitter,
        *,
        context: bool,
        backend: str = "auto",
        force: bool = False,
        annotated: Sequence[str] = (),
    ) -> None:
        self.report = RunReport(encoder)
        self.derived = Derived(writer, space, encoder, backend, self.report)
        self.written = 0  # passages
        self.visited = VisitedDocuments(writer.reader)
        self._writer = writer
        self._space = space
        self._encoder = encoder
        self._splitter = splitter
        self._context = context
        self._force = force
        self._annotated = annotated
        self._batch_encoder = BatchEncoder(encoder)
        self._encoding: _Batch | None = None  # the batch before the pending one
        self._pending: list[_Pending] = []
        self._refresh: list[Document] = []
        self._finished: list[Source] = []
        self._incomplete: set[tuple[str, str]] = set()  # files with a document that could not be encoded or stored
        self._waiting = 0  # passages of `_pending`
        self._begun = False
        self._settled = 0  # of what was encoded
        self._characters = 0  # of what waits
        self._looked_up: dict[str, DocumentRow | None] = {}  # None: not stored

    def with_stamps(
        self, items: Iterable[T], document: Callable[[T], object] = lambda item: item
    ) -> Iterator[tuple[T, DocumentRow | None]]:
        """Each item with the present stamp of its document, None where nothing is stored under its id; all to be put.

        The store is asked about a few of them together: a question to a server costs its way there and back, whether
        about one document or about LOOKED_UP of them.
        """
        for batch in batches(items, LOOKED_UP, weight=lambda item: weight(document(item)), heaviest=AHEAD_CHARACTERS):
            named = [each if isinstance(each := document(item), Document) else None for item in batch]
            ids = [each.id if each and isinstance(each.id, str) else "" for each in named]  # `put` refuses any other
            stamps = self.stamps([uri for uri in ids if uri])
            for item, uri in zip(batch, ids, strict=True):
                yield item, stamps.get(uri)

    def stamps(self, documents: Sequence[str]) -> dict[str, DocumentRow]:
        """The present stamps of documents that are put next, before any others are asked for."""
        if all(document in self._looked_up for document in documents):
            return {document: stamp for document in documents if (stamp := self._looked_up[document]) is not None}
        return self._present(documents)

    def look_up(self, documents: Sequence[str]) -> None:
        """Ask the store together for the `stamps` of documents that may be put next, one after the other."""
        present = self._present(documents)
        self._looked_up = {document: present.get(document) for document in documents}

    def forget(self, documents: Iterable[str]) -> None:
        """What was looked up of documents that have changed since, other than by `put`."""
        for document in documents:
            self._looked_up.pop(document, None)

    def _present(self, documents: Sequence[str]) -> dict[str, DocumentRow]:
        self.forget(self.visited.forget_committed())
        return {row.uri: row for row in self._writer.reader.document_rows(documents)}

    def put(
        self,
        document: Document,
        origin: Source | None = None,
        *,
        stamp: DocumentRow | None,
        adopt: bool = False,
        named: bool = False,
        again: bool = False,
        vector: Vectors | None = None,
        bookmark: Callable[[], Bookmark | None] = lambda: None,
    ) -> Outcome | Skipped:
        """Take one document; the outcome, or the reason to skip it: this run has seen its id before.

        `stamp`: that of the stored document with its id, from `stamps`; None for none.

        `adopt`: the document has moved here from a file that is gone; it is written again as part of its new file, or
        it would be deleted with the old one. `named`: its id is the name of a file that is not followed. `again`:
        it replaces one of this run with its id. With a `vector` (1, d) it is one passage. `bookmark` says how far its
        file has been read; it is called for the last document of a batch. Raises Unreadable for a document that cannot
        be stored.
        """
        if stamp is not None and origin is not None and self._annotated:
            stored = next(iter(self._writer.reader.full_documents([document.id])), None)
            document = annotated_metadata.kept(document, stored, self._annotated)
        metadata = check_new(document, new_id=stamp is None and origin is None and not named)
        self.settle(at_once=True)
        if self.visited.has(document.id, stamp):
            if not again:
                return already_used(document, origin, self.visited.file(document.id))
            self.flush(last=False)
            self.settle()
            stamp = next(iter(self._writer.reader.document_rows([document.id])), None)
        same_text = stamp is not None and stamp.sha256 == text_hash(document.text)
        outcome = _outcome(document, stamp, adopt, same_text=same_text)
        force = self._force or vector is not None
        unchanged = outcome == "unchanged" and not force
        self.visited.take(document.id, stamp, origin.key if origin else None, waits=not unchanged)
        if self._writer.dry_run or unchanged:
            return outcome
        same_title = stamp is not None and (stamp.title == document.title or not self._space.has_encoder)
        if same_text and same_title and not (force or adopt):  # new metadata under an old text, nothing to embed
            self._refresh.append(document)
        else:
            if vector is None and not self._space.has_encoder:
                refuse_text(self._writer.reader.name)
            splitter = self._splitter if vector is None else Splitter("none")
            cut = passages(document, splitter, self._encoder.count_tokens)
            self._pending.append(_Pending(document, origin, cut, vector, bookmark, outcome))
            self._waiting += len(cut)
        self._characters += len(document.text) + len(metadata)
        if max(self._waiting, len(self._refresh)) >= self._batch or self._characters >= BATCH_CHARACTERS:
            self.flush(last=False)
        return outcome

    def finish(self, source: Source) -> None:
        """Record the state of a file with the next batch, once all its documents are put: the next run skips it."""
        if not self._writer.dry_run:
            self.settle(at_once=True)
            self._finished.append(source)
            if len(self._finished) >= BATCH:
                self.flush(last=False)

    def finish_alone(self, document: Document, *, is_new: bool) -> None:
        """Record what was left out of a document without a followed file, in place of what was before."""
        source = Source("", document.id, 0, 0, "", "", omissions=document.omissions)
        if document.omissions or not (is_new or next(self._writer.reader.sources(keys=[source.key]), None) is None):
            self.finish(source)

    def while_waiting(self, call: Callable[[], None]) -> None:
        """Call this about every second while a batch is being encoded and nothing else goes on."""
        self._batch_encoder.waiting = call

    @property
    def passages(self) -> int:
        """Those that are written or encoded."""
        return self.written + max(0, self._batch_encoder.encoded - self._settled)

    @property
    def _batch(self) -> int:
        """The passages of the next batch."""
        return BATCH if self._begun else min(FIRST, BATCH)

    def flush(self, *, last: bool = True) -> None:
        """Commit what is pending, in one transaction; the `last` time all of it.

        Before that, a batch may still be in the encoder on return: a later call commits it. While documents go on to
        come, strengths are provisional, and what has doubled gets a new vector index.
        """
        self._begun = True
        batch = self._take_batch(alone=last and self._encoding is None)
        self.settle()
        if batch is not None and (last or batch.encoding.future is None):
            self._commit(batch, last=last)
        else:
            self._encoding = batch

    def settle(self, *, at_once: bool = False) -> None:
        """Commit the batch that is in the encoder; `at_once`: only if that need not be waited for."""
        batch = self._encoding
        if batch is None or (at_once and batch.encoding.future is not None and not batch.encoding.future.done()):
            return
        self._encoding = None
        self._commit(batch, last=False)

    def close(self) -> None:
        """End the encoding of what is not committed."""
        self._batch_encoder.close()

    def _take_batch(self, *, alone: bool) -> _Batch | None:
        """What is pending; unless it is `alone`, or large, its encoding begins in another thread."""
        if not (self._pending or self._finished or self._refresh):
            return None
        texts = [
            embedded(item.document, passage, with_context=self._context)
            for item in self._pending
            if item.vector is None
            for passage in item.passages
        ]
        encoding = self._batch_encoder.start(texts, ahead=not alone and self._characters <= AHEAD_CHARACTERS)
        batch = _Batch(self._pending, self._refresh, self._files(), encoding)
        self._pending, self._refresh, self._finished, self._waiting, self._characters = [], [], [], 0, 0
        return batch

    def _commit(self, batch: _Batch, *, last: bool) -> None:
        entries = self._with_vectors(batch)
        with self._writer.transaction():
            numbers = self._writer.put_sources([self._recorded(source) for source in batch.files.values()])
            ids = dict(zip(batch.files, numbers, strict=True))
            before = set(self._incomplete)
            entries = self._replaced(entries, ids)
            cut_short = (self._incomplete - before) & batch.files.keys()
            self._writer.put_sources([self._recorded(batch.files[key]) for key in cut_short])
            for document in batch.refresh:
                self._writer.revise(document.id, metadata=document.metadata, title=document.title)
            if not last:
                self._writer.record_run(None)
        self.written += sum(len(item.passages) for item, _ in entries)
        documents = [*(item.document for item, _ in entries), *batch.refresh]
        self.visited.committed([document.id for document in documents])
        if not last:
            self.derived.keep_up(self._batch_encoder.wait)

    def _replaced(
        self, entries: list[tuple[_Pending, Vectors]], ids: Mapping[tuple[str, str], int]
    ) -> list[tuple[_Pending, Vectors]]:
        """Store these documents; those that were stored. One that this store cannot take is reported as skipped."""
        try:
            self._writer.replace([_entry(item, vectors, ids) for item, vectors in entries], self._space.id)
            return entries
        except Unreadable as error:
            if len(entries) == 1:
                self._leave_out(entries[0][0], error.message)
                return []
        return [entry for each in entries for entry in self._replaced([each], ids)]

    def _with_vectors(self, batch: _Batch) -> list[tuple[_Pending, Vectors]]:
        """The documents with their vectors (passages, d), without those at which the encoder fails.

        These are skipped with the reason, and what was stored of them before stays. The next run tries them again.
        """
        if batch.encoding.future is not None:
            self._batch_encoder.wait(batch.encoding.future)
        rows, failed = batch.encoding.result()
        self._settled += len(rows)
        counts = [0 if item.vector is not None else len(item.passages) for item in batch.items]
        ends = np.cumsum(counts, dtype=np.int64).tolist()
        entries = []
        for item, count, end in zip(batch.items, counts, ends, strict=True):
            here = range(end - count, end)
            if reason := next((failed[at] for at in here if at in failed), ""):
                self._leave_out(item, reason)
            else:
                entries.append((item, rows[here.start : here.stop] if item.vector is None else item.vector))
        return entries

    def _leave_out(self, item: _Pending, reason: str) -> None:
        """Report a document as skipped that was counted by its outcome."""
        stays = "" if item.outcome == "added" else " (the version indexed before stays)"
        self.report.skip(Skipped(item.document.id, f"{reason.rstrip('.')}{stays}"))
        self.report.count(item.outcome, -1)
        if item.origin:
            self._incomplete.add(item.origin.key)

    def _files(self) -> dict[tuple[str, str], Source]:
        """The files of what is pending; one that is not finished has a size that no file has, so it is read again."""
        finished = {source.key: source for source in self._finished}
        last = {item.origin: item.bookmark for item in self._pending if item.origin}
        begun = {source.key: (source, bookmark) for source, bookmark in last.items() if source.key not in finished}
        return finished | {
            key: replace(source, size=UNFINISHED, bookmark=bookmark()) for key, (source, bookmark) in begun.items()
        }

    def _recorded(self, source: Source) -> Source:
        """A file as it is recorded: from its beginning again where a document of it was left out."""
        return replace(source, size=UNFINISHED, bookmark=None) if source.key in self._incomplete else source


def already_used(document: Document, origin: Source | None, before: tuple[str, str] | None) -> Skipped:
    """The second document with an id; `before` is the key of the file that has the first one."""
    reason = f"its id {document.id!r} was already used in {before[1] if before else 'this call'}"
    return Skipped(origin.path if origin else document.id, reason)


def _outcome(document: Document, stamp: DocumentRow | None, adopt: bool, *, same_text: bool) -> Outcome:
    if stamp is None:
        return "added"
    if not same_text or meta_hash(document.title, document.metadata) != stamp.meta_sha256:
        return "changed"
    return "moved" if adopt else "unchanged"


def _entry(item: _Pending, vectors: Vectors, ids: Mapping[tuple[str, str], int]) -> Entry:
    return Entry(item.document, ids[item.origin.key] if item.origin else None, item.passages, vectors)


def weight(item: object) -> int:
    """The characters of a document, with its metadata; 0 for anything else."""
    if not isinstance(item, Document):
        return 0
    return len(item.text) + sum(len(str(value)) for value in item.metadata.values())
