"""What an actor does with a part: split its documents, embed the passages, and say what failed.

A document at which the encoder fails is tried twice and then set aside with the reason. One that ends the actor's whole
process cannot tell: `Attempts` counts how often a part, and then each of its documents, was begun.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from semsearch.chunking.splitter import Splitter, passages
from semsearch.indexing import batch_encoder
from semsearch.scale.keys import document_key, text_key
from semsearch.scale.parts import Answer, Part, row_type
from semsearch.scale.store_writes import EncodedDocument, StoreWrites
from semsearch.stores.records import text_hash
from semsearch.types import Document, EncoderProtocol, Passage
from semsearch.utils.passage_context import embedded

if TYPE_CHECKING:
    from semsearch.types import Vectors

TRIES = 2
SLICE = 256  # texts


class Attempts(Protocol):
    """Counts how often something was begun and not ended, over the ends of processes."""

    def begun(self, what: str) -> int:
        """How often `what` was begun and not ended, this time included."""

    def ended(self, what: str) -> None:
        """Say that `what` went well."""

    def alive(self) -> None:
        """Say that a part goes on: a document of 10 MB has 13,000 passages."""


class PartEncoder:
    """Embeds parts with one encoder, and with the splitter and the context of the index."""

    def __init__(
        self,
        encoder: EncoderProtocol,
        splitter: Splitter,
        *,
        context: bool,
        attempts: Attempts,
        worker: str,
        store: StoreWrites | None = None,
    ) -> None:
        self._encoder, self._splitter, self._context = encoder, splitter, context
        self._attempts, self._worker, self._store = attempts, worker, store

    def answer(self, part: Part) -> Answer:
        """The passages of a part with their vectors. Raises what ends the job, such as EncodingFailed at any text."""
        began, before, cut = time.perf_counter(), self._encoder.embedded or 0, replace(self._encoder.truncation)
        documents = list(part)
        keys = b"".join(document_key(one.id, text_hash(one.text), one.title) for one in documents)
        if self._store is not None:
            documents = self._store.own(documents, part.sources)
        if self._attempts.begun(part.name) <= TRIES:
            rows, set_aside = self._rows(documents)
        else:  # this part has ended its process twice: one document at a time
            rows, set_aside = self._one_by_one(part.name, documents)
        changed = 0 if self._store is None else self._store.put(rows)
        self._attempts.ended(part.name)
        return Answer(
            part.name,
            part.size,
            keys,
            b"" if self._store is not None else _packed(rows, self._encoder.dim),
            len(rows),
            sum(len(row.passages) for row in rows),
            (self._encoder.embedded or 0) - before,
            time.perf_counter() - began,
            self._worker,
            set_aside,
            changed,
            self._encoder.truncation.passages - cut.passages,
            self._encoder.truncation.tokens - cut.tokens,
        )

    def _one_by_one(self, part: str, documents: Sequence[Document]) -> tuple[list[EncodedDocument], dict[str, str]]:
        rows, failed = list[EncodedDocument](), dict[str, str]()
        for at, document in enumerate(documents):
            if self._attempts.begun(f"{part}/{at}") > TRIES:
                texts = self._texts(document, self._cut(document))
                failed |= {text_key(text).hex(): "the process that embedded it ended, twice" for text in texts}
                continue
            row, reasons = self._rows([document])
            rows += row
            failed |= reasons
            self._attempts.ended(f"{part}/{at}")
        return rows, failed

    def _rows(self, documents: Sequence[Document]) -> tuple[list[EncodedDocument], dict[str, str]]:
        """The documents, but those at which the encoder fails TRIES times: why, by the keys of all their texts."""
        cut = [self._cut(document) for document in documents]
        texts = [self._texts(document, each) for document, each in zip(documents, cut, strict=True)]
        vectors, reasons = self._encoded([text for each in texts for text in each])
        rows, failed, start = list[EncodedDocument](), dict[str, str](), 0
        for document, passages_, own in zip(documents, cut, texts, strict=True):
            keys, end = [text_key(text) for text in own], start + len(own)
            if reason := next((reasons[at] for at in range(start, end) if at in reasons), ""):
                failed |= {key.hex(): reason for key in keys}
            else:
                rows.append(EncodedDocument(document, passages_, keys, vectors[start:end]))
            start = end
        return rows, failed

    def _encoded(self, texts: Sequence[str]) -> tuple[Vectors, dict[int, str]]:
        """The vectors of all texts, and the reason for each text that failed TRIES times."""
        vectors, failed = self._sliced(texts)
        for _ in range(TRIES - 1):
            again = sorted(failed)
            if not again:
                break
            rows, still = batch_encoder.encode(self._encoder, [texts[at] for at in again])
            vectors[again] = rows
            failed = {again[at]: reason for at, reason in still.items()}
        return vectors, failed

    def _sliced(self, texts: Sequence[str]) -> tuple[Vectors, dict[int, str]]:
        """As `batch_encoder.encode`, with a sign of life after every SLICE texts."""
        vectors, failed = np.zeros((len(texts), self._encoder.dim), np.float32), dict[int, str]()
        for start in range(0, len(texts), SLICE):
            rows, reasons = batch_encoder.encode(self._encoder, texts[start : start + SLICE])
            vectors[start : start + len(rows)] = rows
            failed |= {start + at: reason for at, reason in reasons.items()}
            self._attempts.alive()
        return vectors, failed

    def _cut(self, document: Document) -> list[Passage]:
        return passages(document, self._splitter, self._encoder.count_tokens)

    def _texts(self, document: Document, cut: Iterable[Passage]) -> list[str]:
        return [embedded(document, one, with_context=self._context) for one in cut]


def _packed(rows: Sequence[EncodedDocument], dim: int) -> bytes:
    """The texts and vectors as an array of `row_type`."""
    packed = np.empty(sum(len(row.keys) for row in rows), row_type(dim))
    packed["key"] = [key for row in rows for key in row.keys]
    packed["vector"] = np.concatenate([np.empty((0, dim), np.float32), *(row.vectors for row in rows)])
    return packed.tobytes()
