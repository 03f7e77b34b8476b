"""Post-processing: the steps between the method's vectors and normalisation, as a bundle lists them.

    whitening   Su et al. 2021, https://arxiv.org/abs/2103.15316: the same variance in every direction
    flow        Li et al. 2020, https://arxiv.org/abs/2011.05864: an invertible map to a Gaussian
    truncate    Kusupati et al. 2022, Matryoshka: the first components, of an encoder trained for it

In PyTorch the steps are in post/0, post/1 … of the encoder's folder and are run by networks.post; an exported graph
contains them. They are part of the fingerprint: vectors before and after cannot be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.errors import UsageError
from semsearch.types import JsonMapping, JsonObject

WHITENING, FLOW, TRUNCATE = "whitening", "flow", "truncate"
FITTED = (WHITENING, FLOW)
FOLDER = "post"


@dataclass(frozen=True, slots=True)
class Step:
    """One step with output width `dim`. `sha256` is that of its weights; `fitted` describes its training data."""

    kind: str
    dim: int
    sha256: str = ""
    fitted: JsonMapping = field(default_factory=dict)

    @property
    def identity(self) -> JsonObject:
        """The part of a step that determines vectors."""
        return {"kind": self.kind, "dim": self.dim, "sha256": self.sha256}

    def __str__(self) -> str:
        return f"{self.kind} {self.dim}"


Steps = tuple[Step, ...]


def truncate(steps: Steps, dim: int, width: int) -> Steps:
    """`steps` followed by truncation to `dim`. `width` is their output width, 0 if unknown.

    Raises UsageError if `dim` exceeds it.
    """
    check(dim, width)
    if dim == width:
        return steps
    others = steps[:-1] if steps and steps[-1].kind == TRUNCATE else steps
    return (*others, Step(TRUNCATE, dim))


def settled(steps: Steps, width: int) -> Steps:
    """`steps` after a method of output width `width`, without truncations that change nothing.

    Raises UsageError if a truncation is wider than its input.
    """
    active: list[Step] = []
    for step in steps:
        if step.kind == TRUNCATE:
            check(step.dim, width)
        if step.kind != TRUNCATE or step.dim < width:
            active.append(step)
        width = step.dim
    return tuple(active)


def check(dim: int, width: int) -> None:
    """UsageError if `dim` exceeds `width`; a width of 0 is unknown."""
    if width and dim > width:
        raise UsageError(f"vectors of width {width} cannot be truncated to {dim}.", f"Choose a dim of {width} or less.")
