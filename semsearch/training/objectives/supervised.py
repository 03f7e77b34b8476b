"""Related pairs, with or without a hard negative, a text that looks similar and is not: InfoNCE.

Sources: SimCSE, Gao et al. 2021, https://arxiv.org/abs/2104.08821, eq. 5 and appendix A, where a premise of NLI has an
entailed and a contradicted hypothesis; PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, table 15, the
same. The settings are those of both for BERT-base. All texts are read in the same way: the base's own, or a named one.

    BASE#sup-simcse           [CLS] followed by Linear and Tanh, which become part of the encoder
    BASE#promptbert-sup       after the masked-language-model head, on both sides of the difference
    BASE#promptroberta-sup    Linear and Tanh after the difference; promptroberta-sup-released as in the released code

Linear and Tanh are initialised at random, as in the code of both papers. The paper of PromptBERT says that its
supervised models are read without denoising; its code reads them with it. `hard_weight` is added to the logit of a
text's own negative: SimCSE's α is exp(hard_weight), and 0 (α = 1) was best. The contrast has one direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import ABOVE_ZERO, ANY_SIGN
from semsearch.training.objectives._contrastive import TEMPERATURE, PairObjective


@dataclass(frozen=True, slots=True)
class Options:
    """`temperature` divides the cosines."""

    temperature: float = field(default=TEMPERATURE, metadata=ABOVE_ZERO)
    hard_weight: float = field(default=0.0, metadata=ANY_SIGN)  # added to a logit


class Objective(PairObjective):
    hyperparameters = Hyperparameters(batch_size=512, learning_rate=5e-5, epochs=3, new_parts=("pooler",))
