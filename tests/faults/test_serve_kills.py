"""`semsearch serve` is killed under writers. What it has answered with 200 is there afterwards, as it was sent."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from programme import record, trials

pytest.importorskip("fastapi")
from helpers.serving import Serving, serving

from semsearch import Index

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed with SIGKILL")
KILLS = trials(5, 50)
WRITERS = 4
MOST_ANSWERS = 50  # before a kill
PLACE = "/indexes/notes/documents"


class Writer(threading.Thread):
    """A client that adds, replaces and deletes documents until its server is gone.

    `texts` is what the server has acknowledged: each id with its text, None where it was deleted. `open` is the id of
    the request that was never answered: its change may be there, or not. `answers` counts the acknowledgements.
    """

    def __init__(self, server: Serving, name: str) -> None:
        super().__init__(daemon=True)
        self.texts: dict[str, str | None] = {}
        self.open = ""
        self.answers = 0
        self._server, self._name = server, name

    def run(self) -> None:
        try:
            for number in range(1_000_000):
                self._write(number)
        except (OSError, json.JSONDecodeError):
            return  # it is gone

    def _write(self, number: int) -> None:
        uri = f"{self._name}-{number // 2 % 40}"
        self.open = uri
        if number % 7 == 6:
            answer = self._server.ask("POST", f"{PLACE}/delete", {"ids": [uri]})
            text = None
        else:
            text = f"Text {number} of {self._name} about harbours."
            answer = self._server.ask("POST", PLACE, {"documents": [{"id": uri, "text": text}]})
        if answer.status == 200:
            self.texts[uri] = text
            self.open = ""
            self.answers += 1
        else:
            assert answer.status in (423, 504), answer  # 423: another process has the lock; 504: it goes on


@pytest.mark.slow
def test_nothing_that_the_server_has_acknowledged_is_lost_in_a_kill(tmp_path: Path) -> None:
    chance = random.Random(11)
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    acknowledged: dict[str, str | None] = {}
    changes = 0
    for kill in range(KILLS):
        with serving(tmp_path, "-m", "hashing") as server:
            writers = [Writer(server, f"{kill}-{number}") for number in range(WRITERS)]
            for writer in writers:
                writer.start()
            enough = chance.randint(1, MOST_ANSWERS)  # however busy the machine is
            while sum(writer.answers for writer in writers) < enough and any(map(Writer.is_alive, writers)):
                time.sleep(0.001)
            os.kill(next(line["pid"] for line in server.logged() if "pid" in line), signal.SIGKILL)
            for writer in writers:
                writer.join(60)
        for writer in writers:
            changes += writer.answers
            acknowledged |= {uri: text for uri, text in writer.texts.items() if uri != writer.open}
        with Index.open("notes", home=tmp_path) as index:
            assert index.analysis.verify() == []
            there = {one["document"]: one["text"] for page in index.pages() for one in page}
        wrong = {uri for uri, text in acknowledged.items() if there.get(uri) != text}
        assert not wrong, (kill, wrong)
    record("kill -9 of a server under writers", KILLS, lost=0, acknowledged=changes)
