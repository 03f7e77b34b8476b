"""What methods share that read [MASK]: heads, and the bias of a prompt around nothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from semsearch.errors import SemsearchError
from semsearch.models.methods import Batch, Method
from semsearch.models.networks.masked import Inputs, MaskedNetwork
from semsearch.models.tokenization import PromptTokens


def bias_of(method: Method, network: MaskedNetwork, batch: Batch) -> Tensor:
    """What the prompt says around nothing, for every sentence: (n, d). With gradients where there is no table."""
    lengths = batch.lengths.clamp(0)  # fewer tokens than the prompt alone has: where they merge around nothing
    if batch.bias is not None:
        return batch.bias[lengths.clamp(max=batch.bias.shape[0] - 1)]
    lengths, rows = torch.unique(lengths, return_inverse=True)
    return method.bias(network, batch.frame, lengths)[rows]


def without_bias(vectors: Tensor, bias: Tensor, batch: Batch, *, same_places: bool) -> Tensor:
    """`vectors` (n, d) minus what the prompt says around nothing.

    Where the sentence is nothing and the bias was taken at the same positions, that is zero, and is made exactly
    zero: the rounding that is left would point anywhere.
    """
    left = vectors - bias
    return left.masked_fill((batch.lengths <= 0).unsqueeze(1), 0) if same_places else left


def part(network: MaskedNetwork, name: str) -> nn.Module:
    """A head of the checkpoint: transform, decoder or pooler."""
    module: nn.Module | None = getattr(network, name)
    if module is None:
        raise SemsearchError(f"this checkpoint has no {name}.", "Use a checkpoint with its masked-language-model head.")
    return module


def shifted(frame: PromptTokens, lengths: Tensor, first: int) -> Inputs:
    """The prompt around nothing, its second half at the positions it has behind `lengths` tokens: l rows."""
    start, size = len(frame.before), len(frame)
    ids = torch.tensor([*frame.before, *frame.after], device=lengths.device).expand(len(lengths), size)
    places = torch.arange(size, device=lengths.device) + first
    behind = (torch.arange(size, device=lengths.device) >= start).long()
    return Inputs(ids, torch.ones_like(ids), places + lengths[:, None] * behind)
