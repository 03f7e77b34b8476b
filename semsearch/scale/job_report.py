"""What a job came to, added up from the answers to its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.scale.parts import Answer
from semsearch.utils.quantities import count


@dataclass
class JobReport:
    """What a job came to. `before`: documents that had arrived already.

    worker_seconds: the time that actors spent on parts; seconds: from the beginning until the last answer; cores, gpus:
    of an actor.
    """

    before: int = 0
    documents: int = 0
    passages: int = 0
    embedded: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0
    seconds: float = 0.0
    worker_seconds: float = 0.0
    cores: float = 1.0
    gpus: float = 0.0
    workers: set[str] = field(default_factory=set)

    def add(self, answer: Answer) -> None:
        """Count the answer to a part."""
        self.documents += answer.documents
        self.passages += answer.passages
        self.embedded += answer.embedded
        self.cut_passages += answer.cut_passages
        self.cut_tokens += answer.cut_tokens
        self.worker_seconds += answer.seconds
        self.workers.add(answer.worker)

    def summary(self) -> str:
        """Throughput and cost in a line."""
        before = f"{count(self.before, 'document')} had been embedded before; " if self.before else ""
        if not self.documents:
            return f"{before}nothing to embed."
        rate = self.passages / max(self.seconds, 1e-9)
        hours = self.worker_seconds / 3600
        paid = f"{hours * self.gpus:.3g} GPU-hours" if self.gpus else f"{hours * self.cores:.3g} core-hours"
        busy = self.worker_seconds / max(self.seconds * len(self.workers), 1e-9)
        return (
            f"{before}{count(self.documents, 'document')} in {count(self.passages, 'passage')} embedded by "
            f"{count(len(self.workers), 'worker')} in {self.seconds:.1f} s: {rate:,.0f} passages/s, {paid}, "
            f"workers busy {min(busy, 1):.0%} of the time."
        )
