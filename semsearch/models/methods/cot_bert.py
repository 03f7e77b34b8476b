"""CoT-BERT: the last of two [MASK]s, "means [MASK] , so it can be summarized as [MASK] ."

Source: Zhang et al. 2023, https://arxiv.org/abs/2309.11143. `denoise="pad"` subtracts the vector of the template
around as many [PAD]s as the sentence has tokens; the [PAD]s are attended to (section 3.4). According to the paper
this aligns the position ids of template and sentence, and here it does; "pad-released" is the released RoBERTa, which
gives every [PAD] the position of padding and does not shift the tokens after it. For BERT the two are the same.
"position" is PromptBERT's denoising, the comparison in the paper's table 6: no [PAD]s, their positions left out.
`stages=1` reads a template of one [MASK], which is half of the paper's (table 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

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
        chosen("stages", str(self.stages), ("1", "2"))

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
        """(l, h): the vector of the template around `lengths` [PAD]s."""
        if self.denoise == "position":
            inputs = shifted(frame, lengths, network.first_position)
        else:
            inputs = _padded(frame, lengths)
        if self.denoise == "pad-released" and network.first_position:
            real = (inputs.ids != frame.pad).long()
            inputs = Inputs(inputs.ids, inputs.mask, real.cumsum(1) * real + network.first_position - 1)
        return read_mask(network, inputs, frame, self.layer)


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
