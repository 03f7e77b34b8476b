"""The tally of one run of `index`: the one place that counts what became of each document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from semsearch.types import Skipped

# moved: its file has another name; adopted: another file has the document now. Both have kept their text.
Decision: TypeAlias = Literal["new", "same", "changed", "moved", "adopted", "deleted"]


@dataclass(slots=True)
class Tally:
    """How many documents were added, changed …, and what was skipped, with reasons."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    moved: int = 0
    deleted: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def count(self, outcome: Decision | Skipped, documents: int = 1) -> None:
        """Add what became of a document, or of several."""
        match outcome:
            case Skipped():
                self.skipped.append(outcome)
            case "new":
                self.added += documents
            case "changed":
                self.changed += documents
            case "same":
                self.unchanged += documents
            case "moved" | "adopted":
                self.moved += documents
            case "deleted":
                self.deleted += documents
