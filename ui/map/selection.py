"""The selection on the map, as it is in the URL: points by their passages, an area, or a group by its name; and of
these, or of all, the ones between two days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semsearch.types import JsonObject

from .points import OTHERS, Colours, Floats, Points

Corners: TypeAlias = tuple[tuple[float, float], ...]
MOST_POINTS, MOST_CORNERS = 50, 48
POINTS, AREA, GROUP, FROM, UNTIL = ALL = ("points", "area", "group", "from", "until")  # of the URL


@dataclass(frozen=True, slots=True)
class Selection:
    """Passages by their ids, an area by its corners, or a group by its name; `days` as `date.toordinal` counts them."""

    points: tuple[int, ...] = ()
    area: Corners = ()
    group: str = ""
    days: tuple[int, int] | None = None

    def params(self) -> dict[str, str]:
        """Its parameters in the URL."""
        points, area = ",".join(map(str, self.points)), "_".join(f"{x:.4g},{y:.4g}" for x, y in self.area)
        first, last = self.dates() or ("", "")
        named = zip(ALL, (points, area, self.group, first, last), strict=True)
        return {key: value for key, value in named if value}

    def dates(self) -> tuple[str, str] | None:
        """Its days as ISO dates."""
        return None if self.days is None else iso_days(*self.days)

    def rows(self, points: Points, placed: Floats, colours: Colours, days: Floats | None) -> list[int]:
        """The chosen rows; of an area or a group the most central first. NaN in `days` (n,) is no day."""
        between = self.between(days, len(points))
        if self.points:
            at = {int(passage): row for row, passage in enumerate(points.sample.ids)}
            return [at[one] for one in self.points if one in at and between[at[one]]]
        if self.area:
            return central(points, np.flatnonzero(within(self.area, placed) & between))
        code = colours.code(self.group)
        if code is not None and colours.codes is not None:
            return central(points, np.flatnonzero((colours.codes == code) & between))
        return [] if self.days is None or self.group else central(points, np.flatnonzero(between))

    def between(self, days: Floats | None, count: int) -> NDArray[np.bool_]:
        """(n,) which points lie between its days; all, where it has none."""
        if self.days is None or days is None:
            return np.ones(count, np.bool_)
        return np.asarray((days >= self.days[0]) & (days <= self.days[1]))

    def start(self, points: Points, colours: Colours) -> JsonObject:
        """The selection as the browser takes it."""
        chosen: JsonObject = {} if self.days is None else {"days": self.days}
        if self.points:
            return {**chosen, "rows": np.flatnonzero(np.isin(points.sample.ids, self.points)).tolist()}
        if self.area:
            return {**chosen, "area": self.area}
        code = colours.code(self.group)
        return chosen if code is None else {**chosen, "group": code}


def iso_days(first: int, last: int) -> tuple[str, str]:
    """
    >>> iso_days(738156, 738157)
    ('2022-01-01', '2022-01-02')
    """
    return date.fromordinal(first).isoformat(), date.fromordinal(last).isoformat()


def read(params: Mapping[str, str]) -> Selection:
    """The selection in a URL, without unreadable parts.

    >>> read({"points": "7,12"}).points, read({"area": "0,0_1,0_1,1"}).area, read({"points": "x", "area": "1"}).params()
    ((7, 12), ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), {})
    >>> read({"from": "2022-01-01", "until": "2022-01-02"}).days, read({"from": "2022-01-01", "until": "x"}).days
    ((738156, 738157), None)
    """
    points = [int(one) for one in params.get(POINTS, "").split(",") if one.isdecimal() and len(one) < 19]
    corners = [_corner(one.split(",")) for one in params.get(AREA, "").split("_")]
    days = _days([_ordinal(params.get(FROM, "")), _ordinal(params.get(UNTIL, ""))])
    return Selection(tuple(points[:MOST_POINTS]), _area(corners), params.get(GROUP, ""), days)


def from_browser(state: object, on: Points, colours: Colours) -> Selection:
    """The selection in the browser, without parts that are not on this map."""
    state = state if isinstance(state, Mapping) else {}
    rows = [row for row in state.get("rows") or () if isinstance(row, int) and 0 <= row < len(on)]
    corners = [_corner(one) for one in state.get("area") or ()]
    code = state.get("group")
    group = colours.names[code] if isinstance(code, int) and 0 <= code < len(colours.names) else ""
    points = tuple(int(on.sample.ids[row]) for row in rows[:MOST_POINTS])
    days = state.get("days")
    between = _days(days if isinstance(days, list | tuple) else ())
    return Selection(points, _area(corners), OTHERS if code == -1 else group, between)


def _days(numbers: Iterable[object]) -> tuple[int, int] | None:
    days = [day for day in numbers if isinstance(day, int) and date.min.toordinal() <= day <= date.max.toordinal()]
    return (days[0], days[1]) if len(days) == 2 and days[0] <= days[1] else None


def _ordinal(text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return 0


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
