"""Grids of templates: the prefixes, relations and endings that a search combines, and those of the papers.

Source: Jiang et al. 2022, PromptBERT, https://arxiv.org/abs/2201.04337, table 4, on bert-base-uncased: 39.34 for
"[X] [MASK] ." and 73.44 for the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from semsearch.encoders import factory
from semsearch.errors import UsageError
from semsearch.evaluation.templates import check
from semsearch.models.model_ref import Reference
from semsearch.prompts import MASK, SLOT, library
from semsearch.prompts.library import Template

Lists = tuple[Sequence[str], Sequence[str], Sequence[str]]  # prefixes, relations, endings; the papers' if empty


@dataclass(frozen=True, slots=True)
class TemplateGrid:
    """Pieces of templates: prefix + relation + ending, joined by spaces. A relation without [MASK] gets one."""

    prefixes: tuple[str, ...]
    relations: tuple[str, ...]
    endings: tuple[str, ...]
    masks: bool = True  # whether the method reads [MASK]s

    def __post_init__(self) -> None:
        for name in ("prefixes", "relations", "endings"):
            if not getattr(self, name):
                raise UsageError(f"there are no {name} to search.", "Write one per line, or leave the option out.")
        for prefix in self.prefixes:
            if prefix.count(SLOT) != 1:
                fix = 'A prefix surrounds the sentence, for example: This sentence : "[X]"'
                raise UsageError(f"the prefix {prefix!r} must contain {SLOT} exactly once.", fix)

    def text(self, prefix: str, relation: str, ending: str) -> str:
        """
        >>> TemplateGrid(("[X]",), ("means",), (".",)).text("[X]", "means", ".")
        '[X] means [MASK] .'
        """
        mask = MASK if self.masks and MASK not in relation else ""
        return " ".join(part for part in (prefix, relation, mask, ending) if part)

    def all(self) -> Iterator[str]:
        """Every template of the grid."""
        return (self.text(*pieces) for pieces in product(self.prefixes, self.relations, self.endings))


TABLE_4 = TemplateGrid(
    ("[X]", "This [X]", "This sentence of [X]", 'This sentence of "[X]"', 'This sentence : "[X]"'),
    ("", "is", "mean", "means"),
    (".", "!", "?"),
)
GRIDS = {
    "bert": TABLE_4,
    "roberta": replace(  # its tokens contain spaces, and its papers quote with '
        TABLE_4, prefixes=tuple(prefix.replace('"[X]"', "' [X] '") for prefix in TABLE_4.prefixes)
    ),
    "causal": TemplateGrid(
        ('This sentence : "[X]"', 'After thinking step by step , this sentence : "[X]"'),
        ('means in one word:"', "means something", "can be summarized as"),
        ("",),
        masks=False,
    ),
}


def template_grid(model: str, lists: Lists = ((), (), ()), template: str | None = None) -> TemplateGrid:
    """The templates that a search would try on `model`; its tokenizer is read, its weights are not.

    Raises NotFound, and UsageError if the templates do not fit each other or the model has its template built in.
    """
    return grid_of(searchable(model).with_(template=template), lists)[1]


def grid_of(reference: Reference, lists: Lists, *, trust: bool = False) -> tuple[Template, TemplateGrid]:
    """The template that sets method and rules, and the grid. Raises UsageError if they do not fit each other."""
    _, kind = check.tokenizer_of(str(reference), trust)
    default = GRIDS[kind]
    base = library.resolve(reference.template, causal=kind == "causal") if reference.template else None
    prefixes, relations, endings = (tuple(dict.fromkeys(pieces)) for pieces in lists)
    grid = TemplateGrid(
        prefixes or default.prefixes,
        relations or default.relations,
        endings or default.endings,
        masks=base.masks > 0 if base else default.masks,
    )
    texts = list(grid.all())
    base = base or library.resolve(texts[0], causal=kind == "causal")
    for text in texts:
        if text.count(MASK) != base.masks:
            problem = f"method {base.method} reads {base.masks} {MASK}s, and {text!r} has {text.count(MASK)}."
            fix = "Search templates with the same number of [MASK]s, or name a template with as many."
            raise UsageError(problem, fix)
    return base, grid


def searchable(model: str) -> Reference:
    """The reference of a model whose template can be chosen. Raises UsageError for one with its template built in."""
    reference = Reference.parse(model)
    if reference.model != factory.HASHING and check.is_saved(reference):
        raise UsageError(
            f"{model} has its template built in.",
            "Name a model that runs in PyTorch.",
            "Name a model that runs in PyTorch: -m MODEL",
        )
    return reference
