"""A batch is encoded in another thread while the next is read: the index is the same as without, whatever happens."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from semsearch import Document, EncodingFailed, Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import SemsearchError
from semsearch.indexing import ingest
from semsearch.models.batching import each
from semsearch.prompts import Prompt

PATIENCE_S = 20.0
BATCH = 48


class Overlapping(HashingEncoder):
    """The hashing encoder as a back end that may run in another thread; `before` is called before each batch."""

    overlaps = True

    def __init__(self, before: Callable[[Sequence[str]], object] = len) -> None:
        super().__init__(32)
        self.before = before

    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Any:
        if texts[0].startswith("Engine"):
            self.before(texts)
        return super().embed(texts, prompt, batch_size)


@pytest.fixture(autouse=True)
def no_thread_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ingest, "BATCH", BATCH)
    monkeypatch.setattr(ingest, "LOOKED_UP", 1)  # so that it is known how far has been read
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("encoding")]


def documents(count: int, begin: int = 0) -> Iterator[Document]:
    return (Document(f"d{n:05}", f"Engine {n} turns, and it runs on.") for n in range(begin, begin + count))


def opened(folder: Path, encoder: HashingEncoder) -> Index:
    return Index.create(folder, encoder=encoder)


def test_documents_are_read_and_committed_while_a_batch_is_encoded(tmp_path: Path) -> None:
    read_on, folder = threading.Event(), tmp_path / "one"

    def wait(texts: Sequence[str]) -> None:
        if texts[0].startswith("Engine 0 "):
            assert read_on.wait(PATIENCE_S)
            return
        with Index.open(folder) as index:  # the batch before is committed, though this one is in the encoder
            until = time.monotonic() + PATIENCE_S
            while len(index) < BATCH:
                assert time.monotonic() < until
                time.sleep(0.005)

    def given() -> Iterator[Document]:
        for at, document in enumerate(documents(3 * BATCH)):
            if at == BATCH + 10:
                read_on.set()
            yield document

    encoder = Overlapping(wait)
    with opened(folder, encoder) as index:
        report = index.add(given())
        assert (report.added, report.embedded, len(index)) == (3 * BATCH, 3 * BATCH, 3 * BATCH)
        assert index.analysis.verify() == []


def test_the_index_is_the_same_as_without(tmp_path: Path) -> None:
    found = []
    for name, encoder in (("ahead", Overlapping()), ("plain", HashingEncoder(32))):
        with opened(tmp_path / name, encoder) as index:
            first = index.add(documents(3 * BATCH + 7))
            again = index.add([*documents(BATCH, begin=100), *documents(2 * BATCH, begin=5000)])
            counts = [(report.added, report.unchanged, report.passages, report.embedded) for report in (first, again)]
            texts = [(one["id"], index.get(one["id"])["text"]) for one in index.documents()]
            hits = [(hit.document, round(hit.score, 6)) for hit in index.search("Engine 300 turns", k=20)]
            found.append((counts, texts, hits))
    assert found[0] == found[1]


def test_a_batch_is_committed_once_it_is_encoded_though_nothing_new_comes(tmp_path: Path) -> None:
    sizes = []

    def given() -> Iterator[Document]:
        yield from documents(BATCH)
        for _ in range(10_000):
            yield Document("d00000", "the second with its id")
            sizes.append(len(index))
            if sizes[-1]:
                return

    with opened(tmp_path / "one", Overlapping()) as index:
        index.add(given())
        assert sizes[-1] == BATCH


def test_an_error_of_the_encoder_ends_the_run_and_leaves_what_was_committed(tmp_path: Path) -> None:
    def fail(texts: Sequence[str]) -> None:
        if texts[0].startswith(f"Engine {BATCH} "):
            raise SemsearchError("the memory of cpu does not hold one text of 9 tokens.")

    with opened(tmp_path / "one", Overlapping(fail)) as index:
        with pytest.raises(SemsearchError, match="does not hold one text"):
            index.add(documents(5 * BATCH))
        assert [one["id"] for one in index.documents()] == [f"d{n:05}" for n in range(BATCH)]
        assert index.analysis.verify() == []
        index.encoder.backend.before = len  # type: ignore[union-attr]
        assert (report := index.add(documents(5 * BATCH))).added == 4 * BATCH and report.unchanged == BATCH


def test_an_error_while_reading_loses_nothing_that_was_read_as_a_whole_batch(tmp_path: Path) -> None:
    begun = threading.Event()

    def given() -> Iterator[Document]:
        yield from documents(BATCH)
        assert begun.wait(PATIENCE_S)
        raise OSError("the disk is gone")

    with opened(tmp_path / "one", Overlapping(lambda texts: begun.set())) as index:
        with pytest.raises(OSError, match="the disk is gone"):
            index.add(given())
        assert len(index) == BATCH


def test_ctrl_c_while_reading_ends_the_encoding_too(tmp_path: Path) -> None:
    begun, interrupted, done = threading.Event(), threading.Event(), list[str]()

    def wait(text: str) -> None:
        begun.set()
        assert interrupted.wait(PATIENCE_S)
        done.append(text)

    def given() -> Iterator[Document]:
        yield from documents(BATCH)
        assert begun.wait(PATIENCE_S)
        threading.Timer(0.05, interrupted.set).start()  # the encoder is in the middle of a text when Ctrl-C comes
        raise KeyboardInterrupt

    with opened(tmp_path / "one", Overlapping(lambda texts: each(wait, texts, 2))) as index:
        with pytest.raises(KeyboardInterrupt):
            index.add(given())
        assert len(done) <= 2 and len(index) == 0


def test_texts_at_which_the_encoder_fails_are_skipped_by_name_in_every_batch(tmp_path: Path) -> None:
    bad = {3, BATCH + 5, 2 * BATCH + 1}

    def fail(texts: Sequence[str]) -> None:
        if poisoned := [text for text in texts if int(text.split()[1]) in bad]:
            raise EncodingFailed(f"no vector for {poisoned[0]!r}.", "Leave it out.")

    with opened(tmp_path / "one", Overlapping(fail)) as index:
        report = index.add(documents(3 * BATCH))
        assert {skipped.path for skipped in report.skipped} == {f"d{n:05}" for n in bad}
        assert all("no vector for" in skipped.reason for skipped in report.skipped)
        assert report.added == len(index) == 3 * BATCH - len(bad)


def test_a_file_is_read_on_from_the_end_of_the_last_batch_that_was_committed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "log.jsonl"
    records = [{"text": f"Engine {n} turns, {'and it runs, ' * 60}on."} for n in range(5 * BATCH)]
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")

    def fail(texts: Sequence[str]) -> None:
        if texts[0].startswith(f"Engine {3 * BATCH} "):
            raise SemsearchError("the encoder is gone.")

    with opened(tmp_path / "one", Overlapping(fail)) as index:
        with pytest.raises(SemsearchError, match="gone"):
            index.sync([file])
        assert len(index) == 3 * BATCH
        index.encoder.backend.before = len  # type: ignore[union-attr]
        with caplog.at_level(logging.INFO):
            report = index.sync([file])
        assert f"read from record {3 * BATCH + 1} on: the {3 * BATCH} before are stored" in caplog.text
        assert (report.added, report.unchanged, len(index)) == (2 * BATCH, 3 * BATCH, 5 * BATCH)
        assert [index.get(f"log.jsonl#{n + 1}")["text"] for n in range(0, 5 * BATCH, 20)] == [
            record["text"] for record in records[::20]
        ]
