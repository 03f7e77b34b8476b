"""The picture of a run: its loss over the steps, and beside it the score on dev, where there is one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from semsearch.errors import install_command
from semsearch.training.run_folder import metrics

FILE = "loss.png"
LOG = logging.getLogger(__name__)
LOSS, SCORE = "#3b6ea5", "#c0562f"
_told: set[str] = set()


def draw(home: Path, title: str) -> None:
    """Draw the metrics in `home` as `home`/loss.png. Where that cannot be, a warning says so once, and nothing else."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)  # without pyplot, which would choose a window for a program that has one
        _filled(figure, metrics.read(home), title)
        new = home / f".{FILE}"
        figure.savefig(new, format="png")
        new.replace(home / FILE)
    except (ImportError, OSError) as error:
        if str(error) not in _told:
            _told.add(str(error))
            LOG.warning("the loss is not plotted: %s. Install matplotlib: %s", error, install_command("train"))


def _filled(figure: Any, lines: Sequence[Mapping[str, Any]], title: str) -> None:
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("step")
    axes.set_ylabel("loss", color=LOSS)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    losses = [(line["step"], line["loss"]) for line in lines if "loss" in line]
    scores = [(line["step"], line["dev"]) for line in lines if "dev" in line]
    axes.plot(*_columns(losses), color=LOSS, linewidth=1.4, marker="" if len(losses) > 1 else "o")
    axes.set_xlim(left=0)
    if scores:
        _beside(axes, scores, str(next(line["measure"] for line in lines if "dev" in line)))


def _beside(axes: Any, scores: Sequence[tuple[int, float]], measure: str) -> None:
    """The scores on an axis of their own, the best of them with its figure."""
    other = axes.twinx()
    other.set_ylabel(f"{measure}, percent", color=SCORE)
    other.spines[["top", "left"]].set_visible(False)
    other.plot(*_columns(scores), color=SCORE, linewidth=1.4, marker="o", markersize=4)
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


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [step for step, _ in points], [value for _, value in points]
