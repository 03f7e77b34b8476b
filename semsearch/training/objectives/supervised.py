"""Pairs that belong together, with or without a text that looks alike and does not: InfoNCE with hard negatives.

Sources: SimCSE, Gao et al. 2021, https://arxiv.org/abs/2104.08821, eq. 5 and appendix A, where a premise of NLI has an
entailed and a contradicted hypothesis; PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, table 15, the
same. Settings are theirs for BERT-base. All texts are read in one way, which is the base's own unless it is named:

    BASE#sup-simcse           [CLS] behind Linear and Tanh, which stay
    BASE#promptbert-sup       behind the masked-language-model head, on both sides of the difference
    BASE#promptroberta-sup    Linear and Tanh behind the difference; promptroberta-sup-released as the released code

Linear and Tanh begin at random, as both papers' code has it. The paper of PromptBERT says that its supervised models
are read without denoising; its code reads them with it. `hard_weight` is added to the logit of a text's own negative:
SimCSE's α is exp(hard_weight), its code's figure is hard_weight, and 0 (α = 1) was best. Contrast in one direction.
"""

from __future__ import annotations

from dataclasses import dataclass

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import Shape
from semsearch.training.objectives._contrastive import TEMPERATURE
from semsearch.training.objectives._pairs import PairObjective


@dataclass(frozen=True, slots=True)
class Options:
    temperature: float = TEMPERATURE
    hard_weight: float = 0.0


class Objective(PairObjective):
    hyperparameters = Hyperparameters(batch_size=512, learning_rate=5e-5, epochs=3, new_parts=("pooler",))

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape, options.temperature, options.hard_weight)
