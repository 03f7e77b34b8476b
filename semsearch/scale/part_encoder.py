"""What an actor does with a part: split its documents, embed the passages, and say what failed.

A document at which the encoder fails is tried twice and then set aside with the reason. One that ends the actor's whole
process cannot tell: the driver sees it (`Part.after_loss`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semsearch.chunking.splitter import Splitter, passages
from semsearch.indexing import batch_encoder
from semsearch.scale.keys import document_key, text_key
from semsearch.scale.parts import TRIES, Answer, Part, row_type
from semsearch.stores.records import text_hash
from semsearch.types import Document, EncoderProtocol
from semsearch.utils.passage_context import embedded

if TYPE_CHECKING:
    from semsearch.types import Vectors


class PartEncoder:
    """Embeds parts with one encoder, and with the splitter and the context of the index."""

    def __init__(self, encoder: EncoderProtocol, splitter: Splitter, *, context: bool, worker: str) -> None:
        self._encoder, self._splitter, self._context, self._worker = encoder, splitter, context, worker

    def answer(self, part: Part) -> Answer:
        """The passages of a part with their vectors. Raises what ends the job, such as EncodingFailed at any text."""
        began, before, cut = time.perf_counter(), self._encoder.embedded or 0, replace(self._encoder.truncation)
        of_documents = [self._texts(document) for document in part.documents]
        texts = [text for each in of_documents for text in each]
        vectors, reasons = self._encoded([] if part.failed else texts)
        kept, set_aside, end, embedded_documents = list[int](), dict[str, str](), 0, 0
        for own in of_documents:
            places, end = range(end, end + len(own)), end + len(own)
            if reason := part.failed or next((reasons[at] for at in places if at in reasons), ""):
                set_aside |= {text_key(text).hex(): reason for text in own}
            else:
                embedded_documents += 1
                kept += places
        rows = np.empty(len(kept), row_type(self._encoder.dim))
        rows["key"] = [text_key(texts[at]) for at in kept]
        rows["vector"] = vectors[kept]
        return Answer(
            part.size,
            b"".join(document_key(one.id, text_hash(one.text), one.title) for one in part.documents),
            rows.tobytes(),
            embedded_documents,
            len(kept),
            (self._encoder.embedded or 0) - before,
            time.perf_counter() - began,
            self._worker,
            set_aside,
            self._encoder.truncation.passages - cut.passages,
            self._encoder.truncation.tokens - cut.tokens,
        )

    def _texts(self, document: Document) -> list[str]:
        """What is embedded of a document, passage by passage."""
        cut = passages(document, self._splitter, self._encoder.count_tokens)
        return [embedded(document, one, with_context=self._context) for one in cut]

    def _encoded(self, texts: Sequence[str]) -> tuple[Vectors, dict[int, str]]:
        """The vectors of all texts, and the reason for each text that failed TRIES times."""
        vectors, failed = batch_encoder.encode(self._encoder, texts)
        for _ in range(TRIES - 1):
            again = sorted(failed)
            if not again:
                break
            rows, still = batch_encoder.encode(self._encoder, [texts[at] for at in again])
            vectors[again] = rows
            failed = {again[at]: reason for at, reason in still.items()}
        return vectors, failed
