"""SG: the tuned [CLS] and one layer of a frozen copy, drawn anew for every text, are each other's positives.

Source: Kim et al. 2021, https://arxiv.org/abs/2106.07345: L^base of section 3.1, settings of table 8. The copy is the
network as it began and has no dropout; the embeddings are held. `pool` is how a layer becomes a view: "max" as the
paper says, "mean" as it has it for SentEval (appendix A.3) and as the released code has it by default. `lowest` is
the lowest layer that is drawn, `strength` is λ, `hidden` 0 leaves out the projection head (table 5).

The released class fails on its labels, and with those mended has twice this loss; its copy has dropout. Stopping early
after ten scores that fell is left out: the best checkpoint is kept, where the authors report the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semsearch.training.objectives._self_guided import Options, SelfGuidedObjective, base, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = ["Objective", "Options"]


class Objective(SelfGuidedObjective):
    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The tuned vectors (b, d), and every layer's views (b, l + 1, d)."""
        tuned, views = self.projected(vectors)
        return base(tuned, sampled(views), self.options.temperature)
