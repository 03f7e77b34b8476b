"""Decoders tuned on pairs and hard negatives through adapters: PromptEOL, Pretended CoT, Knowledge Enhancement.

Sources: PromptEOL, Jiang et al. 2023, https://arxiv.org/abs/2307.16645, section 4; Pretended CoT and Knowledge
Enhancement, Zhang et al. 2024, https://arxiv.org/abs/2404.03921, section 3.2 and table 2; LoRA, Hu et al. 2021,
https://arxiv.org/abs/2106.09685; QLoRA, Dettmers et al. 2023, https://arxiv.org/abs/2305.14314. The loss is that of
`supervised`; settings are those of the released code (rank 64, α 16, dropout 0.05, on every linear layer except the
language-model head). The template is PromptEOL's unless the base names another: BASE#pretended-cot.

`weights` is the precision of the base's own weights, which are not trained: "nf4" (4 bits, as in the papers), "bf16" or
"fp32"; "auto" is nf4 on a CUDA device with bitsandbytes, bf16 on one without, fp32 on a CPU. Adapters are trained in
fp32. In the saved encoder they are merged into the base's weights, in the precision of its files where it was loaded
in 4 bits; the folder `adapter` beside it has the adapters alone. In-context examples are left out.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field

from semsearch.errors import UsageError
from semsearch.models.methods import chosen
from semsearch.models.networks import adapters
from semsearch.models.networks.masked import Network
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import ABOVE_ZERO, ANY_SIGN
from semsearch.training.objectives._contrastive import TEMPERATURE, PairObjective
from semsearch.utils import plugins

WEIGHTS = ("auto", "nf4", "bf16", "fp32")


@dataclass(frozen=True, slots=True)
class Options:
    """`temperature` divides the cosines, `hard_weight` as in `supervised`; rank, alpha and dropout of LoRA."""

    temperature: float = field(default=TEMPERATURE, metadata=ABOVE_ZERO)
    hard_weight: float = field(default=0.0, metadata=ANY_SIGN)  # added to a logit
    rank: int = field(default=64, metadata=ABOVE_ZERO)
    alpha: int = field(default=16, metadata=ABOVE_ZERO)
    dropout: float = 0.05
    weights: str = "auto"


class Objective(PairObjective):
    hyperparameters = Hyperparameters(
        batch_size=256, learning_rate=5e-4, warmup=100, eval_every=50, training_templates={"causal": "prompteol"}
    )

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
    def prepare(cls, network: Network, options: Options) -> None:
        """Add adapters to every linear layer; nothing else is trained. Raises MissingExtra without peft, UsageError."""
        if options.dropout >= 1:
            raise UsageError(f"dropout cannot be {options.dropout}.", "It has to be below 1.")
        plugins.require(("peft",), "training through adapters", "train")
        adapters.add(network, rank=options.rank, alpha=options.alpha, dropout=options.dropout)
