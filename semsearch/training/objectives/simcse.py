"""SimCSE without labels: a text read twice, told apart by dropout alone, against the other texts of the batch.

Source: Gao et al. 2021, https://arxiv.org/abs/2104.08821: eq. 4, section 3; settings of appendix A for BERT-base. There
RoBERTa-base has batches of 512 texts and a rate of 1e-5. The vector, [CLS] of the last layer, passes Linear and Tanh
while it is trained, and is read before them afterwards (section 6.3). A base named with a template is read under that.
Left out is the masked-language-model loss of appendix D. A network without dropout learns nothing from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, Shape, View
from semsearch.training.objectives._contrastive import TEMPERATURE, info_nce, tanh_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

READ = {"bert": "simcse", "roberta": "simcse"}


@dataclass(frozen=True, slots=True)
class Options:
    temperature: float = TEMPERATURE
    head: bool = True


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(
        batch_size=64, learning_rate=3e-5, max_length=30, training_templates=READ
    )  # 32 tokens with [CLS] and [SEP]

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape)
        self.temperature = options.temperature
        self.head = tanh_head(shape.dim, shape.spread) if options.head else nn.Identity()

    @property
    def views(self) -> tuple[View, ...]:
        return View(), View()

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Two (n, d) of the same texts, before the head."""
        once, again = (self.head(each) for each in vectors)
        return info_nce(once, again, self.temperature)
