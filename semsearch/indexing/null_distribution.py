"""The null distribution of an index, which the strength of a hit is read against, kept up to date while it grows."""

from __future__ import annotations

from semsearch.errors import NotFound
from semsearch.stores import foreign_questions
from semsearch.stores.protocol import StoreReader, StoreWriter
from semsearch.stores.records import Space
from semsearch.types import EncoderProtocol

GROWN = 1.5  # measured again at the end of a run when the index has grown or shrunk by this factor
DOUBLED = 2.0  # and while a run goes on


def is_due(reader: StoreReader, space: Space, factor: float = GROWN) -> bool:
    """Whether the index has changed in size by `factor` since it was measured; never without an encoder.

    Raises NotFound for a space that another machine has removed.
    """
    if not space.has_encoder:
        return False
    current = next((known for known in reader.spaces() if known.id == space.id), None)
    if current is None:
        raise NotFound(f"index {reader.name} has no space {space.id} any more.", "Run the same command again.")
    now, before = reader.counts()["vectors"].get(space.id, 0), current.null_distribution
    return before is None or now >= factor * before.passages or before.passages >= factor * now


def measure(writer: StoreWriter, space: Space, encoder: EncoderProtocol) -> None:
    """Measure it, and record it in the store."""
    measured = foreign_questions.measure(writer.reader, space, encoder)
    if measured is not None:
        writer.set_null_distribution(space.id, measured)
