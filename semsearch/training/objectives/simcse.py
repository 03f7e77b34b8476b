"""SimCSE without labels: a text encoded twice under different dropout, against the other texts of the batch.

Source: Gao et al. 2021, https://arxiv.org/abs/2104.08821: eq. 4, section 3; settings of appendix A for BERT-base. For
RoBERTa-base the paper has batches of 512 texts and a learning rate of 1e-5. The vector is [CLS] of the last layer; it
passes Linear and Tanh in training, not at inference (section 6.3). A base named with a template is read under that
template. The masked-language-model loss of appendix D is left out. A network without dropout learns nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import ABOVE_ZERO
from semsearch.training.objectives._contrastive import TEMPERATURE, ContrastiveObjective


@dataclass(frozen=True, slots=True)
class Options:
    """`temperature` divides the cosines; `head` is Linear and Tanh."""

    temperature: float = field(default=TEMPERATURE, metadata=ABOVE_ZERO)
    head: bool = True


class Objective(ContrastiveObjective):
    hyperparameters = Hyperparameters(
        batch_size=64,
        learning_rate=3e-5,
        max_length=30,  # 32 tokens with [CLS] and [SEP]
        training_templates={"bert": "simcse", "roberta": "simcse"},
    )
