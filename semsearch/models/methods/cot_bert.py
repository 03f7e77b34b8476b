"""CoT-BERT: the last of two [MASK]s, "means [MASK] , so it can be summarized as [MASK] ."

Source: Zhang et al. 2023, https://arxiv.org/abs/2309.11143. `denoise="pad"` subtracts the vector of the template
around as many [PAD]s as the sentence has tokens; the [PAD]s are attended to (section 3.4). According to the paper
this aligns the position ids of template and sentence, and here it does; "pad-released" is the released RoBERTa, which
gives every [PAD] the position of padding and does not shift the tokens after it. For BERT the two are the same.
"position" is PromptBERT's denoising, the comparison in the paper's table 6: no [PAD]s, their positions left out.
`stages` is the number of [MASK]s in the template: 1 is half of the paper's (table 3), more than 2 what it leaves open
(section 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.methods._masks import bias_of, read_mask, shifted, without_bias
from semsearch.models.networks.masked import Inputs, MaskedNetwork
from semsearch.models.tokenization import PromptTokens


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    denoise: str = ""
    layer: int = -1
    stages: int = 2

    kind: ClassVar[str] = "masked"

    def __post_init__(self) -> None:
        chosen("denoise", self.denoise, ("", "pad", "pad-released", "position"))
        if self.stages < 1:
            raise UsageError(
                f"stages cannot be {self.stages}.", "A template has at least one [MASK]; the paper's has 2."
            )

    @property
    def masks(self) -> int | None:
        return self.stages

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, h)."""
        vectors = read_mask(network, Inputs(batch.ids, batch.mask), batch.frame, self.layer)
        if self.denoise:
            return without_bias(vectors, bias_of(self, network, batch), batch, same_places=True)
        return vectors

    def bias(self, network: MaskedNetwork, frame: PromptTokens, lengths: Tensor) -> Tensor:
        """(l, h)."""
        return read_mask(network, self.empty(network, frame, lengths), frame, self.layer)

    def empty(self, network: MaskedNetwork, frame: PromptTokens, lengths: Tensor) -> Inputs:
        """The template around `lengths` [PAD]s, or at the positions for as many tokens."""
        if self.denoise == "position":
            return shifted(frame, lengths, network.first_position)
        inputs = _padded(frame, lengths)
        if self.denoise == "pad-released" and network.first_position:
            real = (inputs.ids != frame.pad).long()
            return Inputs(inputs.ids, inputs.mask, real.cumsum(1) * real + network.first_position - 1)
        return inputs


def _padded(frame: PromptTokens, lengths: Tensor) -> Inputs:
    """Rows of before, `lengths` [PAD]s, after; the rest of a row is masked."""
    start, size = len(frame.before), len(frame)
    places = torch.arange(size + int(lengths.max()), device=lengths.device)
    after = places - lengths[:, None]  # the place in the template of a token after the [PAD]s
    template = torch.tensor([*frame.before, *frame.after], device=lengths.device)
    source = torch.where(places < start, places, after.clamp(start, size - 1))
    inside = (places < start) | ((after >= start) & (after < size))
    ids = torch.where(inside, template[source], torch.full_like(source, frame.pad))
    return Inputs(ids, (after < size).long())
