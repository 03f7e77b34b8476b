"""The map in the browser: points as bytes, and the component that draws them and reports the selection.

Every point is drawn, as pixels of a canvas (space_raster.js): a chart library needs two seconds a frame for 20,000.
Groups differ in colour (Okabe and Ito's, which suit colour-blind readers) and, beyond six of them, in shape.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st

from semsearch.types import JsonObject

from ..shared.messages import one_line
from .layouts import Placed
from .points import BY_KEY, NOTHING, OTHERS, Colours, Floats, Points

PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#0072B2")
RAMP = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")  # viridis
GREY = "#8a94a0"
SHOWN = 160  # characters of the text under the pointer, and of its path
LABEL = 40  # and of the name of a group
RADII = ((500, 5.0), (5_000, 3.2), (30_000, 2.0), (10**9, 1.4))  # pixels, up to so many points


FILES = ("raster", "haze", "legend", "labels", "times", "canvas")


class Scene(NamedTuple):
    """What is drawn: points where they are placed, their colours, labels of topics, and their days, if these differ."""

    points: Points
    placed: Placed
    colours: Colours
    labels: list[JsonObject]
    days: Floats | None


def _text(file: str) -> str:
    return Path(__file__).with_name(f"space_{file}").read_text(encoding="utf-8")


_show = st.components.v2.component(
    "semsearch map",
    html=_text("canvas.html"),
    css=_text("canvas.css"),
    js="\n".join(_text(f"{file}.js") for file in FILES),
)


def show(data: bytes, chosen: Callable[[object], None]) -> None:
    """The map. `chosen` is called with what the browser sends, {rows}, {area}, {group} and {days}; it may be forged."""
    _show(data=data, key="map", on_chosen_change=lambda: chosen(st.session_state["map"].get("chosen")))


def packed(scene: Scene, marks: list[JsonObject], start: Callable[[], JsonObject]) -> bytes:
    """The bytes for the browser: a header, positions (n, 2), the level of each point, its day where there are days, and
    the texts, deflated.

    The same map gives the same key, whatever hits are marked on it; `start`, which returns the initial selection, is
    called once per map.
    """
    points, placed, colours, labels, days = scene
    levels = np.asarray(colours.numbers if colours.codes is None else colours.codes, np.float32)
    places = placed.places.astype("<f4").tobytes()
    body = places + levels.astype("<f4").tobytes() + (b"" if days is None else days.astype("<f4").tobytes())
    head = _head(points, colours) | {"layout": sha256(places).hexdigest(), "labels": labels, "times": _span(days)}
    key = sha256(json.dumps(head).encode() + body).hexdigest()
    if st.session_state.get("map begun", ("",))[0] != key:
        st.session_state["map begun"] = key, start()
    more = {"key": key, "chosen": st.session_state["map begun"][1], "marks": marks}
    header = json.dumps(head | more).encode()
    header += b" " * (-len(header) % 4)  # as the numbers behind it must be aligned
    return len(header).to_bytes(4, "little") + header + body + _texts(points)


def _span(days: Floats | None) -> list[int] | None:
    """The first and the last day."""
    dated = None if days is None else days[~np.isnan(days)]
    return None if dated is None or not len(dated) else [int(dated.min()), int(dated.max())]


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=BY_KEY)
def _texts(points: Points) -> bytes:
    """A line for each point: its path, a tab, the beginning of its text."""
    each = zip(points.sample.documents, points.sample.texts, strict=True)
    lines = (f"{' '.join(document.split())[-SHOWN:]}\t{one_line(text, SHOWN)}" for document, text in each)
    return zlib.compress("\n".join(lines).encode("utf-8", "replace"), 1)


def _head(points: Points, colours: Colours) -> JsonObject:
    head: JsonObject = {
        "count": len(points),
        "title": one_line(colours.title, LABEL),
        "palette": PALETTE,
        "grey": GREY,
        "radius": next(radius for most, radius in RADII if len(points) <= most),
    }
    if colours.codes is None:
        numbers = np.array(colours.numbers)
        finite = numbers[~np.isnan(numbers)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        missing = [NOTHING, len(points) - len(finite)]
        scale = {"ramp": RAMP, "low": low, "high": high, "ends": [f"{low:g}", f"{high:g}"]}
        return head | scale | {"groups": [], "sizes": [], "missing": missing}
    sizes = np.bincount(colours.codes[colours.codes >= 0], minlength=len(colours.names)).tolist()
    others = int((colours.codes < 0).sum()) if colours.names else 0
    return head | {"ramp": (), "groups": _labels(colours), "sizes": sizes, "missing": [OTHERS, others]}


def _labels(colours: Colours) -> list[str]:
    """The names short enough for the legend, and still distinct."""
    made: list[str] = []
    for at, name in enumerate(colours.names):
        label = one_line(name, LABEL)
        made.append(label if label not in made and label != OTHERS else f"{label} ({at + 1})")
    return made
