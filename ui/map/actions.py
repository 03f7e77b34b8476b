"""What can be done with the passages chosen on the map: search in their documents, or tag these."""

from __future__ import annotations

from collections.abc import Sequence

from streamlit.delta_generator import DeltaGenerator

from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation
from ..shared.work import tagging
from .points import Points
from .selection import Selection

LONGEST = 3_000  # characters of a filter: an address has to hold it


def show(name: str, on: Points, rows: Sequence[int], chosen: Selection, place: DeltaGenerator) -> None:
    """A link that searches in the documents of these rows, and a form that tags them."""
    documents = list(dict.fromkeys(on.sample.documents[row] for row in rows))
    where = condition(documents, chosen)
    counted = count(len(documents), "document")
    if len(where) <= LONGEST:
        hint = "Opens Search with a filter for the documents of the chosen passages."
        params = {"where": where, index_picker.KEY: name}
        label = "Search in this document" if len(documents) == 1 else f"Search in these {counted}"
        navigation.link(index_picker.SEARCH, params, label=label, icon="filter_alt", place=place, hint=hint)
    else:
        messages.caption(f"{counted} are too many for a filter in an address: tag them, and filter by the tag.", place)
    with place.popover(f"Tag {counted}", icon=":material/sell:"):
        tagging.form("map", name, documents)


def condition(documents: Sequence[str], chosen: Selection) -> str:
    """The filter, in the language of `--where`, for the documents of a selection.

    >>> condition(["a", "it's"], Selection(group="x")), condition(["a"], Selection(days=(738156, 738157)))
    ("document in ('a', 'it''s')", 'date between 2022-01-01 and 2022-01-02')
    """
    if (dates := chosen.dates()) and not (chosen.points or chosen.area or chosen.group):
        return f"date between {dates[0]} and {dates[1]}"
    named = ", ".join("'{}'".format(each.replace("'", "''")) for each in documents)
    return f"document in ({named})"
