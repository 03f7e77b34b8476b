"""Models: the encoders there are, how to export one, train one, and adapt that of an index to its documents."""

from __future__ import annotations

from ..shared import messages, widgets
from . import adapt, catalogue, export, train

PARTS = {"Encoders": catalogue.show, "Export": export.show, "Train": train.show, "Adapt": adapt.show}


def page() -> None:
    """The page."""
    messages.outcome_of_click()
    PARTS[widgets.choice("Part of the page", list(PARTS), "part", label_visibility="collapsed")]()
