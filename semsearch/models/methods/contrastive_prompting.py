"""Contrastive Prompting: a decoder's last token, steered away from what a second prompt calls irrelevant.

Source: Cheng et al. 2025, https://arxiv.org/abs/2505.12831, section 4. Both prompts are read up to the attention of one
block. What it has gathered for the last token under the auxiliary prompt is subtracted from the same under the normal
one (eq. 1), and the result gets the length it had before (norm recovering, eq. 3) or a factor (norm scaling, eq. 2).
The paper steers block 5 under PromptEOL and 7 under Pretended CoT and Knowledge Enhancement, of LLaMA2 7b; it reads the
27th of its 32 layers under the first two, chosen on STS-B dev, and the one below the last under the third, as here.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.methods import Batch, under
from semsearch.models.methods._last_token import LastToken
from semsearch.models.networks import pooling
from semsearch.models.networks.causal import CausalNetwork, Edits
from semsearch.models.networks.masked import Inputs
from semsearch.prompts import Prompt

PAPERS_BLOCK = 5  # of PromptEOL, section 5.1
SMALLEST = 1e-7  # added to a length by which is divided, in the released code


@dataclass(frozen=True, slots=True)
class Method(LastToken):
    """`auxiliary`: the second prompt. `block`: the one that is steered, from 1; 0 for the paper's, or the last that is
    run in a model with fewer. `scale`: the factor of norm scaling; 0 recovers the norm.
    """

    layer: int = -2
    auxiliary: str = 'The irrelevant information of this sentence : "[X]" means in one word:"'
    block: int = 0
    scale: float = 0.0

    def __post_init__(self) -> None:
        LastToken.__post_init__(self)
        if self.block < 0 or self.scale < 0:
            name = "block" if self.block < 0 else "scale"
            raise UsageError(f"{name} cannot be {getattr(self, name)}.", "Choose 0 or more.")

    def readings(self, prompt: Prompt) -> tuple[Prompt, ...]:
        return prompt, under(prompt, self.auxiliary)

    def embed(self, network: CausalNetwork, batch: Batch) -> Tensor:
        """(n, h). Raises UsageError for a model that runs as a whole, or has no such block below the layer."""
        (other,) = batch.others
        block, last = self._steered(network), pooling.last(batch.mask)
        irrelevant = network.values(Inputs(other.ids, other.mask), pooling.last(other.mask), block, other.past)

        def steer(values: Tensor) -> Tensor:
            own = pooling.at(values, last)
            contrast = own - irrelevant
            lengths = [each.norm(dim=-1, keepdim=True) for each in (own, contrast)]
            factor = self.scale or lengths[0] / (lengths[1] + SMALLEST)
            return values.scatter(1, last[:, :, None].expand_as(contrast), contrast * factor)

        inputs, edits = Inputs(batch.ids, batch.mask), Edits(values={block: steer})
        return network.read(inputs, last, self.layer, norm=self.norm, past=batch.past, edits=edits)[:, 0]

    def _steered(self, network: CausalNetwork) -> int:
        """The block that is steered, from 0."""
        level = network.level(self.layer)
        if self.block > level or not level:
            raise UsageError(
                f"block cannot be {self.block or 1} where layer {level} is read.", f"Choose from 1 to {level}."
            )
        return (self.block or min(PAPERS_BLOCK, level)) - 1
