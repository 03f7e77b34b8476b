"""SG: the tuned [CLS] and a random layer of a frozen copy, drawn for each text, are each other's positives.

Source: Kim et al. 2021, https://arxiv.org/abs/2106.07345: L^base of section 3.1, settings of table 8. The copy is the
initial network without dropout; the embeddings are not trained. `pool` is how a layer becomes a view: "max" as in the
paper, "mean" as in its SentEval runs (appendix A.3) and by default in the released code. `lowest` is the lowest layer
that is drawn, `strength` is λ, `hidden` 0 leaves out the projection head (table 5).

The released class fails on its labels, and has twice this loss where they are mended; its copy has dropout. Stopping
early after ten lower scores is left out: the best checkpoint is saved, where the authors report the last.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from semsearch.training.objectives._self_guided import Options, SelfGuidedObjective, base, sampled

__all__ = ["Objective", "Options"]


class Objective(SelfGuidedObjective):
    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The tuned vectors (b, d), and every layer's views (b, l + 1, d)."""
        tuned, views = self.projected(vectors)
        return base(tuned, sampled(views), self.options.temperature)
