"""The chart of a run: its loss over the steps, and the validation score where there is one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import install_command
from semsearch.training import runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from semsearch.types import JsonObject

FILE = "loss.png"
LOG = logging.getLogger(__name__)
LOSS, SCORE = "#3b6ea5", "#c0562f"
_warned: set[str] = set()


def draw(home: Path, title: str) -> None:
    """Draw the metrics in `home` as `home`/loss.png. A failure is a warning, logged once."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)  # without pyplot, which would select a GUI backend
        _fill(figure, runs.read_metrics(home), title)
        new = home / f".{FILE}"
        figure.savefig(new, format="png")
        new.replace(home / FILE)
    except (ImportError, OSError) as error:
        if str(error) not in _warned:
            _warned.add(str(error))
            LOG.warning("the loss is not plotted: %s. Install matplotlib: %s", error, install_command("train"))


def _fill(figure: Figure, lines: Sequence[JsonObject], title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("step")
    axes.set_ylabel("loss", color=LOSS)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    losses = [(line["step"], line["loss"]) for line in lines if "loss" in line]
    scores = [(line["step"], line["dev"]) for line in lines if "dev" in line]
    axes.plot(*zip(*losses, strict=True), color=LOSS, linewidth=1.4, marker="" if len(losses) > 1 else "o")
    axes.set_xlim(left=0)
    if scores:
        _add_scores(axes, scores, str(next(line["measure"] for line in lines if "dev" in line)))


def _add_scores(axes: Axes, scores: Sequence[tuple[int, float]], measure: str) -> None:
    """Plot the scores on a second axis, the best of them annotated."""
    other = axes.twinx()
    other.set_ylabel(f"{measure}, percent", color=SCORE)
    other.spines[["top", "left"]].set_visible(False)
    other.plot(*zip(*scores, strict=True), color=SCORE, linewidth=1.4, marker="o", markersize=4)
    step, best = max(scores, key=lambda each: each[1])
    other.plot([step], [best], color=SCORE, marker="o", markersize=8, fillstyle="none")
    other.margins(y=0.15)
    other.annotate(
        f"best {best:.2f}, step {step}",
        (step, best),
        xytext=(0, 9),
        textcoords="offset points",
        ha="left" if step < scores[-1][0] / 2 else "right",
        color=SCORE,
        fontsize=9,
    )
