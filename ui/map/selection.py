"""The selection on the map, as it is in the URL: points by their passages, an area, or a group by its name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semsearch.types import JsonObject

from .clusters import Floats
from .points import OTHERS, Colours, Points

Corners: TypeAlias = tuple[tuple[float, float], ...]
MOST_POINTS, MOST_CORNERS = 50, 48
POINTS, AREA, GROUP = ALL = ("points", "area", "group")  # of the URL


@dataclass(frozen=True, slots=True)
class Selection:
    """One of the three, or nothing: passages by their ids, an area by its corners, a group by its name."""

    points: tuple[int, ...] = ()
    area: Corners = ()
    group: str = ""

    def params(self) -> dict[str, str]:
        """Its parameters in the URL."""
        points, area = ",".join(map(str, self.points)), "_".join(f"{x:.4g},{y:.4g}" for x, y in self.area)
        return {key: value for key, value in ((POINTS, points), (AREA, area), (GROUP, self.group)) if value}

    def rows(self, points: Points, placed: Floats, colours: Colours) -> list[int]:
        """The chosen rows; of an area or a group the most central first."""
        if self.points:
            at = {int(passage): row for row, passage in enumerate(points.sample.ids)}
            return [at[one] for one in self.points if one in at]
        if self.area:
            return central(points, np.flatnonzero(within(self.area, placed)))
        code = colours.code(self.group)
        return [] if code is None or colours.codes is None else central(points, np.flatnonzero(colours.codes == code))

    def start(self, points: Points, colours: Colours) -> JsonObject:
        """The selection as the browser takes it."""
        if self.points:
            return {"rows": np.flatnonzero(np.isin(points.sample.ids, self.points)).tolist()}
        if self.area:
            return {"area": self.area}
        code = colours.code(self.group)
        return {} if code is None else {"group": code}


def read(params: Mapping[str, str]) -> Selection:
    """The selection in a URL, without unreadable parts.

    >>> read({"points": "7,12"}).points, read({"area": "0,0_1,0_1,1"}).area, read({"points": "x", "area": "1"})
    ((7, 12), ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), Selection(points=(), area=(), group=''))
    """
    points = [int(one) for one in params.get(POINTS, "").split(",") if one.isdecimal() and len(one) < 19]
    corners = [_corner(one.split(",")) for one in params.get(AREA, "").split("_")]
    return Selection(tuple(points[:MOST_POINTS]), _area(corners), params.get(GROUP, ""))


def from_browser(state: object, on: Points, colours: Colours) -> Selection:
    """The selection in the browser, without parts that are not on this map."""
    state = state if isinstance(state, Mapping) else {}
    rows = [row for row in state.get("rows") or () if isinstance(row, int) and 0 <= row < len(on)]
    corners = [_corner(one) for one in state.get("area") or ()]
    code = state.get("group")
    group = colours.names[code] if isinstance(code, int) and 0 <= code < len(colours.names) else ""
    points = tuple(int(on.sample.ids[row]) for row in rows[:MOST_POINTS])
    return Selection(points, _area(corners), OTHERS if code == -1 else group)


def _corner(one: Iterable[object]) -> tuple[float, float] | None:
    try:
        x, y = map(float, one)  # type: ignore[arg-type]  # the browser may send anything
    except (TypeError, ValueError):
        return None
    return (x, y) if math.isfinite(x) and math.isfinite(y) else None


def _area(corners: list[tuple[float, float] | None]) -> Corners:
    area = tuple(each for each in corners[:MOST_CORNERS] if each)
    return area if len(area) > 2 else ()


def within(area: Corners, placed: Floats) -> NDArray[np.bool_]:
    """(n,) which of the points (n, 2) lie within the corners, by the even-odd rule."""
    x, y = placed[:, 0].astype(np.float64), placed[:, 1].astype(np.float64)
    inside = np.zeros(len(placed), bool)
    for (ax, ay), (bx, by) in zip(area, (*area[1:], area[0]), strict=True):
        if ay != by:
            inside ^= ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
    return inside


def central(points: Points, rows: NDArray[np.int64]) -> list[int]:
    """These rows, the most central first."""
    vectors = points.sample.vectors[rows]
    return [int(row) for row in rows[np.argsort(-(vectors @ vectors.mean(axis=0)), kind="stable")]] if len(rows) else []
