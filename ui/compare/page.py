"""Compare: how similar sentences are, for one or several encoders side by side."""

from __future__ import annotations

from ..shared import encoder_picker, widgets
from . import matrix, pair_table

MOST = 6  # encoders
KINDS = {"sentences": matrix.show, "pairs": pair_table.show}


def page() -> None:
    """The page."""
    hint = "Sentences: each with every other. Pairs: two by two, also with human scores."
    kind = widgets.choice("Compare", list(KINDS), "kind", hint, label_visibility="collapsed")
    KINDS[kind](encoder_picker.several("m", MOST))
