"""Whether an objective, the data and the base go together: told before anything is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.training.datasets.dataset import Examples
    from semsearch.training.model import Learner
    from semsearch.training.objectives import Base


def check(objective: Base, learner: Learner, examples: Examples, method: str, *, teacher: bool, batch: int) -> None:
    """Raises UsageError where they do not. `teacher`: whether there is one; `batch`: examples a step."""
    _columns(objective, examples, method)
    _batch(objective, method, batch)
    _labels(objective, examples, method, teacher)
    _prompts(objective, learner)


def _columns(objective: Base, examples: Examples, method: str) -> None:
    for view in objective.views:
        if view.column not in examples.columns:
            raise UsageError(
                f"{method} needs a column {view.column}, and {examples.source or 'the data'} has "
                f"{', '.join(examples.columns)}.",
                "Give pairs or triplets (JSON lines, CSV or TSV), or choose a method for plain text: cotbert, simcse.",
            )


def _batch(objective: Base, method: str, batch: int) -> None:
    """Two views of a text are told from those of other texts alone: without any, the loss is 0."""
    if batch == 1 and objective.labels == "none" and len(objective.views) == 2:
        raise UsageError(
            f"{method} tells the texts of a batch apart, and a batch has one.", "Say --batch-size 2 or more."
        )


def _labels(objective: Base, examples: Examples, method: str, teacher: bool) -> None:
    if objective.labels in ("score", "class") and examples.labels is None:
        raise UsageError(
            f"{method} needs labels, and {examples.source or 'the data'} has none.",
            "Add a column score or label, or choose a method that does without.",
        )
    if objective.labels == "teacher" and not teacher:
        raise UsageError(f"{method} needs a teacher.", "Name one: --teacher MODEL")


def _prompts(objective: Base, learner: Learner) -> None:
    """A view's prompt needs the [MASK]s that the base's method reads."""
    reads = learner.method.masks
    for prompt in map(learner.prompt, objective.views):
        if prompt.masks != reads and (reads is not None or not prompt.masks):
            raise UsageError(
                f"{learner.base.trains.name} is read at {reads} [MASK]s, and the objective has a text under "
                f"{prompt.text!r}.",
                "Name a base or templates that go together, or no template: then both are the paper's.",
            )
