"""A run into Milvus ends with its vectors in the index that was asked for, if they are many."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from semsearch.stores.milvus.server import building


class Server:
    """A server that needs `takes` looks to index what is sealed. `rows`: of the collection; `sealed`: before."""

    def __init__(self, rows: int, sealed: int = 0, *, takes: int = 0, file: bool = False) -> None:
        self.address = SimpleNamespace(is_file=file)
        self.rows, self.sealed, self.takes, self.flushed, self.looks = rows, sealed, takes, 0, 0

    def flush(self, _: str) -> None:
        self.flushed += 1

    def progress(self, _: str) -> tuple[int, int]:
        if not self.flushed:
            return self.sealed, 0
        self.looks += 1
        return (self.rows, 0) if self.looks > self.takes else (self.rows, self.rows)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(building, "time", SimpleNamespace(sleep=slept.append, monotonic=lambda: float(sum(slept))))
    return slept


def built(server: Server, written: int, index: str = "HNSW") -> Any:
    table = SimpleNamespace(collection="vectors", written=written, count=lambda: server.rows)
    building.build(cast(Any, server), cast(Any, table), index)
    return table


def test_few_new_vectors_are_compared_one_by_one_and_not_waited_for(clock: list[float]) -> None:
    server = Server(rows=100_000, sealed=99_000)
    built(server, written=1_000)
    assert not server.flushed and not clock


def test_many_new_vectors_are_sealed_and_waited_for_until_they_are_indexed(clock: list[float]) -> None:
    server = Server(rows=30_000, takes=7)
    table = built(server, written=30_000)
    assert server.flushed == 1 and len(clock) == 8 and table.written == 0


def test_vectors_that_were_written_again_are_new(clock: list[float]) -> None:
    server = Server(rows=30_000, sealed=30_000)
    built(server, written=30_000)
    assert server.flushed == 1 and clock


def test_what_an_earlier_run_has_left_growing_is_sealed_too() -> None:
    server = Server(rows=30_000, sealed=10_000)
    built(server, written=5)
    assert server.flushed == 1


def test_a_server_that_takes_long_goes_on_alone(clock: list[float]) -> None:
    server = Server(rows=30_000, takes=10**9)
    built(server, written=30_000)
    assert server.flushed == 1 and sum(clock) == building.PATIENCE


@pytest.mark.parametrize(("index", "file"), [("FLAT", False), ("HNSW", True)])
def test_what_is_compared_one_by_one_needs_no_index(index: str, file: bool) -> None:
    server = Server(rows=30_000, file=file)
    built(server, written=30_000, index=index)
    assert not server.flushed
