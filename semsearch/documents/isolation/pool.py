"""The reading processes of this process: reused from file to file, watched by one thread, ended when not needed."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from semsearch.documents.isolation.limits import Limits
from semsearch.documents.isolation.process import ReaderProcess
from semsearch.documents.parsing.records import Fields
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

TICK = 0.05  # seconds between two checks of the limits
IDLE_SECONDS = 10.0  # then a process is ended; starting one takes 0.1


class Pool:
    """As many processes as there are threads that read at the same time; usually one, and none before the first file.

    Its thread also starts them: Linux ends them with the thread that started them, so that thread has to stay.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._workers: list[ReaderProcess] = []
        self._idle: list[ReaderProcess] = []
        self._starting: SimpleQueue[SimpleQueue[ReaderProcess | Exception]] = SimpleQueue()
        self._watcher: Thread | None = None

    def read(self, loader: str, path: Path, fields: Fields, limits: Limits, most: int) -> Iterator[Document | Skipped]:
        """What a loader finds in a file. Raises as `ReaderProcess.read`."""
        worker = self._take()
        try:
            if not worker.ready:
                worker.wait_until_ready()
            yield from worker.read(loader, path, fields, limits, most)
        finally:
            self._give_back(worker)

    def pids(self) -> list[int]:
        """The processes that have not been ended."""
        with self._lock:
            return [worker.pid for worker in self._workers]

    def close(self) -> None:
        """End all processes. The next file starts a new one."""
        with self._lock:
            workers, self._workers, self._idle = self._workers, [], []
        for worker in workers:
            worker.kill()

    def abandon(self) -> None:
        """Let go of the processes in a fork of this process; they belong to the original."""
        for worker in self._workers:
            worker.abandon()

    def _take(self) -> ReaderProcess:
        """A process that no other thread uses."""
        with self._lock:
            idle = next((worker for worker in self._idle if worker.is_usable()), None)
            self._idle = [worker for worker in self._idle if worker is not idle]
            if self._watcher is None:
                self._watcher = Thread(target=self._watch, name="semsearch-readers", daemon=True)
                self._watcher.start()
        if idle is not None:
            return idle
        answer: SimpleQueue[ReaderProcess | Exception] = SimpleQueue()
        self._starting.put(answer)
        started = answer.get()
        if isinstance(started, Exception):
            raise Unreadable(f"no process could be started to read it: {started}") from started
        return started

    def _give_back(self, worker: ReaderProcess) -> None:
        if not worker.ready:
            worker.kill()
        with self._lock:
            if worker.ready:
                self._idle.append(worker)
            elif worker in self._workers:
                self._workers.remove(worker)

    def _watch(self) -> None:
        """Start the processes that are wanted, check all of them, and end those that have been idle for long."""
        while True:
            with suppress(Empty):
                self._start(self._starting.get(timeout=TICK if self._workers else None))
            with self._lock:
                workers = list(self._workers)
                old = [worker for worker in self._idle if time.monotonic() - worker.idle_since > IDLE_SECONDS]
                self._idle = [worker for worker in self._idle if worker not in old]
                self._workers = [worker for worker in self._workers if worker not in old]
            for worker in workers:
                worker.kill() if worker in old else worker.check()

    def _start(self, answer: SimpleQueue[ReaderProcess | Exception]) -> None:
        try:
            worker = ReaderProcess()
        except Exception as error:  # no memory, too many processes, a program that is no Python
            answer.put(error)
            return
        with self._lock:
            self._workers.append(worker)
        answer.put(worker)


_pool = Pool()


def read(loader: str, path: Path, fields: Fields, limits: Limits, most: int) -> Iterator[Document | Skipped]:
    """What a loader finds in a file, up to `most` bytes, read by another process. Raises as `ReaderProcess.read`."""
    return _pool.read(loader, path, fields, limits, most)


def pids() -> list[int]:
    """The reading processes that run now."""
    return _pool.pids()


def close() -> None:
    """End all reading processes. The next file starts a new one."""
    _pool.close()


def _begin_anew() -> None:
    """In a fork of this process, which has neither the thread nor the processes."""
    global _pool
    old, _pool = _pool, Pool()
    old.abandon()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
