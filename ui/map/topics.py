"""Topics of the points as labels on the map: coarse ones of everything, and finer ones inside these."""

from __future__ import annotations

import numpy as np
import streamlit as st

from semsearch.analysis import NestedTopic, nested_topics
from semsearch.types import JsonObject

from ..shared.messages import one_line
from ..shared.work import background
from .layouts import Placed
from .points import BY_KEY, TOPIC, Colours, Floats, Points

USUAL = 6  # coarse topics, where the points are coloured by something else
NAME = 40  # characters
BOX = (5, 95)  # percentiles of the places of a topic between which a click on its label shows the map


def nested(on: Points, k: int) -> list[NestedTopic] | None:
    """The topics, `k` of them coarse; None, with a note, while they are computed."""
    vectors, texts = on.sample.vectors, on.sample.texts
    work = lambda: nested_topics(vectors, texts, k=k)  # noqa: E731
    return background.result(("topics", on.content, k), work, "Finding topics …")


def colours(on: Points, topics: list[NestedTopic] | None) -> Colours:
    """The colours of the coarse topics; all grey while there are none."""
    codes = np.full(len(on), -1, np.int64)
    coarse = [topic for topic in topics or () if topic.level == 0]
    for code, topic in enumerate(coarse):
        codes[list(topic.rows)] = code
    return Colours(TOPIC, tuple(topic.name for topic in coarse), codes)


def labels(on: Points, k: int, placed: Placed, topics: list[NestedTopic] | None) -> list[JsonObject]:
    """A label for each topic: its name, size and level, its middle, and the corners of the box around it."""
    return [] if topics is None else _labels(on, k, placed.layout, placed.places, topics)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=BY_KEY)
def _labels(on: Points, k: int, layout: str, _places: Floats, _topics: list[NestedTopic]) -> list[JsonObject]:
    return [_label(topic, _places[list(topic.rows)]) for topic in _topics]


def _label(topic: NestedTopic, places: Floats) -> JsonObject:
    """Its middle is the place of a passage: that of all may lie where there is none."""
    median = np.median(places, axis=0)
    middle = places[np.square(places - median).sum(axis=1).argmin()]
    low, high = np.percentile(places, BOX, axis=0)
    name = one_line(topic.name, NAME)
    where = {"at": _numbers(middle), "low": _numbers(low), "high": _numbers(high)}
    return {"name": name, "size": len(topic.rows), "level": topic.level, **where}


def _numbers(place: Floats) -> list[float]:
    return [round(float(one), 5) for one in place]
