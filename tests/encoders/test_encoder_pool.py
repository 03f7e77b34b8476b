"""One encoder in memory for all indexes that were built with it, and none once they are closed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semsearch import Document, Index
from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.encoder_pool import EncoderPool
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import EncoderMismatch, NotFound


def test_indexes_with_the_same_encoder_have_one_in_memory(tmp_path: Path) -> None:
    pool = EncoderPool()
    for name in "ab":
        with Index.create(tmp_path / name, encoder="hashing") as index:
            index.add([Document(name, f"text {name}")])
    first, second = (Index.open(tmp_path / name, encoders=pool) for name in "ab")
    assert len(pool) == 0
    assert first.encoder is second.encoder
    first.close()
    first.close()
    assert second.search("text")[0].document == "b"
    assert len(pool) == 1
    second.close()
    assert len(pool) == 0


def test_an_encoder_is_loaded_once_however_many_wait_for_it() -> None:
    pool, loaded = EncoderPool(), []

    def load() -> BaseEncoder:
        loaded.append(HashingEncoder())
        return loaded[-1]

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: pool.borrow("one", load), range(8)))
    assert [id(each) for each in found] == 8 * [id(loaded[0])]
    assert len(loaded) == 1


def test_an_encoder_that_cannot_be_loaded_leaves_nothing_behind(tmp_path: Path) -> None:
    pool = EncoderPool()

    def fail() -> BaseEncoder:
        raise NotFound("gone.", "")

    with pytest.raises(NotFound):
        pool.borrow("one", fail)
    assert len(pool) == 0
    assert pool.borrow("one", HashingEncoder).name == "hashing"
    Index.create(tmp_path / "a", encoder="hashing").close()
    chosen = Index.open(tmp_path / "a", encoder=HashingEncoder(64), encoders=pool)
    with chosen, pytest.raises(EncoderMismatch):  # the pool is for indexes whose encoder is not chosen
        chosen.search("a")


def test_a_query_of_others_never_has_a_file_read(tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("diesel")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.add([Document("a", "a diesel engine")])
        assert index.search(like=str(file))[0].document == "a"
    with Index.open(tmp_path / "index", like_files=False) as index:
        assert index.search("diesel", like="a", k=1).hits == ()
        with pytest.raises(NotFound, match="no passage or document"):
            index.search(like=str(file))
