"""What a job came to, added up from the answers to its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from semsearch.scale.parts import Done, Failed
from semsearch.utils.quantities import count


class Worked(Protocol):
    """The work of a pool of actors. seconds: from its beginning to its end; worker_seconds: of all actors together."""

    seconds: float
    worker_seconds: float
    cores: float
    gpus: float
    workers: set[str]


@dataclass
class JobReport:
    """What a job came to. `before`: shards that were done. changed: of the documents, those that workers replaced.

    worker_seconds: the time that actors spent on parts; squares: the sum of the squares of these times; first_seconds:
    until the first answer; seconds: until the last.
    """

    shards: int = 0
    before: int = 0
    documents: int = 0
    changed: int = 0
    passages: int = 0
    embedded: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0
    parts: int = 0
    seconds: float = 0.0
    first_seconds: float = 0.0
    worker_seconds: float = 0.0
    squares: float = 0.0
    cores: float = 1.0
    gpus: float = 0.0
    written: bool = False  # by the workers, into a store
    failed: list[Failed] = field(default_factory=list)
    workers: set[str] = field(default_factory=set)

    def add(self, done: Done) -> None:
        """Count the answer to a part."""
        self.documents += done.documents
        self.changed += done.changed
        self.passages += done.passages
        self.embedded += done.embedded
        self.cut_passages += done.cut_passages
        self.cut_tokens += done.cut_tokens
        self.parts += 1
        self.worker_seconds += done.seconds
        self.squares += done.seconds**2
        self.failed += done.failed
        self.workers.add(done.worker)

    def summary(self) -> str:
        """Throughput and cost in a line."""
        if not self.workers:
            return f"nothing to embed: {count(self.shards, 'shard')} of {self.shards:,} were complete."
        rate = self.passages / max(self.seconds, 1e-9)
        done = f"{self.before:,} of {count(self.shards, 'shard')} were complete; " if self.before else ""
        return (
            f"{done}{count(self.documents, 'document')} in {count(self.passages, 'passage')} embedded by "
            f"{count(len(self.workers), 'worker')} in {self.seconds:.1f} s: {rate:,.0f} passages/s, {cost(self)}"
        )


def cost(report: Worked) -> str:
    """What was paid for, and how much of that time workers were at work, as the end of a sentence."""
    hours = report.worker_seconds / 3600
    paid = f"{hours * report.gpus:.3g} GPU-hours" if report.gpus else f"{hours * report.cores:.3g} core-hours"
    busy = report.worker_seconds / max(report.seconds * len(report.workers), 1e-9)
    return f"{paid}, workers busy {min(busy, 1):.0%} of the time."
