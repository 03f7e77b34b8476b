"""Re-encoding of an index: every passage gets a vector of another encoder, in a space beside the current one.

passages without a vector in the new space → encoder.encode(role="passage") → writer.put_vectors(…), a batch a commit
→ vector index and null distribution of the new space → one commit that switches to it → the other spaces are removed

Other machines may write to an index on a server meanwhile. The switch keeps them waiting, looks once more for passages
without a vector, and encodes a few that have come; for more, the whole begins again.

Until the switch nothing that a search reads has changed. A run that was interrupted is continued by the next one with
the same encoder: what lacks a vector is found by asking the store for it, so that documents which other runs add,
change or delete in between are right too. The recipe names the spaces beside the current one under `KEY`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semsearch.errors import EncodingFailed, Locked, NotFound
from semsearch.indexing import derived
from semsearch.indexing.batch_encoder import BatchEncoder, Encoding
from semsearch.indexing.ingest import AHEAD_CHARACTERS, BATCH
from semsearch.stores import base, machine_recipes, recipe_trust
from semsearch.stores.protocol import StoreReader, StoreWriter
from semsearch.stores.recorded_spaces import KEY, OtherSpace, other_spaces, recorded
from semsearch.stores.records import Space
from semsearch.types import EncoderProtocol, JsonObject, Progress, ReembedReport

if TYPE_CHECKING:
    from semsearch.types import Ids

READ_AT_ONCE = 16  # passages: without splitting, each may be a document of megabytes
LAST = 64  # passages at most that are encoded while other machines wait for the switch
LISTED = 20  # documents that an error names


class _Batch(NamedTuple):
    """Passages that one transaction gives their vectors."""

    ids: Sequence[int]
    documents: Sequence[str]
    encoding: Encoding


class _Behind(Exception):
    """So many passages have come from other machines that the switch cannot wait for them."""


class Reembedder:
    """Re-encodes the index of `writer` with `encoder`. Memory is bounded by two batches of AHEAD_CHARACTERS."""

    def __init__(self, writer: StoreWriter, encoder: EncoderProtocol, progress: Callable[[Progress], None]) -> None:
        self._writer, self._reader, self._encoder = writer, writer.reader, encoder
        self._progress = progress
        self._encoded = 0
        self._failed: dict[str, str] = {}  # document -> the reason

    def run(self, backend: str, *, keep_old: bool, switch: bool = True) -> ReembedReport:
        """Encode what lacks a vector, switch, and remove the other spaces unless `keep_old`.

        Without `switch` the new space stays beside the present one, which goes on being searched.
        Raises EncodingFailed, before the switch, if the encoder fails at some of the texts, and Locked where another
        machine re-embeds the index, or has done so meanwhile.
        """
        with self._writer.alone("re-embedding it"):
            return self._run(backend, keep_old=keep_old or not switch, switch=switch)

    def _run(self, backend: str, *, keep_old: bool, switch: bool) -> ReembedReport:
        began, truncated = time.monotonic(), self._encoder.truncation.tokens
        before, replaced = self._reader.state().spaces[0], self._replaced()
        space = self._begun(before)
        present = self._reader.state().vectors[space.id]
        try:
            warnings = self._filled(before, space, backend)
            while not (self._switch(before, space) if switch else self._put_beside(space)):
                warnings = self._filled(before, space, backend)
        except (NotFound, KeyError) as error:
            if space.id in [one.id for one in self._reader.state().spaces]:
                raise
            raise self._overtaken() from error
        removed = [] if keep_old else self._drop([one for one in self._reader.state().spaces if one.id != space.id])
        return ReembedReport(
            self._reader.name,
            encoder=space.name,
            before=before.name,
            passages=self._reader.state().passages,
            encoded=self._encoded,
            present=present,
            replaced=replaced,
            removed=tuple(removed),
            kept=tuple(one.name for one in self._reader.state().spaces[1:]),
            cut_tokens=self._encoder.truncation.tokens - truncated,
            took_s=round(time.monotonic() - began, 3),
            warnings=tuple(warnings),
        )

    def _replaced(self) -> str | None:
        """Remove the space that a run with another encoder has begun; the name of its encoder, None for none."""
        beside = other_spaces(self._reader)
        unfinished = [one.space for one in beside if not one.complete]
        gone = self._drop([one for one in unfinished if one.fingerprint != self._encoder.fingerprint])
        return gone[0] if gone else None

    def _begun(self, current: Space) -> Space:
        """The space to fill, on record as unfinished unless it is there already."""
        model = self._encoder
        with self._writer.transaction():
            self._writer.change_recipe(lambda recipe: recipe)  # no other machine changes it from here on
            space = self._writer.put_space(Space(0, model.fingerprint, model.name, model.dim, dict(model.info)))
            if space.id != current.id:
                entry = {str(space.id): {"encoder": model.reference, "complete": False}}
                self._writer.change_recipe(lambda recipe: {**recipe, KEY: {**recorded(recipe), **entry}})
        return space

    def _overtaken(self) -> Locked:
        return Locked(
            f"index {self._reader.name}: another machine has re-embedded it meanwhile, or begun to.",
            f"Run this again, if it is to have the encoder {self._encoder.name}.",
        )

    # ---- the vectors

    def _filled(self, before: Space, space: Space, backend: str) -> list[str]:
        """Encode what lacks a vector, and derive what is derived from all; warnings. Raises EncodingFailed."""
        self._encode_missing(space)
        if self._failed:
            self._refuse(before)
        return self._derive(space, backend)

    def _encode_missing(self, space: Space) -> None:
        """Encode a batch in another thread, where that is possible, while the one before is committed."""
        batch_encoder, waiting = BatchEncoder(self._encoder), list[_Batch]()
        self._report(space)
        try:
            for ids, documents, texts in self._missing(space):
                waiting.append(_Batch(ids, documents, batch_encoder.start(texts)))
                if len(waiting) > 1:
                    self._commit(space, waiting.pop(0))
            for batch in waiting:
                self._commit(space, batch)
        finally:
            batch_encoder.close()

    def _missing(self, space: Space) -> Iterator[tuple[list[int], list[str], list[str]]]:
        """Ids, documents and texts of the passages without a vector, a batch at a time."""
        context = bool(self._reader.state().recipe.get("context", False))
        ids, documents, texts, characters = list[int](), list[str](), list[str](), 0
        for piece in _pieces(self._reader, space):
            for passage in self._reader.passages(piece):
                ids.append(passage.id)
                documents.append(passage.document)
                texts.append(passage.embedded(with_context=context))
                characters += len(texts[-1])
            if len(ids) >= BATCH or characters >= AHEAD_CHARACTERS:
                yield ids, documents, texts
                ids, documents, texts, characters = [], [], [], 0
        if ids:
            yield ids, documents, texts

    def _commit(self, space: Space, batch: _Batch) -> None:
        rows, failed = batch.encoding.result()
        self._failed |= {batch.documents[at]: reason for at, reason in failed.items()}
        good = [at for at in range(len(batch.ids)) if at not in failed]
        if good:
            self._writer.put_vectors(space.id, np.array(batch.ids, dtype=np.int64)[good], rows[good])
        self._encoded += len(good)
        self._report(space, batch.documents[-1])

    def _report(self, space: Space, item: str = "") -> None:
        state = self._reader.state()
        self._progress(Progress(state.vectors[space.id], state.passages, "passages", item, self._encoded))

    def _refuse(self, before: Space) -> None:
        """Raise the error for documents at which the encoder fails. Their passages are tried again by the next run."""
        some = "; ".join(f"{name} ({reason.rstrip('.')})" for name, reason in list(self._failed.items())[:LISTED])
        more = f"; and {len(self._failed) - LISTED:,} more" if len(self._failed) > LISTED else ""
        raise EncodingFailed(
            f"the encoder {self._encoder.name} fails at {len(self._failed):,} documents of {self._reader.name}, so the "
            f"index still uses {before.name}, with all of its documents: {some}{more}.",
            "Change or delete these documents, or choose another encoder, and run this again: "
            "the other passages are encoded and stay so.",
        )

    # ---- the switch

    def _derive(self, space: Space, backend: str) -> list[str]:
        """Build the vector index and measure the null distribution, where that is due; warnings."""
        self._report(space, "building the vector index")
        self._writer.update_vector_index(space.id, backend)
        return derived.measure(self._writer, space, self._encoder) if derived.is_due(self._reader, space) else []

    def _switch(self, before: Space, space: Space) -> bool:
        """Make the space the current one, and the one before a complete one beside it, in one commit.

        False where too many passages have come meanwhile. Raises Locked where another machine has switched.
        """
        with suppress(_Behind), self._writer.transaction():
            present = self._writer.change_recipe(lambda recipe: recipe)  # no other machine switches from here on
            if self._reader.state().spaces[0].id != before.id:
                raise self._overtaken()
            recipe = recipe_trust.with_encoder(present, self._encoder.reference)
            beside = {key: entry for key, entry in recorded(recipe).items() if key != str(space.id)}
            if space.id != before.id:
                self._writer.put_space(space, current=True)  # no other machine writes documents from here on
                self._complete(before, space)
                beside[str(before.id)] = {"encoder": present.get("encoder", "default"), "complete": True}
                recipe.pop("measured", None)  # the fastest vector index for other vectors
            self._writer.change_recipe(lambda _: _beside(recipe, beside))
            return True
        return False

    def _put_beside(self, space: Space) -> bool:
        """Record that the space is complete, beside the current one."""
        entry = {str(space.id): {"encoder": self._encoder.reference, "complete": True}}
        machine_recipes.change_recipe(self._writer, lambda recipe: _beside(recipe, {**recorded(recipe), **entry}))
        return True

    def _complete(self, before: Space, space: Space) -> None:
        """Encode the last passages, if they are few. Raises _Behind, and EncodingFailed."""
        state = self._reader.state()  # exact here, and the same cost at any size
        if state.vectors[space.id] == state.passages:
            return
        if state.passages - state.vectors[space.id] > LAST:
            raise _Behind
        self._encode_missing(space)
        if self._failed:
            self._refuse(before)

    def _drop(self, spaces: Sequence[Space]) -> list[str]:
        """Remove spaces, and what the recipe says of them; the names of their encoders."""
        for space in spaces:
            self._writer.drop_space(space.id)
            machine_recipes.change_recipe(self._writer, partial(_without, space.id))
        return [space.name for space in spaces]


def unfinished(reader: StoreReader) -> OtherSpace | None:
    """The space that an interrupted run has begun."""
    return next((one for one in other_spaces(reader) if not one.complete), None)


def _without(space: int, recipe: JsonObject) -> JsonObject:
    """The recipe without what it says of this space."""
    return _beside(recipe, {key: entry for key, entry in recorded(recipe).items() if key != str(space)})


def _beside(recipe: JsonObject, entries: JsonObject) -> JsonObject:
    """The recipe with these entries of spaces beside the current one."""
    others = {key: value for key, value in recipe.items() if key != KEY}
    return {**others, KEY: entries} if entries else others


def _pieces(reader: StoreReader, space: Space) -> Iterator[Ids]:
    """The passages without a vector in a space, a few at a time."""
    ids = base.without_vector(reader, space.id)
    yield from (ids[at : at + READ_AT_ONCE] for at in range(0, len(ids), READ_AT_ONCE))
