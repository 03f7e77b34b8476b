"""Decoders tuned on pairs and hard negatives through adapters: PromptEOL, Pretended CoT, Knowledge Enhancement.

Sources: PromptEOL, Jiang et al. 2023, https://arxiv.org/abs/2307.16645, section 4; Pretended CoT and Knowledge
Enhancement, Zhang et al. 2024, https://arxiv.org/abs/2404.03921, section 3.2 and table 2; LoRA, Hu et al. 2021,
https://arxiv.org/abs/2106.09685; QLoRA, Dettmers et al. 2023, https://arxiv.org/abs/2305.14314. The loss is that of
`supervised`; settings are those of the released code (rank 64, α 16, dropout 0.05, on every linear layer but the
language-model head). The template is PromptEOL's unless the base names another: BASE#pretended-cot.

`weights` is how the base's own weights are held, which stay as they are: "nf4" in 4 bits, as the authors have them,
"bf16" or "fp32"; "auto" is nf4 on a CUDA device where bitsandbytes is installed, bf16 on one where it is not, fp32 on a
CPU. Adapters learn in fp32. An encoder is saved with its adapters added to the weights of the base, those of its files
where it was held in 4 bits; beside it, in `adapter`, lie the adapters alone. In-context examples are left out.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from torch import nn

from semsearch.errors import UsageError
from semsearch.models.methods import chosen
from semsearch.models.networks import adapters
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import Shape
from semsearch.training.objectives._contrastive import TEMPERATURE
from semsearch.training.objectives._pairs import PairObjective
from semsearch.utils import optional_packages

WEIGHTS = ("auto", "nf4", "bf16", "fp32")


@dataclass(frozen=True, slots=True)
class Options:
    temperature: float = TEMPERATURE
    hard_weight: float = 0.0
    rank: int = 64
    alpha: int = 16
    dropout: float = 0.05
    weights: str = "auto"


class Objective(PairObjective):
    hyperparameters = Hyperparameters(
        batch_size=256, learning_rate=5e-4, warmup=100, eval_every=50, training_templates={"causal": "prompteol"}
    )

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape, options.temperature, options.hard_weight)

    @classmethod
    def base_precision(cls, device: str, options: Options) -> str:
        """The option `weights`, with "auto" resolved for `device`. Raises UsageError for an unknown value."""
        chosen("weights", options.weights, WEIGHTS)
        if options.weights != "auto":
            return options.weights
        if not device.startswith("cuda"):
            return "fp32"
        return "nf4" if importlib.util.find_spec("bitsandbytes") else "bf16"

    @classmethod
    def prepare(cls, network: nn.Module, options: Options) -> None:
        """Add adapters to every linear layer; nothing else is trained. Raises MissingExtra without peft, UsageError."""
        if options.dropout >= 1:
            raise UsageError(f"dropout cannot be {options.dropout}.", "It has to be below 1.")
        optional_packages.require(("peft",), "training through adapters", "train")
        adapters.add(network, rank=options.rank, alpha=options.alpha, dropout=options.dropout)
