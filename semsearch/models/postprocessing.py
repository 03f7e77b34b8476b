"""What a bundle does to the vector that its method gives, before that gets length 1: post-processing, step by step.

    whitening   Su et al. 2021, https://arxiv.org/abs/2103.15316: no direction varies more than another
    flow        Li et al. 2020, https://arxiv.org/abs/2011.05864: an invertible network makes of them a Gaussian
    truncate    the first numbers alone, of an encoder trained for it (Kusupati et al. 2022, Matryoshka)

In Torch the steps lie in post/0, post/1 … of the encoder's folder and are run by networks.post; an exported graph holds
them itself. They are part of the fingerprint: vectors before and after cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from semsearch.errors import UsageError
from semsearch.types import JsonObject

WHITENING, FLOW, TRUNCATE = "whitening", "flow", "truncate"
FITTED = (WHITENING, FLOW)
FOLDER = "post"


@dataclass(frozen=True, slots=True)
class Step:
    """One step, which gives `dim` numbers. `sha256` names its weights; `fitted` says what it was fitted on."""

    kind: str
    dim: int
    sha256: str = ""
    fitted: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> JsonObject:
        """What of it decides a vector."""
        return {"kind": self.kind, "dim": self.dim, "sha256": self.sha256}

    def __str__(self) -> str:
        return f"{self.kind} {self.dim}"


Steps = tuple[Step, ...]


def truncate(steps: Steps, dim: int, width: int) -> Steps:
    """`steps`, and of what they give the first `dim` numbers. `width` is what they give, or 0 where it is not known.

    Raises UsageError where there are fewer.
    """
    check(dim, width)
    if dim == width:
        return steps
    kept = steps[:-1] if steps and steps[-1].kind == TRUNCATE else steps
    return (*kept, Step(TRUNCATE, dim))


def settled(steps: Steps, width: int) -> Steps:
    """`steps` behind a method that gives `width` numbers, without those that take nothing away.

    Raises UsageError where more numbers are to be kept than there are.
    """
    found: list[Step] = []
    for step in steps:
        if step.kind == TRUNCATE:
            check(step.dim, width)
        if step.kind != TRUNCATE or step.dim < width:
            found.append(step)
        width = step.dim
    return tuple(found)


def check(dim: int, width: int) -> None:
    """UsageError where a vector of `width` numbers has no first `dim`; a width of 0 is not known yet."""
    if width and dim > width:
        raise UsageError(f"{dim} numbers are to be kept of a vector, and it has {width}.", f"Keep {width} or fewer.")


def told(steps: Sequence[Step]) -> list[str]:
    """
    >>> told([Step("whitening", 256), Step("truncate", 64)])
    ['whitening 256', 'truncate 64']
    """
    return [str(step) for step in steps]
