"""What the routes share: open indexes, encoders, a reranker, and the threads that work for them."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, TypeVar
from weakref import WeakValueDictionary

from fastapi import Depends, Request
from starlette.requests import ClientDisconnect

from semsearch.encoders.device import cores
from semsearch.encoders.encoder import Encoder
from semsearch.encoders.encoder_pool import EncoderPool
from semsearch.encoders.rerankers.reranker import Reranker
from semsearch.errors import NotFound, SemsearchError, UnknownName
from semsearch.index import Index, admin
from semsearch.search.query_check import check, texts_to_encode
from semsearch.serve.access import Caller
from semsearch.serve.batching import BatchedEncoder, Closed, Encoded, batched
from semsearch.serve.metrics import Metrics
from semsearch.serve.opened import OpenIndexes
from semsearch.serve.options import ServeOptions
from semsearch.serve.problems import Refused
from semsearch.types import Query, Role

T = TypeVar("T")
LESS = "Ask for less at once."
READERS, WRITERS = 8, 4  # threads: a search never waits for a write
WRITING = "semsearch.indexing.writer", "semsearch.stores.local.writer", "filelock"  # no first write waits for them
SOON = 0.25  # seconds: only for what takes longer, it is watched whether its client goes away
SEARCHERS = max(2, cores())  # more would only take the interpreter from each other


class Service:
    """The parts of one server."""

    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self.metrics = Metrics()
        self.stopping = threading.Event()  # writes that nobody waits for end then, at the next texts to encode
        self._pool = EncoderPool(lambda model: batched(model, self.metrics.encoded))
        self.indexes = OpenIndexes(Path(options.home), options.most_open, self._pool, self.stopping)
        self.reranker = None if options.reranker is None else Reranker.from_settings(options.reranker)
        self._encoders: dict[str, BatchedEncoder] = {}
        self._readers = ThreadPoolExecutor(READERS, "reading")
        self._searchers = ThreadPoolExecutor(SEARCHERS, "searching")
        self._writers = ThreadPoolExecutor(WRITERS, "writing")
        self._used: WeakValueDictionary[str, BatchedEncoder] = WeakValueDictionary()  # by index, of its last search
        self.ready = False
        self.failure: SemsearchError | None = None
        self.give_up: Callable[[], None] = lambda: None  # called where the start fails
        self.started = int(time.time())

    def begin(self) -> Future[None]:
        """Load the encoders that are served, in another thread: meanwhile the server says that it is starting."""
        begun = self._readers.submit(self.start)
        begun.add_done_callback(self._begun)
        return begun

    def start(self) -> None:
        """Load the encoders that are served. Raises NotFound, UsageError, DeviceUnavailable."""
        for name in self.options.models:
            self._encoders[name] = self._loaded(name)
        for module in WRITING:
            import_module(module)
        gc.freeze()  # what is loaded stays: to look through it for garbage keeps every request waiting
        gc.collect()  # garbage is collected when there is a quarter more than what is left here, which is nothing
        self.ready = True

    def _begun(self, start: Future[None]) -> None:
        error = start.exception()
        if error is not None:
            unexpected = SemsearchError(f"unexpected {type(error).__name__}: {error}.")
            self.failure = error if isinstance(error, SemsearchError) else unexpected
            self.give_up()

    def _loaded(self, name: str) -> BatchedEncoder:
        """An encoder, which indexes share; without their cache of embeddings, which rounds vectors."""
        loaded = Encoder.from_settings(name)
        shared = self._pool.borrow(loaded.fingerprint, lambda: loaded)
        assert isinstance(shared, BatchedEncoder)
        if shared.model is not loaded:
            loaded.close()
        return BatchedEncoder(loaded, shared.batcher, ("query", "passage"))

    def stop(self) -> None:
        """Let the calls that have begun finish, then close what is open.

        All that somebody waited for has been answered by now, so a write ends where it would encode more.
        """
        self.ready = False
        self.stopping.set()
        for pool in (self._writers, self._searchers, self._readers):
            pool.shutdown(wait=True, cancel_futures=False)
        self.indexes.close()
        for encoder in self._encoders.values():
            self._pool.give_back(encoder.fingerprint)

    def encoder(self, name: str | None) -> BatchedEncoder:
        """The encoder that is served as `name`, the first one without a name.

        Its texts are encoded together with those of other requests. Raises NotFound; Refused, 503, during the start.
        """
        chosen = self.options.models[0] if name is None else name
        self.check_model(chosen)
        if chosen not in self._encoders:
            raise starting()
        return self._encoders[chosen]

    def check_model(self, name: str) -> None:
        """Raises NotFound for an encoder that is not served: clients load no models."""
        if name not in self.options.models:
            raise not_served("model", name, self.options.models)

    def reranker_called(self, name: str) -> Reranker:
        """The reranker of the server: "default", or by its name. Raises NotFound: clients load no models."""
        names = (
            [] if self.reranker is None else ["default", *dict.fromkeys([self.reranker.name, self.reranker.reference])]
        )
        if self.reranker is None or name not in names:
            raise not_served("reranker", name, names)
        return self.reranker

    def page_of_metrics(self, caller: Caller) -> bytes:
        """What Prometheus reads, with the indexes that the caller may know of."""
        indexes = [(name, admin.folder(name, self.indexes.home)) for name in self.indexes.names() if caller.sees(name)]
        return self.metrics.page(len(self.indexes), len(self._pool), indexes)

    async def encode(self, request: Request, encoder: BatchedEncoder, texts: Sequence[str], role: Role) -> Encoded:
        """Vectors of texts, which are encoded together with those of other requests. Raises Refused, 504."""
        work = asyncio.wrap_future(encoder.batcher.submit(texts, role))
        return await self._within(work, LESS, request)

    async def search(
        self, name: str, queries: Sequence[Query], call: Callable[[Index, Callable[[], bool]], T], request: Request
    ) -> T:
        """The result of a call that searches an index, in another thread. Raises Refused, 504; NotFound.

        The call has what tells whether somebody still waits for its result. The text of a single query is encoded
        before, by the encoder of the last search: no thread waits for it.
        """
        for query in queries:
            check(query)
        texts = [text for text, _ in texts_to_encode(queries[0])] if len(queries) == 1 else []
        encoder, encoded = self._used.get(name), None
        given_up = threading.Event()

        def wanted() -> bool:
            return not given_up.is_set()

        if encoder is not None and len(texts) == 1:
            with suppress(Closed):
                encoded = await self.encode(request, encoder, texts, "query")

        def searched() -> T:
            with self.indexes.reading(name) as index:
                if encoder is not None and encoded is not None:
                    with encoder.knowing(texts[0], encoded):
                        return call(index, wanted)
                answer = call(index, wanted)
                if texts and isinstance(now := index.encoder, BatchedEncoder):
                    self._used[name] = now
                return answer

        try:
            return await self._in_time(self._searchers, searched, LESS, request)
        finally:
            given_up.set()

    async def read(self, call: Callable[[], T], request: Request | None = None) -> T:
        """The result of a call that changes nothing, in another thread. Raises Refused, 504.

        It is not begun any more once the client of the request has gone away.
        """
        return await self._in_time(self._readers, call, LESS, request)

    async def write(self, call: Callable[[], T], request: Request | None = None) -> T:
        """The result of a call that writes, in another thread. Raises Refused, 504: it goes on then.

        So it does once the client of the request has gone away, until the server stops.
        """
        fix = "It goes on: look later whether the documents are there."
        return await self._in_time(self._writers, call, fix, request, goes_on=True)

    async def _in_time(
        self,
        pool: ThreadPoolExecutor,
        call: Callable[[], T],
        fix: str,
        request: Request | None = None,
        *,
        goes_on: bool = False,
    ) -> T:
        return await self._within(asyncio.ensure_future(beside(pool, call)), fix, request, goes_on=goes_on)

    async def _within(
        self, work: asyncio.Future[T], fix: str, request: Request | None = None, *, goes_on: bool = False
    ) -> T:
        """The result of `work` in time.

        With its request it is not waited for once the client has gone away. It leaves the queue then, unless it goes
        on.
        """
        soon = min(SOON, self.options.seconds)
        await asyncio.wait([work], timeout=soon)
        leaving = [] if request is None or work.done() else [asyncio.ensure_future(_gone(request))]
        first: list[asyncio.Future[T] | asyncio.Future[None]] = [work, *leaving]
        try:
            if not work.done():
                left = self.options.seconds - soon
                await asyncio.wait(first, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in leaving:
                each.cancel()
        if work.done():
            return work.result()
        # a late error is taken note of, as it would be logged as never retrieved
        work.add_done_callback(lambda late: late.cancelled() or late.exception())
        if request is not None and not goes_on:
            work.cancel()
        if any(each.done() and not each.cancelled() for each in leaving):
            raise ClientDisconnect
        raise Refused(504, f"the answer took longer than {self.options.seconds} seconds.", fix)

    def check_batch(self, items: Sequence[object], what: str) -> None:
        """Raises Refused, 413, for more items than one request may have."""
        most = self.options.max_batch
        if len(items) > most:
            raise Refused(413, f"there are {len(items):,} {what}; {most:,} is the most.", "Send several requests.")


async def beside(pool: ThreadPoolExecutor | None, call: Callable[[], T]) -> T:
    """The result of a call in another thread, of `pool` or of the event loop's own.

    It is not that of a future of theirs: asyncio ties those into a cycle, which would keep a large result in memory
    until the next collection of garbage.
    """
    result: list[T] = []
    await asyncio.get_running_loop().run_in_executor(pool, lambda: result.append(call()))
    return result.pop()


def not_served(kind: str, name: str, names: Sequence[str]) -> NotFound:
    """The error for a model that is not one of the server's, which it names."""
    unknown = UnknownName(f"{kind} of this server", name, names)
    return NotFound(unknown.message, unknown.fix)


async def _gone(request: Request) -> None:
    """Wait until the client of a request whose body was read has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def starting() -> Refused:
    """The refusal of a server that has not loaded its encoders yet, or stops."""
    return Refused(503, "the server is starting or stopping.", "Ask again.")


async def _service(request: Request) -> Service:  # async, as FastAPI would run it in another thread otherwise
    running: Service = request.app.state.service
    return running


async def _caller(request: Request) -> Caller:
    caller: Caller = request.scope["caller"]
    return caller


ServiceDep = Annotated[Service, Depends(_service)]
CallerDep = Annotated[Caller, Depends(_caller)]
