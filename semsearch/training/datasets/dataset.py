"""Training examples: columns of texts beside each other, and a label for each row where there are labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from semsearch.errors import UsageError

ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class Examples:
    """`columns` by name, each with one text a row: anchor, and positive and negative where the data has pairs.

    `labels` are similarities (any range), or classes 0, 1, …; `source` says where they come from, `skipped` how many
    records could not be used and why.
    """

    columns: Mapping[str, Sequence[str]]
    labels: Sequence[float] | None = None
    source: str = ""
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = {name: len(texts) for name, texts in self.columns.items()}
        sizes |= {} if self.labels is None else {"labels": len(self.labels)}
        if ANCHOR not in sizes:
            raise UsageError(
                f"examples have columns {', '.join(sizes) or '(none)'}.", f"One has to be called {ANCHOR}."
            )
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise UsageError(f"examples have columns of different lengths: {told}.", "Each row needs a text in each.")

    def __len__(self) -> int:
        return len(self.columns[ANCHOR])

    def rows(self, at: Sequence[int]) -> Examples:
        """The examples at these places, in this order."""
        return Examples(
            {name: [texts[row] for row in at] for name, texts in self.columns.items()},
            None if self.labels is None else [self.labels[row] for row in at],
            self.source,
        )

    def split(self, held_out: int, seed: int) -> tuple[Examples, Examples]:
        """All but `held_out` rows, drawn by `seed`, and those. A text of the second is in no row of the first."""
        order = np.random.default_rng([seed, len(self)]).permutation(len(self)).tolist()
        kept = self.rows(order[:held_out])
        seen = {text for texts in kept.columns.values() for text in texts}
        rest = [at for at in sorted(order[held_out:]) if not any(texts[at] in seen for texts in self.columns.values())]
        return self.rows(rest), kept
