"""A discrete-event model of the embedding job on Ray: `Job` is one job, `Assumptions` its parameters.

- A job is a number of parts of equal text. An actor takes one at a time; its seconds are lognormal with the measured
  mean and spread, and a share of the actors is slower throughout (stragglers).
- Parts are simulated in units, so that a job has at most EVENTS of them. A unit that is interrupted goes on elsewhere,
  without the parts that were in flight (two of each actor), which are embedded again.
- Nodes fail independently, exponentially distributed, with all their actors, and come back after a while: the machine,
  the actor and the encoder have to start again.
- An index on one machine is updated by the driver once everything is embedded, at the measured rate. With
  `worker_writes`, as into a store on a server, actors store their own results, and the driver only the markers.
- The driver fails, too, while the actors work. Then everything stops, and the shards that were not complete are
  embedded again: those that are being read, and those whose parts are with the actors.
Left out: networks, the scheduler of Ray beyond 1,000 nodes, and the store behind it.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, exp, log, sqrt

EVENTS = 400_000  # units of a job at most
IN_FLIGHT = 2  # parts of an actor that are lost with it
PARTS_PER_SHARD = 60  # 10,000 documents
READERS = 2  # shards that are read at a time


@dataclass(frozen=True)
class Assumptions:
    """The parameters; seconds, unless said otherwise. Those of the first group are measured."""

    part_seconds: float = 1.0  # of one actor
    passages_per_part: float = 170.0
    spread: float = 0.15  # of the seconds of parts: standard deviation over mean
    start_seconds: float = 20.0  # until the first part of a node that has started
    driver_passages_per_second: float = 20_000.0
    workers_per_node: int = 16
    node_mtbf_hours: float = 500.0
    node_away_seconds: float = 300.0
    driver_mtbf_hours: float = 2000.0
    driver_away_seconds: float = 600.0
    straggler_share: float = 0.02
    straggler_factor: float = 3.0
    worker_writes: bool = False

    def sentences(self) -> list[str]:
        """Each of them in words."""
        writes = "Actors write themselves." if self.worker_writes else "The driver writes, once everything is embedded."
        return [
            f"An actor takes {self.part_seconds:g} s (spread {self.spread:.0%}) for {self.passages_per_part:,.0f} "
            "passages.",
            f"A node has {self.workers_per_node} actors, begins after {self.start_seconds:g} s, fails every "
            f"{self.node_mtbf_hours:g} h and is away for {self.node_away_seconds:g} s.",
            f"{self.straggler_share:.0%} of the actors are {self.straggler_factor:g} times slower than the others.",
            f"The driver stores {self.driver_passages_per_second:,.0f} passages a second, fails every "
            f"{self.driver_mtbf_hours:g} h and is away for {self.driver_away_seconds:g} s. {writes}",
        ]


@dataclass(frozen=True)
class Outcome:
    """One simulated job. ideal_hours: without failures, stragglers and waiting."""

    passages: int
    nodes: int
    hours: float
    ideal_hours: float
    node_failures: int
    driver_failures: int
    again: float  # share of the passages that was embedded more than once
    driver_busy: float  # share of the time

    @property
    def efficiency(self) -> float:
        return self.ideal_hours / self.hours


class Job:
    """One job of `passages` on `nodes` machines. kills: when a node fails for certain, and which, beside chance."""

    def __init__(
        self, passages: int, nodes: int, how: Assumptions, seed: int, kills: Sequence[tuple[float, int]] = ()
    ) -> None:
        self.how, self.nodes, self.passages = how, nodes, passages
        self.random = random.Random(seed)
        parts = max(1, ceil(passages / how.passages_per_part))
        self.parts_per_unit = max(1, -(-parts // EVENTS))
        self.waiting: list[float] = [float(self.parts_per_unit)] * (-(-parts // self.parts_per_unit))
        self.total = len(self.waiting) * self.parts_per_unit
        self.events: list[tuple[float, int, str, int]] = []  # time, tie, kind, which
        self.ties = 0
        self.running: dict[int, tuple[float, float, float]] = {}  # actor: began, seconds, parts
        self.generation = [0] * (nodes * how.workers_per_node)  # of what an actor is at
        self.up = [False] * nodes
        self.starting = [0.0] * nodes  # when each of those that are not up will be
        self.slow = [
            how.straggler_factor if self.random.random() < how.straggler_share else 1.0 for _ in self.generation
        ]
        self.again = 0.0
        self.failures = self.driver_failures = 0
        self.stored = 0.0  # seconds of the driver's work
        self.left = float(self.total)
        for time, node in kills:
            self._at(time, "down", node)

    def run(self) -> Outcome:
        """Simulate until everything is stored."""
        how = self.how
        for node in range(self.nodes):
            self._start_at(how.start_seconds, node)
            self._at(self._failure(how.node_mtbf_hours), "fail", node)
        self._at(self._failure(how.driver_mtbf_hours), "driver", 0)
        now = 0.0
        while self.waiting or self.running:
            now, _, kind, which = heapq.heappop(self.events)
            getattr(self, f"_{kind}")(now, which)
        hours = (now + self.stored) / 3600
        ideal = self.total * how.part_seconds / (self.nodes * how.workers_per_node) / 3600
        return Outcome(
            self.passages,
            self.nodes,
            hours,
            ideal,
            self.failures,
            self.driver_failures,
            self.again / self.total,
            self.stored / 3600 / hours,
        )

    def _start_at(self, time: float, node: int) -> None:
        """A node starts then, or later where it was to start later anyway."""
        self.starting[node] = max(self.starting[node], time)
        self._at(self.starting[node], "start", node)

    def _start(self, now: float, node: int) -> None:
        if self.up[node] or now < self.starting[node]:
            return
        self.up[node] = True
        for actor in self._actors(node):
            self._take(now, actor)

    def _fail(self, now: float, node: int) -> None:
        self._down(now, node)
        self._at(now + self._failure(self.how.node_mtbf_hours), "fail", node)

    def _down(self, now: float, node: int) -> None:
        if self.up[node]:
            self.failures += 1
            self.up[node] = False
            self._put_back([self._interrupt(now, actor) for actor in self._actors(node)])
            self._start_at(now + self.how.node_away_seconds + self.how.start_seconds, node)

    def _driver(self, now: float, _: int) -> None:
        """The driver and all actors begin again; the parts of shards that are not complete are lost."""
        self.driver_failures += 1
        interrupted = [self._interrupt(now, actor) for actor in range(len(self.generation))]
        for node in range(self.nodes):
            self.up[node] = False
            self._start_at(now + self.how.driver_away_seconds + self.how.start_seconds, node)
        in_flight = IN_FLIGHT * len(self.generation)
        lost = min(float(READERS * PARTS_PER_SHARD + in_flight), self.total - self.left)
        self._put_back([*interrupted, lost])
        self.left += lost
        self.again += lost
        self._at(now + self.how.driver_away_seconds + self._failure(self.how.driver_mtbf_hours), "driver", 0)

    def _done(self, now: float, which: int) -> None:
        actor, generation = divmod(which, 2**32)
        if generation != self.generation[actor] % 2**32 or actor not in self.running:
            return
        _, _, parts = self.running.pop(actor)
        self.left -= parts
        cost = (
            0.0 if self.how.worker_writes else parts * self.how.passages_per_part / self.how.driver_passages_per_second
        )
        self.stored += cost
        self._take(now, actor)

    def _free(self, now: float, actor: int) -> None:
        if self._is_idle(actor):
            self._take(now, actor)

    def _is_idle(self, actor: int) -> bool:
        return self.up[actor // self.how.workers_per_node] and actor not in self.running

    def _take(self, now: float, actor: int) -> None:
        if not self.waiting:
            return
        parts = self.waiting.pop()
        seconds = parts * self.how.part_seconds * self.slow[actor] * self._noise(parts)
        self.running[actor] = (now, seconds, parts)
        self.generation[actor] += 1
        self._at(now + seconds, "done", actor * 2**32 + self.generation[actor] % 2**32)

    def _interrupt(self, now: float, actor: int) -> float:
        """The parts that an actor was at, without those that are stored."""
        if actor not in self.running:
            return 0.0
        began, seconds, parts = self.running.pop(actor)
        self.generation[actor] += 1
        ready = parts * (now - began) / seconds
        kept = max(0.0, ready - IN_FLIGHT)
        self.again += ready - kept
        self.left -= kept
        return parts - kept

    def _put_back(self, given: Sequence[float]) -> None:
        """Parts wait again, in units; actors that have nothing to do take them."""
        units = []
        for parts in given:
            whole, rest = divmod(parts, self.parts_per_unit)
            units += [float(self.parts_per_unit)] * int(whole) + [rest] * (rest > 0)
        self.waiting += units
        idle = (actor for actor in range(len(self.generation)) if self._is_idle(actor))
        for actor in islice(idle, len(units)):
            self._at(0.0 if not self.events else self.events[0][0], "free", actor)

    def _noise(self, parts: float) -> float:
        """The factor of a unit's time: lognormal with mean 1, narrower for more parts."""
        variance = log(1 + self.how.spread**2 / max(parts, 1.0))
        return exp(self.random.gauss(-variance / 2, sqrt(variance)))

    def _failure(self, hours: float) -> float:
        return self.random.expovariate(1 / (hours * 3600))

    def _actors(self, node: int) -> range:
        return range(node * self.how.workers_per_node, (node + 1) * self.how.workers_per_node)

    def _at(self, time: float, kind: str, which: int) -> None:
        self.ties += 1
        heapq.heappush(self.events, (time, self.ties, kind, which))
