"""The null distribution of an index, which the strength of a hit is read against, kept up to date while it grows."""

from __future__ import annotations

from semsearch.stores import foreign_questions
from semsearch.stores.protocol import StoreWriter
from semsearch.stores.records import Space
from semsearch.types import EncoderProtocol

GROWN = 1.5  # measured again at the end of a run when the index has grown or shrunk by this factor
DOUBLED = 2.0  # and while a run goes on


def refresh(writer: StoreWriter, space: Space, encoder: EncoderProtocol, factor: float = GROWN) -> None:
    """Measure again where the index has changed in size by `factor` since it was measured."""
    current = next(known for known in writer.reader.spaces() if known.id == space.id)
    now, before = writer.reader.counts()["vectors"].get(space.id, 0), current.null_distribution
    if before is not None and now < factor * before.passages and before.passages < factor * now:
        return
    measured = foreign_questions.measure(writer.reader, space, encoder)
    if measured is not None:
        writer.set_null_distribution(space.id, measured)
