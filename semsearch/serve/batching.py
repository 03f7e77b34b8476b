"""Concurrent requests are encoded together: what comes while one batch is encoded is the next one.

A text never waits for others to come: the batch begins as soon as the encoder is free. So a lone request waits for
nothing, and under load batches form by themselves. Each request in turn gets an equal part of a batch, so a short one
is not held up by a long one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders.base import BYTES_PER_TOKEN, BaseEncoder, WrappedEncoder
from semsearch.encoders.encoder import Encoder
from semsearch.errors import SemsearchError
from semsearch.types import Role, TruncationStats

if TYPE_CHECKING:
    from semsearch.types import Vectors

CPU_TOKENS = 1024  # of a batch, estimated: some tens of milliseconds, for which a short request waits at most
GPU_TOKENS = 32_768
Observe = Callable[[str, int, int], None]  # encoder, texts and tokens of a batch


class Closed(RuntimeError):
    """Texts for an encoder that is not used any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The vectors (n, d) of n texts, the tokens of each, and how many in all were left out as too long."""

    vectors: Vectors
    tokens: list[int]
    truncated: int


@dataclass(slots=True, eq=False)
class _Job:
    """The texts of one request; those before `at` are encoded."""

    texts: Sequence[str]
    role: Role
    costs: list[int]  # tokens, estimated
    done: Future[Encoded] = field(default_factory=Future)
    at: int = 0
    vectors: list[Vectors] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    truncated: int = 0

    def next(self, budget: int) -> slice:
        """The texts after `at` that have `budget` tokens together, one at least."""
        end, cost = self.at + 1, self.costs[self.at]
        while end < len(self.texts) and cost + self.costs[end] <= budget:
            cost += self.costs[end]
            end += 1
        return slice(self.at, end)


class Batcher:
    """Encodes the texts of many requests in one thread of its own. Threads may share it."""

    def __init__(self, encoder: BaseEncoder, observe: Observe) -> None:
        self._encoder, self._observe = encoder, observe
        backend = encoder.backend
        self._longest = backend.max_tokens if backend else 1 << 20
        self._budget = CPU_TOKENS if backend is None or backend.device == "cpu" else GPU_TOKENS
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        threading.Thread(target=self._work, name="encoding", daemon=True).start()

    def submit(self, texts: Sequence[str], role: Role) -> Future[Encoded]:
        """Have texts encoded. To cancel the result takes what is not yet encoded out of the queue."""
        most = self._longest
        costs = [min(most, 2 + len(text) // BYTES_PER_TOKEN) for text in texts]
        job = _Job(texts, role, costs)
        if not texts:
            job.done.set_result(Encoded(self._encoder.encode([], role=role), [], 0))
            return job.done
        with self._changed:
            if self._closed:
                raise Closed(self._encoder.name)
            self._waiting.append(job)
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """End the thread, once it has encoded what waits."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                batch = self._taken()
            if batch:
                self._encode(batch)

    def _taken(self) -> list[tuple[_Job, slice]]:
        """The next batch: of each waiting request with the role of the first one an equal part of the tokens."""
        jobs = [job for job in self._waiting if not job.done.cancelled()]
        alike = [job for job in jobs if job.role == jobs[0].role]
        left, batch = self._budget, []
        for number, job in enumerate(alike):
            if left <= 0:
                break
            part = job.next(left // (len(alike) - number))
            left -= sum(job.costs[part])
            batch.append((job, part))
        ends = {id(job): part.stop for job, part in batch}
        unfinished = [job for job, part in batch if part.stop < len(job.texts)]
        self._waiting = deque([*(job for job in jobs if id(job) not in ends), *unfinished])
        return batch

    def _encode(self, batch: Sequence[tuple[_Job, slice]]) -> None:
        texts = [text for job, part in batch for text in job.texts[part]]
        before = self._encoder.truncation.tokens
        try:
            vectors = self._encoder.encode(texts, role=batch[0][0].role)
            tokens = list(self._encoder.count_tokens(texts))
        except BaseException as error:
            self._failed(batch, error)
            return
        self._observe(self._encoder.name, len(texts), sum(tokens))
        truncated = self._truncated(tokens) if self._encoder.truncation.tokens > before else [0] * len(tokens)
        start = 0
        for job, part in batch:
            end = start + part.stop - part.start
            job.at = part.stop
            job.vectors.append(vectors[start:end])
            job.tokens += tokens[start:end]
            job.truncated += sum(truncated[start:end])
            start = end
            if job.at == len(job.texts) and job.done.set_running_or_notify_cancel():
                job.done.set_result(Encoded(np.concatenate(job.vectors), job.tokens, job.truncated))

    def _failed(self, batch: Sequence[tuple[_Job, slice]], error: BaseException) -> None:
        """Each request by itself, so that only the one whose text the encoder cannot read fails."""
        if len(batch) > 1:
            for one in batch:
                self._encode([one])
            return
        ((job, _),) = batch
        with self._changed:
            self._waiting = deque(each for each in self._waiting if each is not job)
        if job.done.set_running_or_notify_cancel():
            job.done.set_exception(error)

    def _truncated(self, tokens: Sequence[int]) -> list[int]:
        """About how many tokens of each text were left out; the encoder counts them for all texts together."""
        prompts = self._encoder.backend.prompts.values() if self._encoder.backend else ()
        around = min((sum(self._encoder.count_tokens([one.before, one.after])) for one in prompts), default=0)
        return [max(0, count + around - self._longest) for count in tokens]


class StoppableEncoder(WrappedEncoder):
    """An encoder that encodes and counts nothing any more, with an error, once `stopping` is set."""

    def __init__(self, model: BaseEncoder, stopping: threading.Event) -> None:
        self.name, self.fingerprint, self.dim = model.name, model.fingerprint, model.dim
        self._model, self._stopping = model, stopping

    @property
    def model(self) -> BaseEncoder:
        return self._model

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        self._go_on()
        return self.model.encode(texts, role=role)

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        self._go_on()
        return super().count_tokens(texts)

    def _go_on(self) -> None:
        if self._stopping.is_set():
            raise SemsearchError("the server is stopping.", "Send it again.")


class BatchedEncoder(WrappedEncoder):
    """An encoder whose texts of some `roles` are encoded together with those of other requests.

    The passages of a write are not: a search would wait for them. `truncation` is that of the calling thread.
    """

    def __init__(self, model: BaseEncoder, batcher: Batcher, roles: Sequence[Role]) -> None:
        self.name, self.fingerprint, self.dim = model.name, model.fingerprint, model.dim
        self.batcher = batcher
        self._model, self._roles = model, roles
        self._local = threading.local()

    @property
    def model(self) -> BaseEncoder:
        return self._model

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        if role not in self._roles:
            return self.model.encode(texts, role=role)
        known = self._known(texts) if role == "query" else None
        encoded = self.batcher.submit(texts, role).result() if known is None else known
        before = self.truncation
        self._local.stats = TruncationStats(
            before.passages + bool(encoded.truncated), before.tokens + encoded.truncated
        )
        return encoded.vectors

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        known = self._known(texts)
        return super().count_tokens(texts) if known is None else known.tokens

    def _known(self, texts: Sequence[str]) -> Encoded | None:
        prepared: dict[str, Encoded] = getattr(self._local, "prepared", {})
        return prepared.get(texts[0]) if len(texts) == 1 else None

    @contextmanager
    def knowing(self, text: str, encoded: Encoded) -> Iterator[None]:
        """What this thread encodes inside as a query is not encoded again if it is this text."""
        self._local.prepared = {text: encoded}
        try:
            yield
        finally:
            self._local.prepared = {}

    def close(self) -> None:
        """Close the encoder and end the thread of its batches."""
        self.batcher.close()
        self.model.close()

    @property
    def truncation(self) -> TruncationStats:
        stats: TruncationStats = getattr(self._local, "stats", TruncationStats())
        return stats


def batched(model: BaseEncoder, observe: Observe) -> BatchedEncoder:
    """What is shared of an encoder. Its batches leave out the cache of embeddings, which rounds vectors."""
    plain = model if model.backend is None else Encoder(model.backend, reference=model.reference)
    return BatchedEncoder(model, Batcher(plain, observe), ("query",))
