"""The papers' tables: rows, columns and figures as published, and the run of each cell."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAPERS = ("cot_bert", "promptbert", "prompts", "cosent", "sg")  # files of tables
OTHERS = "a baseline of other authors, which semsearch does not have"
MEANS = {  # a measure that is the plain mean of others, each with two decimals as the papers print them
    "sts": ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"),
    "transfer": ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc"),
    "transfer-linear": tuple(f"{task}-linear" for task in ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc")),
}

TOP = "top-5"  # a measure of one sentence, the name of the row

Figure = float | str


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table: a `measure` of `run` on the model called `base`.

    `run` is the name of a run or a template, "" if it cannot be run; `over` is how seeds are combined into one figure.
    """

    run: str
    base: str
    measure: str
    over: str = "mean"


@dataclass(frozen=True, slots=True)
class Row:
    """`cells`, `published` and `deviations` have one entry per column; a published "-" is no figure."""

    name: str
    group: str
    cells: tuple[Cell, ...]
    published: tuple[Figure, ...]
    deviations: tuple[Figure, ...]
    why: str

    @property
    def title(self) -> str:
        return f"{self.group}: {self.name}" if self.group else self.name


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    paper: str
    title: str
    varies: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def cells(self) -> Iterator[Cell]:
        """The cells that can be run."""
        yield from (cell for row in self.rows for cell in row.cells if cell.run)


@lru_cache(1)
def tables() -> Mapping[str, Table]:
    """Every table by name, paper by paper.

    >>> tables()["cot-bert-4"].rows[1].published
    (79.4, 80.62)
    """
    all_tables: dict[str, Table] = {}
    for paper in PAPERS:
        content = read(paper)
        all_tables |= {name: _table(name, content["paper"], table) for name, table in content["tables"].items()}
    return all_tables


def read(name: str) -> dict[str, Any]:
    """A file of this folder."""
    with (HERE / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


def _table(name: str, paper: str, content: Mapping[str, Any]) -> Table:
    columns = tuple(content["columns"])
    rows = tuple(_row(row, content) for row in content["rows"])
    for row in rows:
        if not len(row.cells) == len(row.published) == len(row.deviations) == len(columns):
            raise ValueError(f"{name}, {row.name}: {len(columns)} columns, {len(row.published)} figures")
    return Table(name, paper, content["title"], content["varies"], columns, rows)


def _row(row: Mapping[str, Any], content: Mapping[str, Any]) -> Row:
    count = len(content["columns"])
    run = row.get("run", "")
    runs = [run] * count if isinstance(run, str) else run
    bases = content.get("bases") or [row.get("base", "")] * count
    over = content.get("over") or ["mean"] * count
    published = tuple(row["published"])
    cells = tuple(
        Cell("" if figure == "-" else one, base, f"{TOP}:{row['name']}" if measure == TOP else measure, how)
        for one, base, measure, how, figure in zip(runs, bases, content["measures"], over, published, strict=True)
    )
    deviations = tuple(row.get("deviations", [""] * count))
    return Row(row["name"], row.get("group", ""), cells, published, deviations, row.get("why", "" if run else OTHERS))
