"""What is said about a shard: that it is complete, and what came of it; and before that, what of it is there."""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.scale.parts import Done, Failed
from semsearch.types import JsonObject, Skipped


@dataclass(frozen=True, slots=True)
class Marker:
    """What is said about a complete shard. `bytes` is 0 for one that has no file: workers have written it elsewhere."""

    documents: int
    passages: int
    bytes: int
    sha256: str
    failed: tuple[Failed, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    cut_passages: int = 0
    cut_tokens: int = 0

    @classmethod
    def from_json(cls, recorded: JsonObject) -> Marker:
        """The inverse of `asdict`, after a way through JSON."""
        failed = tuple(Failed(one["document"], one["reason"], tuple(one["keys"])) for one in recorded["failed"])
        return cls(**{**recorded, "failed": failed, "skipped": tuple(Skipped(**one) for one in recorded["skipped"])})


@dataclass
class Begun:
    """A shard of which some parts are there."""

    last: int | None = None
    documents: int = 0
    passages: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0
    numbers: set[int] = field(default_factory=set)
    failed: list[Failed] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return self.last is not None and len(self.numbers) == self.last + 1

    def add(self, done: Done) -> None:
        """Count the answer to a part."""
        self.numbers.add(done.number)
        self.last = done.number if done.last else self.last
        self.documents += done.documents
        self.passages += done.passages
        self.cut_passages += done.cut_passages
        self.cut_tokens += done.cut_tokens
        self.failed += done.failed
        self.skipped += done.skipped

    def marker(self, size: int, sha256: str) -> Marker:
        """The marker of the shard, whose file has so many bytes and that checksum."""
        return Marker(
            self.documents,
            self.passages,
            size,
            sha256,
            tuple(self.failed),
            tuple(self.skipped),
            self.cut_passages,
            self.cut_tokens,
        )
