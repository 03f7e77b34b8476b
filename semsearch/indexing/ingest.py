"""The write path for documents, wherever they come from: compare, split, encode, store.

Document ─ the store knows this text? skip → split.passages → encoder.encode(role="passage")
         → store.replace(…)      one transaction a batch, acknowledged only after commit
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from semsearch.chunking.splitter import Splitter, passages
from semsearch.stores.local.store import Entry, Head, Source, Space, Store
from semsearch.stores.records import check_document, meta_hash, text_hash
from semsearch.types import Document, EncoderProtocol, Passage, Skipped

if TYPE_CHECKING:
    from semsearch.types import Vectors

UNFINISHED = -1  # in place of a file's size: something of it is not in the store, so the next run reads it again
PASSAGES_A_BATCH = 256  # a kill costs at most this many passages of work; larger batches were not faster


@dataclass(slots=True)
class Tally:
    """What has happened to the documents so far."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    moved: int = 0
    deleted: int = 0
    written: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Pending:
    """Something to commit with the next batch, in the order in which it came."""

    document: Document
    origin: Source | None
    passages: Sequence[Passage]


class Ingest:
    """Takes documents one after the other and commits them in batches; `flush()` commits the rest.

    Memory is bounded by one batch and the largest document.
    """

    def __init__(
        self,
        store: Store,
        space: Space,
        encoder: EncoderProtocol,
        splitter: Splitter,
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.tally = Tally()
        self._store = store
        self._space = space
        self._encoder = encoder
        self._splitter = splitter
        self._force = force
        self._dry_run = dry_run
        self._pending: list[_Pending] = []
        self._refresh: list[Document] = []
        self._finished: list[Source] = []
        self._waiting = 0
        self._seen: dict[str, str] = {}
        self._before = _counters(encoder)

    def put(self, document: Document, origin: Source | None = None, *, head: Head | None, adopt: bool = False) -> None:
        """Take one document. `head` is what the store holds under its id now, None for nothing.

        `adopt` says that the document has come over from a file that is gone: it is written again under its
        new owner, or it would vanish with the old one. Raises Unreadable for what the store cannot keep.
        """
        name = origin.path if origin else "this call"
        check_document(document)
        if document.id in self._seen:
            reason = f"its id {document.id!r} was already used in {self._seen[document.id]}"
            self.tally.skipped.append(Skipped(origin.path if origin else document.id, reason))
            return
        self._seen[document.id] = name
        if head is None:
            self.tally.added += 1
        else:
            same_text = head.sha256 == text_hash(document.text)
            same = same_text and head.meta_sha256 == meta_hash(document.title, document.metadata)
            self.tally.moved += adopt and same
            self.tally.unchanged += same and not adopt
            self.tally.changed += not same
            if same_text and not (self._force or adopt):
                if not (same or self._dry_run):  # new metadata under an old text, nothing to embed
                    self._refresh.append(document)
                    if len(self._refresh) >= PASSAGES_A_BATCH:
                        self.flush()
                return
        if self._dry_run:
            return
        cut = passages(document, self._splitter, self._encoder.count_tokens)
        self._pending.append(_Pending(document, origin, cut))
        self._waiting += len(cut)
        if self._waiting >= PASSAGES_A_BATCH:
            self.flush()

    def finish(self, source: Source) -> None:
        """Everything of this file has been put: remember its state, so that the next run need not read it."""
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
        with self._store.transaction():
            ids = {key: self._store.put_source(source) for key, source in self._sources().items()}
            self._store.replace(list(_entries(self._pending, vectors, ids)), self._space.id)
            for document in self._refresh:
                self._store.refresh(document.id, document.metadata, document.title)
        self.tally.written += len(texts)
        self.drop()

    def drop(self) -> None:
        """Forget what is waiting; what was committed stays."""
        self._pending, self._refresh, self._finished, self._waiting = [], [], [], 0

    def counters(self) -> dict[str, int]:
        """embedded, cut_passages, cut_tokens since the start; an encoder that counts nothing embeds everything."""
        told = {name: now - self._before[name] for name, now in _counters(self._encoder).items()}
        return {"embedded": self.tally.written, **told}

    def _sources(self) -> dict[tuple[str, str], Source]:
        """Files of this batch; one that is not finished yet keeps a time that no file has, to be read again."""
        begun = {_key(item.origin): item.origin for item in self._pending if item.origin}
        return {
            **{key: replace(s, size=UNFINISHED) for key, s in begun.items()},
            **{_key(source): source for source in self._finished},
        }


def _entries(pending: Iterable[_Pending], vectors: Vectors, ids: Mapping[tuple[str, str], int]) -> Iterable[Entry]:
    at = 0
    for item in pending:
        rows = vectors[at : at + len(item.passages)]
        at += len(item.passages)
        yield Entry(item.document, ids[_key(item.origin)] if item.origin else None, item.passages, rows)


def _key(source: Source) -> tuple[str, str]:
    return source.root, source.path


def _counters(encoder: EncoderProtocol) -> dict[str, int]:
    """What an encoder has counted so far."""
    embedded = {} if encoder.embedded is None else {"embedded": encoder.embedded}
    return {**embedded, "cut_passages": encoder.truncation.passages, "cut_tokens": encoder.truncation.tokens}
