"""SimCSE without labels: a text read twice, told apart by dropout alone, against the other texts of the batch.

Source: Gao et al. 2021, https://arxiv.org/abs/2104.08821: eq. 4, section 3; settings of appendix A for BERT-base. There
RoBERTa-base has batches of 512 texts and a rate of 1e-5. The vector, [CLS] of the last layer, passes Linear and Tanh
while it is trained, and is read before them afterwards (section 6.3). A base named with a template is read under that.
Left out is the masked-language-model loss of appendix D. A network without dropout learns nothing from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from semsearch.training.objectives import Base, Recipe, Shape, View
from semsearch.training.objectives._contrast import TEMPERATURE, info_nce, tanh_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

READ = {"bert": "simcse", "roberta": "simcse"}


class Objective(Base):
    recipe = Recipe(batch=64, rate=3e-5, tokens=30, trains=READ)  # 32 tokens with [CLS] and [SEP]

    def __init__(self, shape: Shape, *, temperature: float = TEMPERATURE, head: bool = True) -> None:
        super().__init__(shape)
        self.temperature = temperature
        self.head = tanh_head(shape.dim, shape.spread) if head else nn.Identity()

    @property
    def views(self) -> tuple[View, ...]:
        return View(), View()

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Two (n, d) of the same texts, before the head."""
        once, again = (self.head(each) for each in vectors)
        return info_nce(once, again, self.temperature)
