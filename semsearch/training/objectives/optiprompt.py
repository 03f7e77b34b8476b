"""OptiPrompt for sentences: the template's words become vectors that learn, and nothing else of the encoder does.

Sources: PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, section 4.2 and appendix C, after OptiPrompt,
Zhong et al. 2021, https://arxiv.org/abs/2104.05240. The vectors begin as the words of promptbert-t2; a text is read
twice under them, told apart by dropout (SimCSE's objective). The encoder is saved with the vectors.

`head`, dropped afterwards: "tanh" is SimCSE's, which the paper follows; "transform" has the form of the head of
BERT's masked-language model, which the released code trains on from the checkpoint, and which begins here at random;
"" is none. The code also puts the vectors where a word of the template was spelled last; see the method optiprompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from semsearch.models.methods import chosen
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, Shape, View
from semsearch.training.objectives._contrastive import TEMPERATURE, info_nce, linear, tanh_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Options:
    temperature: float = TEMPERATURE
    head: str = "tanh"


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(
        batch_size=256,
        learning_rate=3e-5,
        epochs=5,
        eval_every=1000,
        training_templates={"bert": "optiprompt"},
        trainable=("prompt",),
        new_parts=("prompt",),
    )

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape)
        chosen("head", options.head, ("tanh", "transform", ""))
        self.temperature = options.temperature
        self.head = _head(options.head, shape)

    @property
    def views(self) -> tuple[View, ...]:
        return View(), View()

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Two (n, d) of the same texts, before the head."""
        once, again = (self.head(each) for each in vectors)
        return info_nce(once, again, self.temperature)


def _head(name: str, shape: Shape) -> nn.Module:
    if name == "transform":
        return nn.Sequential(linear(shape.dim, shape.dim, shape.spread), nn.GELU(), nn.LayerNorm(shape.dim, eps=1e-12))
    return tanh_head(shape.dim, shape.spread) if name else nn.Identity()
