"""What is derived from the documents, kept up to date while an index grows: its vector index, and the null distribution
that the strength of a hit is read against. A search is right without the one, and has no strength without the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from semsearch.errors import EncodingFailed, NotFound, SemsearchError
from semsearch.indexing.run_report import RunReport
from semsearch.stores import null_queries
from semsearch.stores.protocol import StoreReader, StoreWriter
from semsearch.stores.records import Space
from semsearch.types import EncoderProtocol

GROWN = 1.5  # measured again at the end of a run when the index has grown or shrunk by this factor
MEANWHILE = 4.0  # and while a run goes on: 300 questions by words take seconds in a remote store


class Derived:
    """Keeps up what is derived during a run; what fails is a warning of its report, and is not tried again."""

    def __init__(
        self, writer: StoreWriter, space: Space, encoder: EncoderProtocol, backend: str, report: RunReport
    ) -> None:
        self._writer, self._space, self._encoder, self._backend = writer, space, encoder, backend
        self._report = report
        self._caches_fail = self._unmeasurable = False

    def keep_up(self, idle: Callable[[], object]) -> None:
        """Update both where the index has grown much since: searches go on meanwhile.

        `idle` returns once the encoder has nothing else to do, as it encodes questions for the null distribution.
        """
        due = is_due(self._writer.reader, self._space, MEANWHILE)
        if not self._caches_fail:
            try:  # first, as the measurement searches
                self._writer.update_vector_index(self._space.id, self._backend, when="grown" if due else "doubled")
            except (SemsearchError, OSError) as error:
                self._caches_fail = True
                self._report.warnings.append(f"while the run went on, no vector cache could be built: {error}")
        if due:
            idle()
            self._measure()

    def complete(self, backend: str) -> None:
        """Update both where that is due at the end of the run; `backend`: that of the index by now."""
        self._report.warnings += update_vector_index(self._writer, self._space, backend, self._measure_if_due)

    def _measure_if_due(self) -> None:
        if is_due(self._writer.reader, self._space):
            self._measure()

    def _measure(self) -> None:
        if self._unmeasurable:
            return
        with self._report.apart():
            warnings = measure(self._writer, self._space, self._encoder)
        self._unmeasurable = bool(warnings)
        self._report.warnings += warnings


def update_vector_index(
    writer: StoreWriter, space: Space, backend: str, then: Callable[[], None] = lambda: None
) -> list[str]:
    """Update the vector index where that is due, and what follows; warnings.

    The documents are on disk already, so a vector index that cannot be written is no failure.
    """
    try:
        writer.update_vector_index(space.id, backend)
        then()
    except (SemsearchError, OSError) as error:
        return [f"the documents are stored, but the vector cache could not be built: {error}"]
    return []


def is_due(reader: StoreReader, space: Space, factor: float = GROWN) -> bool:
    """Whether the index has changed in size by `factor` since the null distribution was measured; never without an
    encoder. Raises NotFound for a space that another machine has removed.
    """
    if not space.has_encoder:
        return False
    state = reader.state()
    if (current := state.space(space.id)) is None:
        raise NotFound(f"index {reader.name} has no space {space.id} any more.", "Run the same command again.")
    now, before = state.vectors[space.id], current.null_distribution
    return before is None or now >= factor * before.passages or before.passages >= factor * now


def measure(writer: StoreWriter, space: Space, encoder: EncoderProtocol) -> list[str]:
    """Measure the null distribution, and record it in the store; warnings, where the encoder fails at a question."""
    try:
        measured = null_queries.measure(writer.reader, space, encoder)
    except EncodingFailed as error:
        return [f"hits have no strength, because it could not be measured: {error}"]
    if measured is not None:
        writer.put_space(replace(space, null_distribution=measured))
    return []
