"""Threads that share one Index: searches while another thread writes, and writers beside each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semsearch import Document, Index, admin
from semsearch.encoders.hashing import HashingEncoder
from semsearch.types import Role

if TYPE_CHECKING:
    from semsearch.types import Vectors

PATIENCE_S = 20.0


class SlowEncoder(HashingEncoder):
    """The hashing encoder, held up in the middle of a query or of a passage until it is told to go on."""

    def __init__(self, slow: Role) -> None:
        super().__init__()
        self.slow = slow
        self.at_work, self.go_on = threading.Event(), threading.Event()

    def encode(self, texts: list[str], *, role: Role = "passage") -> Vectors:  # type: ignore[override]
        if role == self.slow:
            self.at_work.set()
            assert self.go_on.wait(PATIENCE_S), "nobody let the encoder go on"
        return super().encode(texts, role=role)


class Together:
    """Threads that start at once; what goes wrong in one is raised in the test."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._failures: list[BaseException] = []

    def run(self, work: Callable[[], object]) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as failure:
                self._failures.append(failure)

        self._threads.append(threading.Thread(target=guarded))
        self._threads[-1].start()

    def finish(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in self._threads), "a thread hangs"
        if self._failures:
            raise self._failures[0]


@pytest.fixture
def together() -> Iterator[Together]:
    threads = Together()
    yield threads
    threads.finish()


def documents(prefix: str, count: int) -> list[Document]:
    return [Document(f"{prefix}{n}", f"Diesel engine number {n} of series {prefix} runs well.") for n in range(count)]


def made(folder: Path, count: int) -> Path:
    with Index.create(folder, encoder=HashingEncoder()) as index:
        index.add(documents("old", count))
    return folder


def test_a_search_that_has_begun_ends_well_though_the_first_write_comes_meanwhile(tmp_path: Path) -> None:
    encoder, threads = SlowEncoder("query"), Together()
    with Index.open(made(tmp_path / "notes", 5), encoder=encoder) as index:  # type: ignore[arg-type]
        found: list[str] = []
        threads.run(lambda: found.extend(hit.document for hit in index.search("engine 3", mode="semantic")))
        assert encoder.at_work.wait(PATIENCE_S)
        index.add([Document("new", "Bread needs salt.")])
        encoder.go_on.set()
        threads.finish()
        assert "old3" in found
        assert index.search("salt", mode="keyword")[0].document == "new"


def test_a_search_does_not_wait_for_the_encoder_of_a_writer(tmp_path: Path) -> None:
    encoder, threads = SlowEncoder("passage"), Together()
    with Index.open(made(tmp_path / "notes", 5), encoder=encoder) as index:  # type: ignore[arg-type]
        threads.run(lambda: index.add([Document("new", "Bread needs salt.")]))
        assert encoder.at_work.wait(PATIENCE_S)
        assert index.search("engine 3", mode="semantic")[0].document.startswith("old")
        encoder.go_on.set()
        threads.finish()
        assert index.search("salt")[0].document == "new"


def test_searches_beside_writes_always_answer_from_whole_documents(tmp_path: Path, together: Together) -> None:
    with Index.open(made(tmp_path / "notes", 20), encoder=HashingEncoder()) as index:
        done = threading.Event()

        def search() -> None:
            rounds = 0
            while rounds < 5 or not done.is_set():
                rounds += 1
                hits = index.search("diesel engine number 7", k=30, group="passage")
                kept = [hit for hit in hits if hit.document.startswith("old")]
                assert hits[0].text.startswith("Diesel engine number 7 of")
                assert len(kept) == 20 or len(hits) == 30

        for _ in range(3):
            together.run(search)
        for n in range(15):
            index.add(documents(f"new{n}-", 3))
            index.delete([f"new{n}-{at}" for at in range(3)])
        done.set()
        together.finish()
        assert len(index) == 20


def test_writers_take_turns_and_lose_nothing(tmp_path: Path, together: Together) -> None:
    with Index.open(made(tmp_path / "notes", 1), encoder=HashingEncoder()) as index:
        for prefix in ("a", "b", "c"):
            together.run(lambda prefix=prefix: [index.add(documents(f"{prefix}{n}-", 4)) for n in range(5)])  # type: ignore[misc]
        together.run(lambda: [admin.compact(index) for _ in range(4)])
        together.finish()
        assert len(index) == 1 + 3 * 5 * 4
        assert index.analysis.verify() == []


def test_of_two_threads_that_add_one_document_one_adds_and_one_finds_it(tmp_path: Path, together: Together) -> None:
    with Index.open(made(tmp_path / "notes", 1), encoder=HashingEncoder()) as index:
        reports = []
        for _ in range(4):
            together.run(lambda: reports.append(index.add(documents("same", 30))))
        together.finish()
        assert sorted((report.added, report.unchanged) for report in reports) == [(0, 30)] * 3 + [(30, 0)]


def test_info_is_told_while_files_come_and_go(tmp_path: Path, together: Together) -> None:
    folder, done = made(tmp_path / "notes", 1), threading.Event()

    def churn() -> None:
        while not done.is_set():
            for n in range(20):
                (folder / f"vectors-1-{n}.cache.tmp").touch()
            for n in range(20):
                (folder / f"vectors-1-{n}.cache.tmp").unlink()

    with Index.open(folder) as index:
        together.run(churn)
        try:
            sizes = [index.info()["bytes"] for _ in range(300)]
        finally:
            done.set()
        assert min(sizes) > 0
