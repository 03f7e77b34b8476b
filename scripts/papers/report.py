"""A table as Markdown: published figures above measured ones, and the reason if a row has no figure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scripts.papers.tables import Figure, Row, Table

ROW_MEAN = "row-mean"  # of the other columns of its row
NONE = "–"


@dataclass
class Results:
    """The results of a table by row and column: figures, one per seed, and reasons for missing ones."""

    figures: dict[tuple[int, int], list[Figure]] = field(default_factory=dict)
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)


def markdown(table: Table, results: Results, caption: str) -> str:
    """The table, the reasons for missing figures, and the caption."""
    lines = [
        f"## {table.name}: {table.title}",
        "",
        f"{table.paper}. Varied: {table.varies}.",
        "",
        f"| | | {' | '.join(table.columns)} |",
        f"|---|---|{'---|' * len(table.columns)}",
    ]
    for at, row in enumerate(table.rows):
        title = row.title.replace("|", "\\|")
        lines.append(f"| {title} | published | {' | '.join(_published(row))} |")
        lines.append(f"| | ours | {' | '.join(_ours(table, results, at))} |")
    reasons = _reasons(table, results)
    return "\n".join([*lines, "", *([*reasons, ""] if reasons else []), caption, ""])


def value(figures: Sequence[Figure], over: str = "mean", measure: str = "") -> str:
    """Figures of several seeds as one: their mean and sample deviation, or the largest or smallest.

    >>> value([70.0, 71.0]), value([71.0]), value([70.0, 71.0], "max")
    ('70.50 ± 0.71', '71.00', '71.00')
    """
    if not figures:
        return NONE
    if isinstance(figures[0], str):
        return figures[0]
    numbers = [float(one) for one in figures]
    digits = 4 if measure.startswith(("alignment", "uniformity", "anisotropy", "token")) else 2
    if over in ("max", "min"):
        return f"{(max if over == 'max' else min)(numbers):.{digits}f}"
    spread = f" ± {statistics.stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{statistics.fmean(numbers):.{digits}f}{spread}"


def _published(row: Row) -> Iterable[str]:
    for cell, figure, deviation in zip(row.cells, row.published, row.deviations, strict=True):
        shown = value([figure], measure=cell.measure)
        yield f"{shown} ± {float(deviation):.2f}" if deviation != "" else shown


def _ours(table: Table, results: Results, at: int) -> Iterable[str]:
    row = table.rows[at]
    for column, cell in enumerate(row.cells):
        figures = results.figures.get((at, column), [])
        yield value(
            _row_mean(results, at, len(row.cells)) if cell.measure == ROW_MEAN else figures, cell.over, cell.measure
        )


def _row_mean(results: Results, at: int, columns: int) -> list[Figure]:
    """For each seed, the mean of the columns before the last, if none is missing."""
    parts = [results.figures.get((at, column), []) for column in range(columns - 1)]
    if not all(parts) or len({len(part) for part in parts}) != 1:
        return []
    return [statistics.fmean(float(one) for one in each) for each in zip(*parts, strict=True)]


def _reasons(table: Table, results: Results) -> list[str]:
    """One line per reason, with the rows to which it applies."""
    rows: dict[str, list[str]] = {}
    for (at, _), why in sorted(results.reasons.items()):
        titles = rows.setdefault(why, [])
        if table.rows[at].title not in titles:
            titles.append(table.rows[at].title)
    every = len(table.rows)
    return [
        f"- not run: {'all rows' if len(names) == every else ', '.join(names)}: {why}" for why, names in rows.items()
    ]


def catalogue(rows: Iterable[tuple[Table, Mapping[str, int], str]]) -> str:
    """Every table with what it varies, the number of its runs, and their models and data."""
    lines = ["| table | varied | rows | figures | to run | needs |", "|---|---|---|---|---|---|"]
    for table, counts, needs in rows:
        lines.append(
            f"| {table.name} | {table.varies} | {len(table.rows)} | {counts['figures']} | {counts['runs']} | {needs} |"
        )
    return "\n".join(lines)
