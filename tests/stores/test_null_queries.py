"""Promises of the questions that an index is asked: varied, encoded once for each encoder, whatever the cache holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.stores import DIM, entry, made

from semsearch.stores import null_queries
from semsearch.stores.local import LocalWriter
from semsearch.stores.records import Space
from semsearch.utils import user_cache
from semsearch.utils.languages import detection
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.types import Role, Vectors

import numpy as np

from semsearch.encoders.base import BaseEncoder


class Counting(BaseEncoder):
    """An encoder that counts its calls."""

    name, fingerprint, dim = "counting", "counting@1", DIM
    calls = 0

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        self.calls += 1
        return unit_rows(np.random.default_rng(len(texts)).normal(size=(len(texts), DIM)))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("language", sorted(null_queries.languages()))
def test_each_subject_is_asked_for_as_keywords_and_as_a_sentence_in_its_language(language: str) -> None:
    forms = null_queries.questions(language)
    assert len(forms) == 150 and all(len(each) == 2 for each in forms)
    assert len({text for each in forms for text in each}) == 2 * len(forms)
    keywords, sentences = (sum(len(each[at]) for each in forms) for at in (0, 1))
    assert keywords < sentences
    readable = [detection.is_readable(text, [language]) for each in forms for text in each]
    assert readable.count(True) >= 0.99 * len(readable)


def test_the_questions_are_encoded_once_for_an_encoder(tmp_path: Path) -> None:
    store, space = made(tmp_path / "notes", 3)
    encoder = Counting()
    first = null_queries.measure(store.reader, space, encoder)
    assert first and "en" in first.languages
    assert null_queries.measure(store.reader, space, encoder) == first and encoder.calls == len(first.languages)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"not an array"])
def test_a_damaged_cache_is_written_anew(tmp_path: Path, content: bytes) -> None:
    store, space = made(tmp_path / "notes", 3)
    encoder = Counting()
    first = null_queries.measure(store.reader, space, encoder)
    (file,) = (user_cache.folder() / "null_queries").glob("*-en-*")
    file.write_bytes(content)
    assert null_queries.measure(store.reader, space, encoder) == first and encoder.calls == len(first.languages) + 1


def test_an_index_without_vectors_has_no_null_distribution(tmp_path: Path) -> None:
    from semsearch.stores.local import create

    with create(tmp_path / "empty") as store:
        assert isinstance(store, LocalWriter)
        space = store.put_space(Space(0, "fingerprint", "stand-in", DIM, {}))
        assert null_queries.measure(store.reader, space, Counting()) is None
        store.replace([entry("a.md", "A text.")], space.id)
        assert null_queries.measure(store.reader, space, Counting()) is not None
