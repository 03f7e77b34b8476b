"""Counts of the records that were skipped: why, how many, and where the first one is."""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.errors import UsageError


@dataclass(slots=True)
class SkipCounts:
    """Reasons in words, each with its count and the place of its first record."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, place: str = "") -> None:
        self.counts[reason] = self.counts.get(reason, 0) + 1
        if place:
            self.places.setdefault(reason, place)

    def as_dict(self) -> dict[str, int]:
        """As `Dataset.skipped`: each reason with its first place, and the count."""
        return {self._with_place(reason): count for reason, count in self.counts.items()}

    def nothing_left(self, source: str) -> UsageError:
        """The error where no usable example is left."""
        why = "; ".join(f"{count:,} × {reason}" for reason, count in self.as_dict().items())
        return UsageError(
            f"{source} has no usable example{f': {why}' if why else ''}.", "Check the file, or --columns."
        )

    def _with_place(self, reason: str) -> str:
        return f"{reason} (first: {self.places[reason]})" if reason in self.places else reason
