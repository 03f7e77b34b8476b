"""Null queries: what an index is asked to find out what the best hits of a question reach that it cannot answer.

A file of utils/languages/questions has a subject a line, as keywords and as a sentence: by turns one of daily life, and
one of science, technology, law or the humanities.
Few collections cover more than a handful of them. Each language has a file, since texts of one language are near each
other for most encoders; its name is the code of ISO 639-1.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.stores import base
from semsearch.utils import strength, user_cache
from semsearch.utils.languages import detection
from semsearch.utils.late_numpy import np
from semsearch.utils.strength import NullDistribution
from semsearch.utils.vectors import defect, row_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import Space
    from semsearch.types import EncoderProtocol, Vectors

FOLDER = Path(detection.__file__).with_name("questions")
ENGLISH = "en"
DEPTH = 10  # hits of a question, by meaning and by words
LEAST_SHARE = 0.05  # of the sampled passages, from which on an index is asked in their language


@cache
def languages() -> frozenset[str]:
    """Those that there are questions in."""
    return frozenset(file.stem for file in FOLDER.glob("*.tsv"))


def questions(language: str = ENGLISH) -> list[tuple[str, ...]]:
    """Each subject as keywords and as a sentence."""
    return [tuple(line.split("\t")) for line in _content(language).decode("utf-8").splitlines()]


def languages_of(reader: StoreReader) -> tuple[str, ...]:
    """English, and the languages of a sample of the passages that there are questions in."""
    counted = [detection.language(text) for text in base.sampled_texts(reader)]
    least = LEAST_SHARE * len(counted)
    return tuple(sorted(each for each in languages() if each == ENGLISH or counted.count(each) > least))


def measure(
    reader: StoreReader, space: Space, encoder: EncoderProtocol, asked_in: Collection[str] | None = None
) -> NullDistribution | None:
    """What the best hits of all questions reach in this space; None without an encoder, or while it is empty.

    `asked_in`: by default the languages of the index. Encoding some hundred questions takes a second or two, once for
    each encoder and language: the vectors are cached for the user.
    """
    with reader.snapshot():
        passages = reader.state().vectors.get(space.id, 0)
        if not passages or not space.has_encoder:
            return None
        nulls = []
        for language in languages_of(reader) if asked_in is None else asked_in:
            texts = [text for forms in questions(language) for text in forms]
            tokens = np.reshape(encoder.count_tokens(texts), (-1, 2))
            cosines, coverage = _hits(reader, space, texts, _vectors(encoder, language, texts))
            nulls.append(strength.null(language, tokens, cosines, coverage))
    return NullDistribution(tuple(nulls), passages)


def _hits(
    reader: StoreReader, space: Space, texts: list[str], vectors: Vectors
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosines and coverage of the hits of all texts (subjects, 2, hits), by meaning and by words."""
    dense = reader.dense(space.id, vectors, DEPTH)
    by_words = [reader.lexical(text, DEPTH) for text in texts]
    covered = [dict(zip(each.ids, each.coverage, strict=True)) for each in by_words]
    stored = dict(_rows(reader, space, sorted({passage for each in covered for passage in each})))
    cosines, coverage = np.full((len(texts), 2 * DEPTH), -np.inf), np.zeros((len(texts), 2 * DEPTH))
    for at, (vector, words) in enumerate(zip(vectors, covered, strict=True)):
        hits = {passage: float(stored[passage] @ vector) for passage in words if passage in stored}
        hits |= zip(dense.ids[at].tolist(), dense.cosines[at].tolist(), strict=True)
        hits.pop(-1, None)
        cosines[at, : len(hits)] = list(hits.values())
        coverage[at, : len(hits)] = [words.get(passage, 0.0) for passage in hits]
    return cosines.reshape(-1, 2, 2 * DEPTH), coverage.reshape(-1, 2, 2 * DEPTH)


def _rows(reader: StoreReader, space: Space, ids: list[int]) -> Iterator[tuple[int, Vectors]]:
    """Passage -> its unit vector (d,)."""
    for some, rows in reader.vectors(space.id, ids=row_ids(ids)):
        yield from zip(some.tolist(), rows, strict=True)


def _vectors(encoder: EncoderProtocol, language: str, texts: list[str]) -> Vectors:
    """The unit vectors (texts, d) of the questions of a language, line by line."""
    name = f"null_queries/{encoder.fingerprint}-{language}-{zlib.crc32(_content(language)):08x}.npy"
    cached = _read(name)
    if cached is not None and not defect(cached, len(texts), encoder.dim):
        return cached
    vectors = encoder.encode(texts, role="query")
    content = io.BytesIO()
    np.save(content, vectors, allow_pickle=False)
    user_cache.write(name, content.getvalue())
    return vectors


@cache
def _content(language: str) -> bytes:
    return (FOLDER / f"{language}.tsv").read_bytes()


def _read(name: str) -> Vectors | None:
    content = user_cache.read(name)
    try:
        return None if content is None else np.asarray(np.load(io.BytesIO(content), allow_pickle=False), np.float32)
    except (ValueError, OSError, EOFError):  # damaged: it is written anew
        return None
