"""Greedy template search: Spearman on sentence pairs for each of a grid of prefixes, relations and endings.

Source: Jiang et al. 2022, PromptBERT, https://arxiv.org/abs/2201.04337, section 4.2: first the tokens that relate [X]
to [MASK], then those around [X]. Endings come third: Zhang et al. 2024, https://arxiv.org/abs/2404.03921, table 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from semsearch.encoders import factory
from semsearch.encoders.base import EncoderBackend
from semsearch.errors import UsageError
from semsearch.evaluation.encoding_windows import WINDOW, OnProgress, in_windows
from semsearch.evaluation.sts import Pair, pair_cosines, spearman
from semsearch.evaluation.sts_benchmarks import Subset
from semsearch.evaluation.templates.grids import Lists, TemplateGrid, grid_of, searchable
from semsearch.prompts import parse
from semsearch.prompts.library import Template
from semsearch.types import Progress

Stage = Literal["relation", "prefix", "ending", "grid"]
Score = Callable[[str], float]
Report = Callable[[int, int, str], None]  # (done, total, template)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A template, its Spearman in percent (NaN if all its cosines are equal), and the stage that first tried it."""

    text: str
    spearman: float
    stage: Stage

    @property
    def order(self) -> float:
        return -math.inf if math.isnan(self.spearman) else self.spearman


def search_templates(
    model: str,
    pairs: Sequence[Pair],
    gold: Sequence[float],
    *,
    lists: Lists = ((), (), ()),
    template: str | None = None,
    full: bool = False,
    device: str = "auto",
    progress: OnProgress | None = None,
    window: int = WINDOW,
) -> list[Candidate]:
    """The templates tried on `model`, best first, with the Spearman of their cosines with `gold`, in percent.

    The search is greedy: first the relation, then the prefix, then the ending; or over the `full` grid. `template`
    sets the method and its rules. `progress` is called before every `window` texts and may raise to stop. Raises
    NotFound, UsageError, DeviceUnavailable, and MissingExtra without PyTorch.
    """
    if len(pairs) < 2 or len(pairs) != len(gold):
        raise UsageError(
            f"there are {len(pairs)} pairs and {len(gold)} scores.", "Pass two or more, with one score each."
        )
    reference = searchable(model).with_(template=template)
    base, grid = grid_of(reference, lists)
    reference = reference if reference.template else reference.with_(template=base.text["passage"])
    backend, _ = factory.open_backend(reference, device=device)
    size = len({text for pair in pairs for text in pair})
    current = (0, 0, "")  # templates done, all templates, and the one being scored

    def begin(done: int, total: int, text: str) -> None:
        nonlocal current
        current = done, total, text

    def report(texts: int) -> None:
        done, total, text = current
        if progress is not None:
            progress(Progress(done * size + texts, total * size, "texts", text))

    score = scorer(backend, base, Subset(tuple(pairs), tuple(gold)), report, window)
    return search(grid, score, full=full, report=begin)


def search(grid: TemplateGrid, score: Score, *, full: bool = False, report: Report | None = None) -> list[Candidate]:
    """The templates tried, best first: greedily, or the `full` grid; each is scored once, after a `report`."""
    sizes = [len(set(pieces)) for pieces in (grid.prefixes, grid.relations, grid.endings)]
    total = math.prod(sizes) if full else sum(sizes) - 2
    tried: dict[str, Candidate] = {}

    def best(pieces: Iterable[str], text: Callable[[str], str], stage: Stage) -> str:
        """The piece whose template scores best; the first of equals."""

        def order(piece: str) -> float:
            template = text(piece)
            if template not in tried:
                if report is not None:
                    report(len(tried), total, template)
                tried[template] = Candidate(template, score(template), stage)
            return tried[template].order

        return max(pieces, key=order)

    if full:
        best(grid.all(), str, "grid")
    else:
        prefix, ending = min(grid.prefixes, key=len), grid.endings[0]
        relation = best(grid.relations, lambda each: grid.text(prefix, each, ending), "relation")
        prefix = best((prefix, *grid.prefixes), lambda each: grid.text(each, relation, ending), "prefix")
        best(grid.endings, lambda each: grid.text(prefix, relation, each), "ending")
    return sorted(tried.values(), key=lambda candidate: candidate.order, reverse=True)


def scorer(
    backend: EncoderBackend,
    template: Template,
    subset: Subset,
    report: Callable[[int], None] = lambda done: None,
    window: int = WINDOW,
) -> Score:
    """Spearman in percent on `subset` of any template text, read by `backend` under the rules of `template`.

    `report` gets the number of texts embedded so far before every `window` texts.
    """

    def score(text: str) -> float:
        prompt = parse(text, **template.rules)
        cosines = pair_cosines(
            subset.pairs, lambda texts: in_windows(lambda some: backend.embed(some, prompt), texts, report, window)
        )
        return 100 * spearman(cosines, subset.gold)

    return score


def thinned(subset: Subset, limit: int) -> Subset:
    """At most `limit` pairs, evenly spread: files of pairs are sorted by source."""
    size = len(subset.pairs)
    if limit >= size:
        return subset
    chosen = [at * size // limit for at in range(limit)]
    return Subset(tuple(subset.pairs[at] for at in chosen), tuple(subset.gold[at] for at in chosen))
