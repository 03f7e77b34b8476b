"""The search for a template from a model's name: what may be tried on it, and every trial with its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semsearch.encoders import factory
from semsearch.errors import UsageError
from semsearch.evaluation.sts import Subset
from semsearch.evaluation.sts_tasks import in_windows
from semsearch.evaluation.templates import check, grid_search
from semsearch.evaluation.templates.grid_search import GRIDS, Candidate, Grid
from semsearch.models.model_ref import Reference
from semsearch.prompts import MASK, library
from semsearch.types import Progress

if TYPE_CHECKING:
    from semsearch.encoders.base import EncoderBackend
    from semsearch.evaluation.sts import Pair
    from semsearch.evaluation.sts_tasks import Step
    from semsearch.prompts import Prompt
    from semsearch.prompts.library import Template
    from semsearch.types import Vectors

Lists = tuple[Sequence[str], Sequence[str], Sequence[str]]  # prefixes, relations, endings; those of papers where empty


def template_grid(model: str, lists: Lists = ((), (), ()), template: str | None = None) -> Grid:
    """The templates that a search would try on `model`, whose tokenizer is read and not its weights.

    Raises NotFound, and UsageError where they do not go together or the model has its template built in.
    """
    return chosen(_free(model).with_(template=template), lists)[1]


def search_templates(
    model: str,
    pairs: Sequence[Pair],
    gold: Sequence[float],
    *,
    lists: Lists = ((), (), ()),
    template: str | None = None,
    full: bool = False,
    device: str = "auto",
    step: Step | None = None,
) -> list[Candidate]:
    """The templates that were tried on `model`, best first: Spearman in percent of their cosines with `gold`.

    Greedily: first the relation, then the prefix, then the ending; or the `full` grid. `template` says whose method
    and rules hold. `step` hears before every 128 texts which template is tried, and may raise to end it. Raises
    NotFound, UsageError, DeviceUnavailable, and MissingExtra without torch.
    """
    if len(pairs) < 2 or len(pairs) != len(gold):
        raise UsageError(f"{len(pairs)} pairs were given with {len(gold)} scores.", "Two pairs or more, a score each.")
    reference = _free(model).with_(template=template)
    base, grid = chosen(reference, lists)
    reference = reference if reference.template else reference.with_(template=base.text["passage"])
    engine, _ = factory.open_backend(reference, device=device)
    watched = _Watched(engine, len({text for pair in pairs for text in pair}), step)
    score = grid_search.scorer(watched, base, Subset(tuple(pairs), tuple(gold)))
    return grid_search.search(grid, score, full=full, report=watched.report)


def chosen(reference: Reference, lists: Lists, *, trust: bool = False) -> tuple[Template, Grid]:
    """The template whose method and rules hold, and the grid. Raises UsageError where they do not go together."""
    _, kind = check.tokenizer_of(str(reference), trust)
    usual, (prefixes, relations, endings) = GRIDS[kind], lists
    base = library.resolve(reference.template, causal=kind == "causal") if reference.template else None
    grid = Grid(
        prefixes=tuple(dict.fromkeys(prefixes)) or usual.prefixes,
        relations=tuple(dict.fromkeys(relations)) or usual.relations,
        endings=tuple(dict.fromkeys(endings)) or usual.endings,
        masks=base.masks > 0 if base else usual.masks,
    )
    texts = list(grid.all())
    base = base or library.resolve(texts[0], causal=kind == "causal")
    for text in texts:
        if text.count(MASK) != base.masks:
            raise UsageError(
                f"method {base.method} reads {base.masks} {MASK}s, and {text!r} has {text.count(MASK)}.",
                "Search among templates with one number of [MASK]s, or name a --template with as many.",
            )
    return base, grid


def refuse_saved(reference: Reference, model: str) -> None:
    """Raises UsageError for an encoder whose template is built in."""
    if reference.model != factory.HASHING and check.is_saved(reference):
        raise UsageError(f"{model} has its template built in.", "Name a model that runs in Torch: -m MODEL")


def _free(model: str) -> Reference:
    reference = Reference.parse(model)
    refuse_saved(reference, model)
    return reference


@dataclass(slots=True)
class _Watched:
    """An engine that embeds in windows, each told to `step`: how many of all texts of all templates are done."""

    engine: EncoderBackend
    texts: int  # of one template
    step: Step | None
    done: int = 0  # templates
    total: int = 0
    item: str = ""

    def report(self, done: int, total: int, text: str) -> None:
        self.done, self.total, self.item = done, total, text

    def embed(self, texts: Sequence[str], prompt: Prompt) -> Vectors:
        return in_windows(lambda some: self.engine.embed(some, prompt), texts, self._tell)

    def _tell(self, texts: int) -> None:
        if self.step is not None:
            self.step(Progress(self.done * self.texts + texts, self.total * self.texts, "texts", self.item))
