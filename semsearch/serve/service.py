"""What the routes share: open indexes, encoders, a reranker, and the threads that work for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from semsearch import settings
from semsearch.encoders.encoder import Encoder
from semsearch.encoders.rerankers.reranker import Reranker
from semsearch.errors import UnknownName
from semsearch.serve.access import Caller
from semsearch.serve.opened import OpenIndexes
from semsearch.serve.options import ServeOptions
from semsearch.serve.problems import Refused

T = TypeVar("T")
READERS, WRITERS = 8, 4  # threads: a search never waits for a write


class Service:
    """The parts of one server."""

    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self.indexes = OpenIndexes(Path(options.home), options.most_open)
        self.reranker = None if options.reranker is None else Reranker.from_settings(options.reranker)
        self._encoders: dict[str, Encoder] = {}
        self._loading = threading.Lock()
        self._readers = ThreadPoolExecutor(READERS, "reading")
        self._writers = ThreadPoolExecutor(WRITERS, "writing")
        self.ready = False
        self.started = int(time.time())

    def start(self) -> None:
        """Load the encoders that are served. Raises NotFound, UsageError, DeviceUnavailable."""
        for name in self.options.models:
            self.encoder(name)
        self.ready = True

    def stop(self) -> None:
        """Let every call that has begun finish, then close what is open."""
        self.ready = False
        for pool in (self._writers, self._readers):
            pool.shutdown(wait=True, cancel_futures=False)
        self.indexes.close()
        for encoder in self._encoders.values():
            encoder.close()

    def encoder(self, name: str | None) -> Encoder:
        """The encoder that is served as `name`, the first one without a name. Raises UnknownName."""
        chosen = self.options.models[0] if name is None else name
        self.check_model(chosen)
        with self._loading:
            if chosen not in self._encoders:
                now = settings.load()  # without the cache of embeddings, which rounds vectors
                self._encoders[chosen] = Encoder.load(chosen, device=now.device, threads=now.threads)
            return self._encoders[chosen]

    def check_model(self, name: str) -> None:
        """Raises UnknownName for an encoder that is not served: clients load no models."""
        if name not in self.options.models:
            raise UnknownName("model of this server", name, self.options.models)

    def reranker_called(self, name: str) -> Reranker:
        """The reranker of the server: "default", or by its name. Raises UnknownName: clients load no models."""
        known = (
            [] if self.reranker is None else ["default", *dict.fromkeys([self.reranker.name, self.reranker.reference])]
        )
        if self.reranker is None or name not in known:
            raise UnknownName("reranker of this server", name, known)
        return self.reranker

    async def read(self, call: Callable[[], T]) -> T:
        """The result of a call that changes nothing, in another thread. Raises Refused, 504."""
        return await self._within(self._readers, call, "Ask for less at once.")

    async def write(self, call: Callable[[], T]) -> T:
        """The result of a call that writes, in another thread. Raises Refused, 504: it goes on then."""
        return await self._within(self._writers, call, "It goes on: look later whether the documents are there.")

    async def _within(self, pool: ThreadPoolExecutor, call: Callable[[], T], fix: str) -> T:
        work = asyncio.get_running_loop().run_in_executor(pool, call)
        done, _ = await asyncio.wait({work}, timeout=self.options.seconds)
        if not done:
            # a late error is taken note of, as it would be logged as never retrieved
            work.add_done_callback(lambda late: late.cancelled() or late.exception())
            raise Refused(504, f"the answer took longer than {self.options.seconds} seconds.", fix)
        return work.result()

    def check_batch(self, items: Sequence[object], what: str) -> None:
        """Raises Refused, 413, for more items than one request may have."""
        most = self.options.max_batch
        if len(items) > most:
            raise Refused(413, f"there are {len(items):,} {what}; {most:,} is the most.", "Send several requests.")


def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def _caller(request: Request) -> Caller:
    found: Caller = request.scope["caller"]
    return found


ServiceDep = Annotated[Service, Depends(_service)]
CallerDep = Annotated[Caller, Depends(_caller)]
