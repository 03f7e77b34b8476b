"""What an actor does with a part: split its documents, embed the passages, and say what failed.

A document at which the encoder fails is tried twice and then set aside with the reason. One that ends the actor's whole
process cannot tell: `Attempts` counts how often a part, and then each of its documents, was begun.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from semsearch.chunking.splitter import Splitter, passages
from semsearch.documents.vector_files import arrow, vector_column, vector_type
from semsearch.indexing import batch_encoder
from semsearch.scale.parts import Done, Failed, Part
from semsearch.search.arrow_batches import fields
from semsearch.stores.records import to_json
from semsearch.types import Document, EncoderProtocol, JsonObject, Passage, Skipped
from semsearch.utils.passage_context import embedded

if TYPE_CHECKING:
    import pyarrow

    from semsearch.types import Vectors

TRIES = 2
SLICE = 256  # texts
VECTOR_COLUMN = "vector"
KEY_COLUMN = "embedded"  # the hash of the text that was embedded, of KEY bytes
KEY = 16


class Embedded(NamedTuple):
    """A document with its n passages, the keys of their texts, and their vectors (n, d)."""

    document: Document
    passages: Sequence[Passage]
    keys: Sequence[bytes]
    vectors: Vectors


class Store(Protocol):
    """A store into which actors write by themselves."""

    def wanted(self, documents: Sequence[Document], sources: Sequence[int]) -> list[Document]:
        """Those that are to be written. `sources`: the number of the file of each."""

    def put(self, rows: Sequence[Embedded]) -> int:
        """Store documents with their vectors; how many of them were there before. On return they are acknowledged."""


class Attempts(Protocol):
    """Counts how often something was begun and not ended, over the ends of processes."""

    def begun(self, what: str) -> int:
        """How often `what` was begun and not ended, this time included."""

    def ended(self, what: str) -> None:
        """Say that `what` went well."""

    def alive(self) -> None:
        """Say that a part goes on: a document of 10 MB has 13,000 passages."""


def text_key(text: str) -> bytes:
    """KEY bytes that stand for a text: two texts in 10^15 share them with a chance below 10^-8."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest()


def schema(dim: int) -> pyarrow.Schema:
    """The columns of a shard: those of `admin.to_arrow` with a text as id, and the key of what was embedded."""
    pa = arrow("a shard")
    return pa.schema(
        [
            *fields(pa.string()),
            pa.field(KEY_COLUMN, pa.binary(KEY)),
            pa.field(VECTOR_COLUMN, vector_type(dim, "float32")),
        ]
    )


class Embedding:
    """Embeds parts with one encoder, and with the splitter and the context of the index."""

    def __init__(
        self,
        encoder: EncoderProtocol,
        splitter: Splitter,
        *,
        context: bool,
        attempts: Attempts,
        worker: str,
        store: Store | None = None,
    ) -> None:
        self._encoder, self._splitter, self._context = encoder, splitter, context
        self._attempts, self._worker, self._store = attempts, worker, store

    def answer(self, part: Part) -> Done:
        """The passages of a part with their vectors. Raises what ends the job, such as EncodingFailed at any text."""
        began, before, cut = time.perf_counter(), self._encoder.embedded or 0, replace(self._encoder.truncation)
        items = list(part)
        documents = [item for item in items if isinstance(item, Document)]
        skipped = tuple(item for item in items if isinstance(item, Skipped))
        name = f"{part.shard}/{part.number}"
        if self._store is not None:
            documents = self._store.wanted(documents, part.sources)
        if self._attempts.begun(name) <= TRIES:
            rows, failed = self._rows(documents)
        else:  # this part has ended its process twice: one document at a time
            rows, failed = self._one_by_one(name, documents)
        changed = 0 if self._store is None else self._store.put(rows)
        self._attempts.ended(name)
        return Done(
            part.shard,
            part.number,
            part.last,
            b"" if self._store is not None else _stream(rows, self._encoder.dim),
            len(documents) - len(failed),
            sum(len(row.passages) for row in rows),
            (self._encoder.embedded or 0) - before,
            time.perf_counter() - began,
            self._worker,
            tuple(failed),
            skipped,
            changed,
            self._encoder.truncation.passages - cut.passages,
            self._encoder.truncation.tokens - cut.tokens,
        )

    def _one_by_one(self, part: str, documents: Sequence[Document]) -> tuple[list[Embedded], list[Failed]]:
        rows, failed = [], []
        for at, document in enumerate(documents):
            if self._attempts.begun(f"{part}/{at}") > TRIES:
                keys = tuple(text_key(text).hex() for text in self._texts(document, self._cut(document)))
                failed.append(Failed(document.id, "the process that embedded it ended, twice", keys))
                continue
            found, set_aside = self._rows([document])
            rows += found
            failed += set_aside
            self._attempts.ended(f"{part}/{at}")
        return rows, failed

    def _rows(self, documents: Sequence[Document]) -> tuple[list[Embedded], list[Failed]]:
        """All documents with passages but those at which the encoder fails TRIES times."""
        cut = [self._cut(document) for document in documents]
        texts = [self._texts(document, each) for document, each in zip(documents, cut, strict=True)]
        vectors, reasons = self._encoded([text for each in texts for text in each])
        rows, failed, start = [], [], 0
        for document, passages_, own in zip(documents, cut, texts, strict=True):
            keys, end = [text_key(text) for text in own], start + len(own)
            if found := next((reasons[at] for at in range(start, end) if at in reasons), ""):
                failed.append(Failed(document.id, found, tuple(one.hex() for one in keys)))
            else:
                rows.append(Embedded(document, passages_, keys, vectors[start:end]))
            start = end
        return rows, failed

    def _encoded(self, texts: Sequence[str]) -> tuple[Vectors, dict[int, str]]:
        """The vectors of all texts, and the reason for each text that failed TRIES times."""
        vectors, failed = self._sliced(texts)
        for _ in range(TRIES - 1):
            again = sorted(failed)
            if not again:
                break
            found, still = batch_encoder.encode(self._encoder, [texts[at] for at in again])
            vectors[again] = found
            failed = {again[at]: reason for at, reason in still.items()}
        return vectors, failed

    def _sliced(self, texts: Sequence[str]) -> tuple[Vectors, dict[int, str]]:
        """As `batch_encoder.encode`, with a sign of life after every SLICE texts."""
        vectors, failed = np.zeros((len(texts), self._encoder.dim), np.float32), dict[int, str]()
        for start in range(0, len(texts), SLICE):
            found, reasons = batch_encoder.encode(self._encoder, texts[start : start + SLICE])
            vectors[start : start + len(found)] = found
            failed |= {start + at: reason for at, reason in reasons.items()}
            self._attempts.alive()
        return vectors, failed

    def _cut(self, document: Document) -> list[Passage]:
        return passages(document, self._splitter, self._encoder.count_tokens)

    def _texts(self, document: Document, cut: Iterable[Passage]) -> list[str]:
        return [embedded(document, one, with_context=self._context) for one in cut]


def _stream(rows: Sequence[Embedded], dim: int) -> bytes:
    """The passages as an Arrow stream with the columns of `schema`."""
    pa, target = arrow("a shard"), io.BytesIO()
    wanted = schema(dim)
    each = [_record(row, at) for row in rows for at in range(len(row.passages))]
    columns = [pa.array([one[name] for one in each], wanted.field(name).type) for name in wanted.names[:-1]]
    vectors = np.concatenate([np.empty((0, dim), np.float32), *(row.vectors for row in rows)])
    batch = pa.record_batch([*columns, vector_column(vectors, "float32")], schema=wanted)
    with pa.ipc.new_stream(target, wanted) as writer:
        writer.write_batch(batch)
    return target.getvalue()


def _record(row: Embedded, at: int) -> JsonObject:
    """A passage as a row, without its vector."""
    document, one = row.document, row.passages[at]
    return {
        "id": document.id if len(row.passages) == 1 else f"{document.id}#{one.start}",
        "document": document.id,
        "start": one.start,
        "end": one.end,
        "line": one.line,
        "page": one.page,
        "heading": one.heading,
        "title": document.title,
        "text": one.text,
        "metadata": to_json(dict(document.metadata)) if document.metadata else "{}",
        KEY_COLUMN: row.keys[at],
    }
