"""Greedy template search: the score of each of a grid of prefixes, relations and endings.

Source: Jiang et al. 2022, PromptBERT, https://arxiv.org/abs/2201.04337, section 4.2: first the tokens that relate [X]
to [MASK], then those around [X]. Endings come third: Zhang et al. 2024, https://arxiv.org/abs/2404.03921, table 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from semsearch.encoders import factory
from semsearch.errors import UsageError
from semsearch.evaluation.encoding_windows import WINDOW, OnProgress
from semsearch.evaluation.sts import Pair
from semsearch.evaluation.sts_benchmarks import Subset
from semsearch.evaluation.templates import judging
from semsearch.evaluation.templates.grids import Lists, TemplateGrid, grid_of, searchable
from semsearch.evaluation.templates.judging import Judge, Judgement, Reader
from semsearch.types import Progress

Stage = Literal["relation", "prefix", "ending", "grid"]
Report = Callable[[int, int, str], None]  # (done, total, template)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A template, how it was judged, and the stage that first tried it."""

    text: str
    judgement: Judgement
    stage: Stage

    @property
    def spearman(self) -> float:
        """In percent; NaN without labels, or if all its cosines are equal."""
        return self.judgement.spearman

    @property
    def order(self) -> float:
        score = self.judgement.score
        return -math.inf if math.isnan(score) else score


def search_templates(
    model: str,
    pairs: Sequence[Pair] = (),
    gold: Sequence[float] = (),
    *,
    texts: Sequence[str] = (),
    seeds: Sequence[int] = (),
    lists: Lists = ((), (), ()),
    template: str | None = None,
    full: bool = False,
    device: str = "auto",
    progress: OnProgress | None = None,
    window: int = WINDOW,
) -> list[Candidate]:
    """The templates tried on `model`, best first: by the Spearman of cosines with `gold`, in percent.

    Without labels, `texts` are given in place of pairs, and the sum of alignment and uniformity ranks. With `seeds`,
    each draws half of the pairs or texts, and a score is the mean over them. The search is greedy: first the relation,
    then the prefix, then the ending; or over the `full` grid. `template` sets the method and its rules. `progress` is
    called before every `window` texts and may raise to stop. Raises NotFound, UsageError, DeviceUnavailable, and
    MissingExtra without PyTorch.
    """
    if texts and (pairs or gold):
        raise UsageError("templates are judged by pairs or by texts.", "Pass one of them.")
    if not texts and (len(pairs) < 2 or len(pairs) != len(gold)):
        raise UsageError(
            f"there are {len(pairs)} pairs and {len(gold)} scores.", "Pass two or more, with one score each."
        )
    reference = searchable(model).with_(template=template)
    base, grid = grid_of(reference, lists)
    reference = reference if reference.template else reference.with_(template=base.text["passage"])
    backend, _ = factory.open_backend(reference, device=device)
    size = len(set(texts)) or len({text for pair in pairs for text in pair})
    current = (0, 0, "")  # templates done, all templates, and the one being scored

    def begin(done: int, total: int, text: str) -> None:
        nonlocal current
        current = done, total, text

    def report(embedded: int) -> None:
        done, total, text = current
        if progress is not None:
            progress(Progress(done * size + min(embedded, size), total * size, "texts", text))

    reader = Reader(backend, base, report, window)
    if texts:
        judge = judging.without_labels(reader, texts, seeds)
    else:
        judge = judging.on_pairs(reader, Subset(tuple(pairs), tuple(gold)), seeds)
    return search(grid, judge, full=full, report=begin)


def search(grid: TemplateGrid, judge: Judge, *, full: bool = False, report: Report | None = None) -> list[Candidate]:
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
                tried[template] = Candidate(template, judge(template), stage)
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
