"""The day of each point, for the time slider: the document's own date where it has one, else that of its file."""

from __future__ import annotations

from datetime import date

import numpy as np
import streamlit as st

from semsearch import Index

from . import points
from .duplicates import Floats
from .points import BY_KEY, Points


def days(on: Points, index: Index) -> Floats | None:
    """The number of each point's day (`date.toordinal`), NaN for none; None where all have one day."""
    dated = any(each.builtin and each.kind == "date" for each in points.facets(index))
    return _days(on, index) if dated else None


@st.cache_resource(max_entries=4, show_spinner="Reading the dates …", hash_funcs=BY_KEY)
def _days(on: Points, _index: Index) -> Floats | None:
    by_document = _index.analysis.days(list(dict.fromkeys(on.sample.documents)))
    number = {name: float(date.fromisoformat(day).toordinal()) for name, day in by_document.items()}
    numbers = np.array([number.get(name, np.nan) for name in on.sample.documents], np.float32)
    seen = numbers[~np.isnan(numbers)]
    return numbers if len(seen) and seen.min() < seen.max() else None
