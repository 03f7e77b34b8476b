"""SIGTERM in the middle of writes, and how many indexes stay open."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.served import PATIENCE, free_port
from helpers.serving import serving

from semsearch import Document, Index
from semsearch.encoders.encoder_pool import EncoderPool
from semsearch.errors import SemsearchError
from semsearch.serve.opened import OpenIndexes
from semsearch.serve.options import ServeOptions
from semsearch.serve.problems import Refused
from semsearch.serve.routes import indexes
from semsearch.serve.service import Service


def test_sigterm_loses_no_acknowledged_write(tmp_path: Path) -> None:
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    acknowledged: list[str] = []
    begun = threading.Semaphore(0)

    with serving(tmp_path, "-m", "hashing") as server:

        def write(who: int) -> None:
            for number in range(10_000):
                name = f"{who}-{number}"
                try:
                    answer = server.ask("POST", "/indexes/notes/documents", {"documents": [{"id": name, "text": name}]})
                except (OSError, http.client.HTTPException):
                    return
                if answer.status == 200:
                    acknowledged.append(name)
                    begun.release()

        writers = [threading.Thread(target=write, args=(who,)) for who in range(3)]
        for writer in writers:
            writer.start()
        for _ in range(10):
            assert begun.acquire(timeout=60)
        server.process.send_signal(signal.SIGTERM)
        for writer in writers:
            writer.join(60)
        assert server.process.wait(60) == 128 + signal.SIGTERM
    with Index.open("notes", home=tmp_path) as index:
        assert set(acknowledged) - {one["id"] for one in index.documents()} == set()
        assert index.analysis.verify() == []


def test_sigterm_does_not_wait_for_a_write_whose_client_has_gone(tmp_path: Path) -> None:
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    text = " ".join(f"word{number}" for number in range(1_000_000))  # a minute or more to encode
    body = json.dumps({"documents": [{"id": "long", "text": text}]}).encode()
    with serving(tmp_path, "-m", "hashing") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("POST", "/indexes/notes/documents", body, {"content-type": "application/json"})
        with pytest.raises(TimeoutError):
            connection.sock.settimeout(2.0)
            connection.getresponse()
        connection.close()
        server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert server.process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert time.monotonic() - began < 20
    with Index.open("notes", home=tmp_path) as index:
        assert len(index) == 0 and index.analysis.verify() == []


def test_a_server_whose_encoder_is_not_there_ends_with_the_code_of_the_command_line(tmp_path: Path) -> None:
    port, errors = free_port(), tmp_path / "stderr"
    command = [sys.executable, "-m", "semsearch", "--home", str(tmp_path), "serve", "--port", str(port)]
    with errors.open("wb") as file:
        ended = subprocess.run([*command, "-m", "no-such-encoder"], stderr=file, timeout=PATIENCE, check=False)
    assert ended.returncode == 3
    assert "no encoder is called 'no-such-encoder'" in errors.read_text()
    assert "Traceback" not in errors.read_text()


def closed(index: Index) -> bool:
    try:
        index.search("a")
    except SemsearchError:
        return True
    return False


def test_the_least_recently_used_index_is_closed_once_nobody_uses_it(tmp_path: Path) -> None:
    for name in "abc":
        with Index.create(name, encoder="hashing", home=tmp_path) as index:
            index.add([Document("x", "y")])
    opened = OpenIndexes(tmp_path, most=2, encoders=EncoderPool())
    with opened.reading("a") as first:
        with opened.reading("b") as second, opened.reading("c"):
            assert not closed(first)
        assert not closed(second)
        assert not closed(first)
    assert closed(first)
    with opened.reading("a"):
        assert closed(second)
    opened.close()


def test_indexes_stay_few_and_usable_while_many_threads_take_turns_with_them(tmp_path: Path) -> None:
    names = [f"index{n}" for n in range(6)]
    for name in names:
        with Index.create(name, encoder="hashing", home=tmp_path) as index:
            index.add([Document("x", name)])
    pool = EncoderPool()
    opened = OpenIndexes(tmp_path, most=2, encoders=pool)
    seen: dict[int, Index] = {}

    def use(start: int) -> None:
        for step in range(40):
            with opened.reading(names[(start + step) % len(names)]) as index:
                seen[id(index)] = index
                assert index.search(index.name)[0].text == index.name

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(8)))
    assert sum(not closed(index) for index in seen.values()) == 2
    assert len(pool) == 1
    opened.close()
    assert (sum(not closed(index) for index in seen.values()), len(pool)) == (0, 0)


def test_an_index_on_a_server_that_is_away_holds_up_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("far", "near"):
        Index.create(name, encoder="hashing", home=tmp_path).close()
    reach, asked, answered = Index.open, threading.Event(), threading.Event()

    def slow(name: str, **options: Any) -> Index:
        if name == "near":
            return reach(name, **options)
        asked.set()
        assert answered.wait(60)
        raise SemsearchError("no server answers.")

    monkeypatch.setattr(Index, "open", slow)
    service: Any = SimpleNamespace(indexes=OpenIndexes(tmp_path, most=2, encoders=EncoderPool()))
    with ThreadPoolExecutor(1) as threads:
        described = threads.submit(indexes._described, service, "far")
        assert asked.wait(60)
        with service.indexes.reading("near") as index:
            assert len(index) == 0
        answered.set()
        assert described.result() == {"index": "far", "problem": "no server answers."}
    service.indexes.close()


def test_a_write_that_takes_too_long_is_answered_and_goes_on(tmp_path: Path) -> None:
    home = str(tmp_path)
    service = Service(ServeOptions(home, "127.0.0.1", 1, (), (), seconds=0, rate=0, models=("hashing",)))
    go, written = threading.Event(), []

    def slow() -> None:
        assert go.wait(60)
        written.append(True)

    async def ask() -> None:
        with pytest.raises(Refused, match=r"longer than 0 seconds\. It goes on") as refused:
            await service.write(slow)
        assert refused.value.status == 504
        go.set()

    asyncio.run(ask())
    service.stop()
    assert written == [True]
