"""Calls of a Milvus server: tried again while it is away, and errors in one line that says what to do."""

from __future__ import annotations

import time
from typing import Any

import pytest

from semsearch.errors import NotFound, SemsearchError
from semsearch.stores.milvus.server import calls, schema
from semsearch.stores.milvus.server.address import TOKEN, Address
from semsearch.stores.milvus.server.calls import Server

URI = "http://milvus.example.org:19530"
AWAY = "<MilvusUnavailableException: (code=2, message=server Unavailable: connection refused)>"


class Failing:
    """A client whose first calls fail."""

    def __init__(self, message: str, times: int) -> None:
        self._message, self.left, self.calls = message, times, 0

    def list_collections(self, timeout: float) -> list[str]:
        assert 0 < timeout <= calls.SECONDS
        self.calls += 1
        if self.left:
            self.left -= 1
            raise RuntimeError(self._message)
        return ["there"]


def server(monkeypatch: pytest.MonkeyPatch, client: Any, patience: float = 60.0) -> Server:
    monkeypatch.setattr(Server, "_client", lambda _: client)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return Server(Address(URI, "HNSW", patience=patience))


def test_a_call_is_tried_again_while_the_server_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Failing(AWAY, 3)
    assert server(monkeypatch, client).collections() == ["there"]
    assert client.calls == 4


def test_a_server_that_stays_away_is_one_line_after_the_time_that_was_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SemsearchError, match="does not answer") as caught:
        server(monkeypatch, Failing(AWAY, 10**9), patience=0.05).collections()
    assert "\n" not in str(caught.value) and URI in str(caught.value) and caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("message", "error", "said"),
    [
        ("write failed: no space left on device; connection closed", SemsearchError, "disk .* is full"),
        ("auth check failure, please check username and password", SemsearchError, TOKEN),
        ("can't find collection[database=default][collection=x]", NotFound, "gone"),
        ("cannot parse expression: a ==", SemsearchError, "could not list collections: .*cannot parse"),
    ],
)
def test_what_does_not_pass_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, message: str, error: type[SemsearchError], said: str
) -> None:
    client = Failing(f"<MilvusException: (code=1100,\n message={message})>", 1)
    with pytest.raises(error, match=said) as caught:
        server(monkeypatch, client).collections()
    assert type(caught.value) is error and client.calls == 1 and "\n" not in str(caught.value)


def test_rows_are_sent_in_pieces_that_a_server_takes() -> None:
    rows = [{"key": str(at), "data": "x" * 2**20} for at in range(20)]
    pieces = calls._pieces(rows)
    assert [row for piece in pieces for row in piece] == rows
    assert all(sum(len(row["data"]) for row in piece) <= calls.AT_ONCE for piece in pieces) and len(pieces) == 3
    assert calls._pieces([]) == []


def test_lists_of_texts_count_with_what_they_hold() -> None:
    rows = [{"key": str(at), "tokens": ["x" * 800] * 60, "vector": [0.5] * 8} for at in range(400)]
    sizes = [sum(len(token) for row in piece for token in row["tokens"]) for piece in calls._pieces(rows)]
    assert max(sizes) <= calls.AT_ONCE and sum(sizes) == 400 * 48_000


@pytest.mark.parametrize("level", ["Strong", "Session", "Bounded", "Eventually"])
def test_a_writer_reads_what_is_there_now_whatever_the_address_says(
    monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setattr(Server, "_client", lambda _: Failing("", 0))
    monkeypatch.setattr(Server, "_time", lambda _: 7)
    asked = Server(Address(URI, "HNSW", consistency=level))
    assert asked._consistency() == {"consistency_level": level}
    asked.begin_moment()
    assert asked._consistency() == {"consistency_level": "Customized", "guarantee_timestamp": 7}


def test_a_write_that_failed_here_is_seen_if_it_was_done_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = server(monkeypatch, Failing("", 0))
    times = iter(range(7, 20))
    monkeypatch.setattr(Server, "_time", lambda _: next(times))
    asked.begin_moment()
    assert asked._consistency()["guarantee_timestamp"] == 7

    def fail(*_: Any) -> None:
        raise SemsearchError("it is away.")

    monkeypatch.setattr(Server, "_call", fail)
    for write in (lambda: asked.upsert("a", [{"id": 1}]), lambda: asked.delete("a", ["id in [1]"])):
        before = asked._consistency()["guarantee_timestamp"]
        with pytest.raises(SemsearchError):
            write()
        assert asked._consistency()["guarantee_timestamp"] == before + 1


class HalfMade:
    """A client of a server on which a collection was created and not loaded."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def has_collection(self, _: str, timeout: float) -> bool:
        return True

    def get_load_state(self, _: str, timeout: float) -> dict[str, str]:
        return {"state": "Loaded" if "load" in self.done else "NotLoad"}

    def prepare_index_params(self) -> Any:
        return type("Params", (), {"add_index": lambda *_, **__: None})()

    def create_index(self, *_: Any, timeout: float) -> None:
        self.done.append("index")

    def load_collection(self, _: str, timeout: float) -> None:
        self.done.append("load")


def test_a_collection_whose_making_was_cut_off_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    client = HalfMade()
    for _ in range(2):
        server(monkeypatch, client).make("semsearch_catalogue", schema.NAMED)
    assert client.done == ["index", "load"]


def test_the_time_is_that_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = server(monkeypatch, Failing("", 0))
    monkeypatch.setattr(Server, "_time", lambda _: (1_700_000_000_123 << 18) + 5)
    assert asked.clock() == 1_700_000_000.123


def test_the_reads_of_a_moment_ask_for_one_time_until_something_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = server(monkeypatch, Failing("", 0))
    times = iter(range(7, 20))
    monkeypatch.setattr(Server, "_time", lambda _: next(times))
    monkeypatch.setattr(Server, "_call", lambda *_: None)

    def at() -> int:
        return int(asked._consistency().get("guarantee_timestamp", 0))

    assert (at(), asked._consistency()) == (0, {"consistency_level": "Strong"})
    for expected in (7, 8):
        with asked.moment(), asked.moment():
            assert [at(), at()] == [expected] * 2
    asked.begin_moment()
    assert [at(), at()] == [9, 9]
    asked.delete("a", ["id in [1]"])
    assert [at(), at()] == [10, 10]
    asked.upsert("a", [{"id": 1}])
    assert at() == 11
