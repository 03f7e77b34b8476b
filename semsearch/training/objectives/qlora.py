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
from collections.abc import Mapping
from typing import Any

from semsearch.errors import MissingExtra, UsageError
from semsearch.models.methods import chosen
from semsearch.models.networks import adapters
from semsearch.training.objectives import Recipe, Shape
from semsearch.training.objectives._contrast import TEMPERATURE
from semsearch.training.objectives.supervised import Objective as Supervised

WEIGHTS = ("auto", "nf4", "bf16", "fp32")


class Objective(Supervised):
    recipe = Recipe(batch=256, rate=5e-4, warmup=100, eval_every=50, trains={"causal": "prompteol"})

    def __init__(
        self,
        shape: Shape,
        *,
        temperature: float = TEMPERATURE,
        hard_weight: float = 0.0,
        rank: int = 64,
        alpha: int = 16,
        dropout: float = 0.05,
        weights: str = "auto",
    ) -> None:
        super().__init__(shape, temperature=temperature, hard_weight=hard_weight)

    @classmethod
    def weights(cls, device: str, options: Mapping[str, Any]) -> str:
        """What `weights` comes to on `device`. Raises UsageError for another word."""
        wanted = str(options["weights"])
        chosen("weights", wanted, WEIGHTS)
        if wanted != "auto":
            return wanted
        if not device.startswith("cuda"):
            return "fp32"
        return "nf4" if importlib.util.find_spec("bitsandbytes") else "bf16"

    @classmethod
    def prepare(cls, network: Any, options: Mapping[str, Any]) -> None:
        """Put adapters beside every linear layer; nothing else learns. Raises MissingExtra without peft, UsageError."""
        if options["dropout"] >= 1:
            raise UsageError(f"dropout cannot be {options['dropout']}.", "It has to be below 1.")
        if importlib.util.find_spec("peft") is None:
            raise MissingExtra("training through adapters", "train")
        adapters.add(network, rank=options["rank"], alpha=options["alpha"], dropout=options["dropout"])
