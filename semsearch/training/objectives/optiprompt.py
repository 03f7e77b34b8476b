"""OptiPrompt for sentences: the template's words become trainable vectors, and the encoder itself stays as it is.

Sources: PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, section 4.2 and appendix C, after OptiPrompt,
Zhong et al. 2021, https://arxiv.org/abs/2104.05240. The vectors are initialised with the words of promptbert-t2; a text
is encoded twice with different dropout (SimCSE's objective). The vectors are saved with the encoder.

`head`, dropped afterwards: "tanh" is SimCSE's, which the paper follows; "transform" has the form of the head of BERT's
masked-language model, which the released code trains from the checkpoint and which is initialised at random here; "" is
none. The code also places the vectors where the last word of the template was spelled; see the method optiprompt.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

from semsearch.models.methods import chosen
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import ABOVE_ZERO
from semsearch.training.objectives._contrastive import TEMPERATURE, ContrastiveObjective, linear


@dataclass(frozen=True, slots=True)
class Options:
    """`temperature` divides the cosines."""

    temperature: float = field(default=TEMPERATURE, metadata=ABOVE_ZERO)
    head: str = "tanh"


class Objective(ContrastiveObjective):
    hyperparameters = Hyperparameters(
        batch_size=256,
        learning_rate=3e-5,
        epochs=5,
        eval_every=1000,
        training_templates={"bert": "optiprompt"},
        trainable=("prompt",),
        new_parts=("prompt",),
    )

    def make_head(self) -> nn.Module:
        chosen("head", self.options.head, ("tanh", "transform", ""))
        if self.options.head != "transform":
            return super().make_head()
        size = self.shape.dim
        return nn.Sequential(linear(size, size, self.shape.spread), nn.GELU(), nn.LayerNorm(size, eps=1e-12))
