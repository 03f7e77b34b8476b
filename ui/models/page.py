"""Models: the encoders there are, how to export one, and how to train one."""

from __future__ import annotations

from ..shared import messages, widgets
from . import catalogue, export, train

PARTS = {"Encoders": catalogue.show, "Export": export.show, "Train": train.show}


def page() -> None:
    """The page."""
    messages.outcome_of_click()
    PARTS[widgets.choice("Part of the page", list(PARTS), "part", label_visibility="collapsed")]()
