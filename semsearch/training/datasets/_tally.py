"""What could not be used, why, and where it was first met."""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.errors import UsageError


@dataclass(slots=True)
class Tally:
    """Reasons in words for a person, each with how often it held and its first place."""

    reasons: dict[str, list[int]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def skip(self, reason: str, place: str = "", count: int = 1) -> None:
        self.reasons.setdefault(reason, [0])[0] += count
        if place:
            self.places.setdefault(reason, place)

    @property
    def told(self) -> dict[str, int]:
        """As `Examples.skipped`: each reason with its first place, and the count."""
        return {self._named(reason): count for reason, (count,) in self.reasons.items()}

    def nothing(self, source: str) -> UsageError:
        """The error where nothing is left."""
        why = "; ".join(f"{count:,} × {reason}" for reason, count in self.told.items())
        return UsageError(
            f"{source} has no usable example{f': {why}' if why else ''}.", "Check the file, or --columns."
        )

    def _named(self, reason: str) -> str:
        return f"{reason} (first: {self.places[reason]})" if reason in self.places else reason
