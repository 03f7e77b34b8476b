"""Foreign questions: what an index is asked to find out which cosines a question reaches that it cannot answer.

The file beside this module has a subject of daily life a line, in three forms: keywords, a sentence, and a sentence or
two with the circumstances. Few collections cover more than a handful of them.
"""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.utils import user_cache
from semsearch.utils.late_numpy import np
from semsearch.utils.strength import null_distribution
from semsearch.utils.vectors import defect

if TYPE_CHECKING:
    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import Space
    from semsearch.types import EncoderProtocol, Vectors
    from semsearch.utils.strength import NullDistribution

FILE = Path(__file__).with_suffix(".tsv")


def questions() -> list[tuple[str, ...]]:
    """(questions, 3): each subject as keywords, as a sentence, and with the circumstances."""
    return [tuple(line.split("\t")) for line in FILE.read_text(encoding="utf-8").splitlines()]


def measure(reader: StoreReader, space: Space, encoder: EncoderProtocol) -> NullDistribution | None:
    """The cosines of the best hits of all questions in this space; None without an encoder, or while it is empty.

    Encoding some 500 questions takes a second or two, once for each encoder: the vectors are cached for the user.
    """
    with reader.snapshot():
        passages = reader.state().vectors.get(space.id, 0)
        if not passages or not space.has_encoder:
            return None
        best = reader.dense(space.id, _vectors(encoder), 1).cosines[:, 0]
    return null_distribution(list(best.reshape(-1, 3).T), passages)


def _vectors(encoder: EncoderProtocol) -> Vectors:
    """The unit vectors (3 subjects, d) of the questions, line by line."""
    name = f"foreign_questions/{encoder.fingerprint}-{zlib.crc32(FILE.read_bytes()):08x}.npy"
    texts = [text for forms in questions() for text in forms]
    cached = _read(name)
    if cached is not None and not defect(cached, len(texts), encoder.dim):
        return cached
    vectors = encoder.encode(texts, role="query")
    content = io.BytesIO()
    np.save(content, vectors, allow_pickle=False)
    user_cache.write(name, content.getvalue())
    return vectors


def _read(name: str) -> Vectors | None:
    content = user_cache.read(name)
    try:
        return None if content is None else np.asarray(np.load(io.BytesIO(content), allow_pickle=False), np.float32)
    except (ValueError, OSError, EOFError):  # damaged: it is written anew
        return None
