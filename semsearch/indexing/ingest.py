"""The write path for documents, wherever they come from: compare, split, encode, store.

Document ─ the store knows this text? skip → splitter.passages → encoder.encode(role="passage")
         → writer.replace(…)      one transaction a batch, acknowledged only after commit
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from semsearch.chunking.splitter import Splitter, passages
from semsearch.indexing.file_status import UNFINISHED
from semsearch.indexing.tally import Decision
from semsearch.stores.protocol import StoreWriter
from semsearch.stores.records import DocumentStamp, Entry, Source, Space, check_document, meta_hash, text_hash
from semsearch.types import Document, EncoderProtocol, Passage, Skipped

if TYPE_CHECKING:
    from semsearch.types import Vectors

PASSAGES_A_BATCH = 256  # a kill costs at most this many passages of work; larger batches were not faster


@dataclass(frozen=True, slots=True)
class _Pending:
    """A document to commit with the next batch."""

    document: Document
    origin: Source | None
    passages: Sequence[Passage]


class Ingest:
    """Takes documents one after the other and commits them in batches; `flush()` commits the rest.

    Memory is bounded by one batch and the largest document. dry_run: decides, and writes nothing.
    """

    def __init__(
        self,
        writer: StoreWriter,
        space: Space,
        encoder: EncoderProtocol,
        splitter: Splitter,
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.written = 0  # passages
        self._writer = writer
        self._space = space
        self._encoder = encoder
        self._splitter = splitter
        self._force = force
        self._dry_run = dry_run
        self._pending: list[_Pending] = []
        self._refresh: list[Document] = []
        self._finished: list[Source] = []
        self._waiting = 0  # passages of `_pending`
        self._seen: dict[str, str] = {}  # document id -> where it came from in this run
        self._embedded_before = encoder.embedded
        self._truncated_before = replace(encoder.truncation)

    def put(
        self, document: Document, origin: Source | None = None, *, stamp: DocumentStamp | None, adopt: bool = False
    ) -> Decision | Skipped:
        """Take one document and say what becomes of it. `stamp` is what the store has under its id, None for nothing.

        `adopt`: the document has come over from a file that is gone; it is written again under its new owner, or it
        would vanish with the old one. Raises Unreadable for what a store cannot keep.
        """
        check_document(document)
        if document.id in self._seen:
            reason = f"its id {document.id!r} was already used in {self._seen[document.id]}"
            return Skipped(origin.path if origin else document.id, reason)
        self._seen[document.id] = origin.path if origin else "this call"
        decision = _decide(document, stamp, adopt)
        if self._dry_run or (decision == "same" and not self._force):
            return decision
        same_text = stamp is not None and stamp.sha256 == text_hash(document.text)
        if same_text and not (self._force or adopt):  # new metadata under an old text, nothing to embed
            self._refresh.append(document)
        else:
            cut = passages(document, self._splitter, self._encoder.count_tokens)
            self._pending.append(_Pending(document, origin, cut))
            self._waiting += len(cut)
        if max(self._waiting, len(self._refresh)) >= PASSAGES_A_BATCH:
            self.flush()
        return decision

    def finish(self, source: Source) -> None:
        """Everything of this file has been put: record its state, so that the next run need not read it."""
        if not self._dry_run:
            self._finished.append(source)
            if len(self._finished) >= PASSAGES_A_BATCH:
                self.flush()

    def flush(self) -> None:
        """Commit what is waiting, in one transaction."""
        if not (self._pending or self._finished or self._refresh):
            return
        texts = [passage.text for item in self._pending for passage in item.passages]
        vectors = self._encoder.encode(texts, role="passage")
        with self._writer.transaction():
            ids = {key: self._writer.put_source(source) for key, source in self._sources().items()}
            self._writer.replace(list(_entries(self._pending, vectors, ids)), self._space.id)
            for document in self._refresh:
                self._writer.refresh(document.id, document.metadata, document.title)
        self.written += len(texts)
        self.discard()

    def discard(self) -> None:
        """Forget what is waiting; what was committed stays."""
        self._pending, self._refresh, self._finished, self._waiting = [], [], [], 0

    def counters(self) -> dict[str, int]:
        """embedded, cut_passages, cut_tokens since the start; an encoder that counts nothing embeds everything."""
        embedded, before = self._encoder.embedded, self._embedded_before
        truncated = self._encoder.truncation
        return {
            "embedded": self.written if embedded is None or before is None else embedded - before,
            "cut_passages": truncated.passages - self._truncated_before.passages,
            "cut_tokens": truncated.tokens - self._truncated_before.tokens,
        }

    def _sources(self) -> dict[tuple[str, str], Source]:
        """Files of this batch; one that is not finished yet has a size that no file has, to be read again."""
        begun = {_key(item.origin): item.origin for item in self._pending if item.origin}
        return {
            **{key: replace(source, size=UNFINISHED) for key, source in begun.items()},
            **{_key(source): source for source in self._finished},
        }


def _decide(document: Document, stamp: DocumentStamp | None, adopt: bool) -> Decision:
    if stamp is None:
        return "new"
    now = text_hash(document.text), meta_hash(document.title, document.metadata)
    if now != (stamp.sha256, stamp.meta_sha256):
        return "changed"
    return "adopted" if adopt else "same"


def _entries(pending: Iterable[_Pending], vectors: Vectors, ids: Mapping[tuple[str, str], int]) -> Iterable[Entry]:
    at = 0
    for item in pending:
        rows = vectors[at : at + len(item.passages)]
        at += len(item.passages)
        yield Entry(item.document, ids[_key(item.origin)] if item.origin else None, item.passages, rows)


def _key(source: Source) -> tuple[str, str]:
    return source.root, source.path
