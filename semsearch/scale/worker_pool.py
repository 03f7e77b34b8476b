"""The actors of a job, and the parts that they are given.

Ray starts an actor where there is room for it, also on a machine that comes later; it gets parts once it has begun.
Where one is lost, another one is asked for, and its parts are given to those that are there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from semsearch.errors import SemsearchError
from semsearch.scale.cluster import Ray
from semsearch.scale.parts import PART_BYTES, Answer, Part
from semsearch.utils.untrusted import one_line

IN_FLIGHT = 2  # parts of an actor: one is worked on while the next arrives
PATIENCE_S = 300.0  # without a result, for each PART_BYTES of the largest part that is worked on
MOST_ENDED = 10  # actors that end before they have begun, without one that does
AGAIN = "What is embedded stays: run the same command again."


class Worker:
    """An actor, and what it was asked, in the order in which it answers: to begin, which is no part, and then parts."""

    def __init__(self, actor: Ray, begun: Ray) -> None:
        self.actor = actor
        self.asked: deque[tuple[Ray, Part | None]] = deque([(begun, None)])

    def take(self, part: Part) -> None:
        """Ask for the answer to a part."""
        self.asked.append((self.actor.embed.remote(part), part))

    def has_room(self, parts: int) -> bool:
        """Whether it has begun, and has fewer parts than that."""
        return len(self.asked) < parts and not (self.asked and self.asked[0][1] is None)


class WorkerPool:
    """So many actors, each of which `start` starts."""

    def __init__(self, ray: Ray, start: Callable[[], Worker], number: int) -> None:
        self._ray, self._start = ray, start
        self._workers = [start() for _ in range(number)]
        self._ended = 0  # before they had begun, one after the other

    def close(self) -> None:
        """End the actors."""
        for worker in self._workers:
            with suppress(Exception):  # the cluster may be gone
                self._ray.kill(worker.actor)

    def answers(self, parts: Iterator[Part]) -> Iterator[Answer]:
        """The answers to all parts, as they arrive. Raises SemsearchError, also where none arrives any more."""
        left = deque[Part]()
        while True:
            for most in range(1, IN_FLIGHT + 1):
                for worker in self._workers:
                    left.extend(islice(parts, 0 if left else 1))
                    if left and worker.has_room(most):
                        worker.take(left.popleft())
            if not left and not self._given():
                return
            for worker in self._next():
                answer, part = self._answer(worker, left)
                if part is not None and answer is not None:
                    yield answer

    def _given(self) -> list[Part]:
        return [part for worker in self._workers for _, part in worker.asked if part is not None]

    def _next(self) -> list[Worker]:
        """The actors that have answered what they were asked first. Raises SemsearchError where none does."""
        waiting = {worker.asked[0][0]: worker for worker in self._workers if worker.asked}
        patience = PATIENCE_S * max(1.0, *(part.letters / PART_BYTES for part in self._given()), 0.0)
        done, _ = self._ray.wait(list(waiting), timeout=patience)
        if not done:
            reason = f"the job stands still: no result for {patience:g} s."
            raise SemsearchError(reason, f"See `ray status`. {AGAIN}")
        return [waiting[one] for one in done]

    def _answer(self, worker: Worker, left: deque[Part]) -> tuple[Answer | None, Part | None]:
        """The next answer of an actor, with its part; `left` gets the parts of one that is lost."""
        asked, part = worker.asked[0]
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(asked)
        except (errors.RayActorError, errors.ObjectLostError) as error:
            self._replace(worker, left, error)
            return None, None
        except errors.RayError as error:
            raise _failure(error) from error
        worker.asked.popleft()
        if part is None and answer:
            raise SemsearchError(f"a worker cannot begin: {answer}", AGAIN)
        self._ended = 0
        return answer, part

    def _replace(self, worker: Worker, left: deque[Part], error: Exception) -> None:
        """Ask for another actor in place of one that is lost. What it was at may be why, the parts after it are not."""
        (_, first), *others = worker.asked
        left.extendleft(part for _, part in others if part is not None)
        if first is not None:
            left.extend(first.after_loss())
        self._ended += first is None
        if self._ended > MOST_ENDED:
            raise _failure(error) from error
        with suppress(Exception):  # it has ended, as a rule
            self._ray.kill(worker.actor)
        self._workers[self._workers.index(worker)] = self._start()


def _failure(error: BaseException) -> SemsearchError:
    """What the job ended with, as an error of our own where it is one."""
    cause = getattr(error, "cause", None)  # that of a task, which Ray wraps
    if isinstance(cause, SemsearchError):
        return cause
    lines = [line for line in str(error).splitlines() if line.strip()]
    return SemsearchError(f"the job failed on Ray: {one_line(lines[-1] if lines else repr(error))}", AGAIN)
