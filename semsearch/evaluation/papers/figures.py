"""Figures of measurements as PNG files, drawn with Matplotlib's object interface, which needs no display.

by_gold: CoT-BERT, Zhang et al. 2023, https://arxiv.org/abs/2309.11143, figure 3.
layers: SG-OPT, Kim et al. 2021, https://arxiv.org/abs/2106.07345, figure 1.
tokens: Pretended CoT, Zhang et al. 2024, https://arxiv.org/abs/2404.03921, figure 1.
"""

from __future__ import annotations

import logging
import math
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from semsearch.evaluation.papers.attribution import TokenAttribution
    from semsearch.evaluation.papers.layer_scores import LayerScores

log = logging.getLogger(__name__)

DPI = 150
PAGE = 15.0  # inches
TITLE_CHARACTERS = 11  # per inch
INK, PALE, CORE, REST = "#22303c", "#9aa7b1", "#b8332a", "#3f6f9f"
POOLINGS = {"cls": "[CLS]", "mask": "[MASK]"}  # on the axis
WHOLE = range(6)  # STS: 0 … 5
STEPS = len(WHOLE) - 1


def by_gold(models: Mapping[str, NDArray[np.float64]], gold: Sequence[float], file: Path, title: str = "") -> None:
    """One panel per model: the cosine of every pair over its gold score, and a box for each group of scores.

    As in the paper, the cosines of a model are scaled to 0 … 1; the axis label has their range.
    """
    check(file)
    scores = np.asarray(gold, dtype=np.float64)
    centres = np.asarray(group_gold_scores(list(gold)))
    groups = np.unique(centres)
    step = float(np.diff(groups).min()) if len(groups) > 1 else 1.0
    figure, panels = _panels(len(models), width=4.6, height=3.9)
    jitter = step * np.random.default_rng(0).uniform(-0.06, 0.06, size=len(scores))  # separates equal scores
    for panel, (name, cosines) in zip(panels, models.items(), strict=True):
        values = np.asarray(scale_cosines(cosines.tolist()))
        panel.scatter(scores + jitter, values, s=5, color=REST, alpha=0.25, linewidths=0)
        panel.boxplot(
            [values[centres == group] for group in groups],
            positions=groups.tolist(),
            widths=0.34 * step,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": "none", "edgecolor": INK},
            medianprops={"color": CORE, "linewidth": 2},
            whiskerprops={"color": INK},
            capprops={"color": INK},
        )
        low, high = min(float(groups[0]), float(scores.min())), max(float(groups[-1]), float(scores.max()))
        panel.set(xlabel="gold score (boxes: the scores nearest to each)", xlim=(low - 0.45 * step, high + 0.45 * step))
        panel.set(ylim=(-0.03, 1.03), ylabel=f"cosine, {cosines.min():.2f} … {cosines.max():.2f} drawn as 0 … 1")
        panel.set_title(_short(name), fontsize=10, parse_math=False)
        panel.set_xticks(groups, [f"{group:.3g}" for group in groups])
    _save(figure, file, title)


def layers(by_layer: LayerScores, file: Path, title: str = "") -> None:
    """A heat map with one row per layer, the embedding output at the bottom; the best cell is framed."""
    check(file)
    from matplotlib.patches import Rectangle

    scores = np.array(by_layer.scores)
    figure, (panel,) = _panels(1, width=1.9 + 0.85 * scores.shape[1], height=1.5 + 0.36 * len(scores))
    image = panel.imshow(scores, aspect="auto", origin="lower", cmap="viridis")
    middle = float(np.nanmin(scores) + np.nanmax(scores)) / 2 if np.isfinite(scores).any() else 0.0
    for (layer, at), score in np.ndenumerate(scores):
        text = "-" if math.isnan(score) else f"{score:.1f}"
        panel.text(at, layer, text, ha="center", va="center", fontsize=9, color="white" if score < middle else "black")
    best, pooling, score = by_layer.best
    if not math.isnan(score):
        frame = (by_layer.poolings.index(pooling) - 0.5, best - 0.5)
        panel.add_patch(Rectangle(frame, 1, 1, fill=False, edgecolor=CORE, linewidth=2.5, clip_on=False))
    panel.set_xticks(range(len(by_layer.poolings)), [POOLINGS.get(name, name) for name in by_layer.poolings])
    panel.set_yticks(range(len(scores)), ["0 (embeddings)", *map(str, range(1, len(scores)))])
    panel.set(xlabel="pooling", ylabel="layer")
    panel.tick_params(length=0)
    figure.colorbar(image, ax=panel, label="Spearman × 100")
    _save(figure, file, title)


def tokens(models: Mapping[str, Sequence[TokenAttribution]], file: Path, title: str = "") -> None:
    """One panel per model: the share of every token as a bar, content words in red and the others in blue."""
    check(file)
    from matplotlib.patches import Patch

    if not models:
        raise UsageError("there is nothing to draw.", "Name a model.", "Name a model: -m MODEL")
    longest = max(len(parts) for parts in models.values())
    figure, panels = _panels(len(models), width=max(3.6, 0.55 * longest + 1.2), height=3.4)
    top = max((part.share for parts in models.values() for part in parts), default=0) * 115
    for panel, (name, parts) in zip(panels, models.items(), strict=True):
        colours = [CORE if part.core else REST for part in parts]
        bars = panel.bar(range(len(parts)), [100 * part.share for part in parts], color=colours, width=0.72)
        panel.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
        panel.set_xticks(range(len(parts)), [part.token for part in parts], parse_math=False)
        if longest > 8:
            for label in panel.get_xticklabels():
                label.set(rotation=45, ha="right", rotation_mode="anchor")
        panel.set(xlim=(-0.6, len(parts) - 0.4), ylim=(0, top or 1), ylabel="share of all cosines, %")
        core = 100 * sum(part.share for part in parts if part.core)
        panel.set_title(f"{_short(name)}\nred together: {core:.1f} %", fontsize=10, parse_math=False)
    legend = [Patch(color=CORE, label="content word"), Patch(color=REST, label="other")]
    figure.legend(handles=legend, fontsize=8, loc="outside lower center", ncols=2, frameon=False)
    _save(figure, file, title)


def check(file: Path) -> None:
    """Raise UsageError if `file` is no PNG, MissingExtra without Matplotlib; call it before hours of measuring."""
    if file.suffix.lower() != ".png":
        raise UsageError(f"{file} is not a PNG file.", f"Name it {file.with_suffix('.png').name}.")
    if find_spec("matplotlib") is None:
        raise MissingExtra("a figure", "train", "Matplotlib")


def _panels(count: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels, each `width` by `height` inches, in rows as wide as a page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = max(1, min(count, int(PAGE // width)))
    down = math.ceil(count / across)
    figure = Figure(figsize=(width * across, height * down), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(down, across, at + 1) for at in range(count)]
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(PALE)
        panel.set_axisbelow(True)
    return figure, panels


def _save(figure: Figure, file: Path, title: str) -> None:
    if title:
        wide = int(TITLE_CHARACTERS * figure.get_size_inches()[0])
        lines = [part for line in title.split("\n") for part in textwrap.wrap(line, wide)]
        figure.suptitle("\n".join(lines), fontsize=11, color=INK, parse_math=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(file, dpi=DPI)
    if any("missing from" in str(one.message) for one in caught):  # one warning, not one per character
        log.warning("%s shows boxes for characters that Matplotlib's font lacks.", file)


def _short(name: str) -> str:
    """A name without the folders of its path, cut to 44 characters."""
    model, mark, template = name.partition("#")
    short = model.rstrip("/").rpartition("/")[2] + mark + template
    return short if len(short) <= 44 else "…" + short[-43:]


def scale_cosines(cosines: Sequence[float]) -> list[float]:
    """Cosines as 0 (the lowest) … 1 (the highest); 0 where all are the same.

    >>> scale_cosines([0.5, 0.75, 1.0])
    [0.0, 0.5, 1.0]
    """
    low, high = min(cosines), max(cosines)
    return [(cosine - low) / (high - low) if high > low else 0.0 for cosine in cosines]


def group_gold_scores(scores: Sequence[float]) -> list[float]:
    """The centre of the group of each score.

    >>> group_gold_scores([0.2, 2.5, 4.8]), group_gold_scores([0, 0.1, 0.95, 1])
    ([0.0, 3.0, 5.0], [0.0, 0.2, 1.0, 1.0])
    """
    low, high = min(scores), max(scores)
    if low >= WHOLE[0] and high <= WHOLE[-1] and high - low > 1:
        return [float(math.floor(score + 0.5)) for score in scores]
    step = (high - low) / STEPS or 1.0
    return [round(low + step * math.floor((score - low) / step + 0.5), 9) for score in scores]
