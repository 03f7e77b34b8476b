"""Shared by the methods that read [MASK]: heads, and the bias of a prompt around an empty sentence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from semsearch.errors import SemsearchError
from semsearch.models.methods import BaseMethod, Batch
from semsearch.models.networks import pooling
from semsearch.models.networks.masked import Inputs, MaskedNetwork
from semsearch.models.tokenization import PromptTokens


def read_mask(network: MaskedNetwork, inputs: Inputs, frame: PromptTokens, layer: int) -> Tensor:
    """The hidden state of each row's last [MASK] after `layer`: (n, h)."""
    return network.read(inputs, pooling.positions_of(inputs.ids, frame.mask, 1), layer)[:, 0]


def bias_of(method: BaseMethod, network: MaskedNetwork, batch: Batch) -> Tensor:
    """The vector of the empty prompt for the length of every sentence: (n, d). With gradients if there is no table."""
    lengths = batch.lengths.clamp(0)  # negative if sentence and prompt merge into fewer tokens
    if batch.bias is not None:
        return batch.bias[lengths.clamp(max=batch.bias.shape[0] - 1)]
    lengths, rows = torch.unique(lengths, return_inverse=True)
    return method.bias(network, batch.frame, lengths)[rows]


def without_bias(vectors: Tensor, bias: Tensor, batch: Batch, *, same_places: bool) -> Tensor:
    """`vectors` (n, d) minus the vector of the empty prompt.

    For an empty sentence whose bias was computed at the same positions the difference is zero up to rounding, which
    would point anywhere; it is made exactly zero.
    """
    difference = vectors - bias
    return difference.masked_fill((batch.lengths <= 0).unsqueeze(1), 0) if same_places else difference


def states_at_masks(method: BaseMethod, network: MaskedNetwork, batch: Batch, inputs: Inputs, layer: int) -> Tensor:
    """The hidden states at all m [MASK]s of the prompt, each less that of the empty prompt if denoised: (n, m, h)."""

    def read(some: Inputs) -> Tensor:
        return network.read(some, pooling.positions_of(some.ids, batch.frame.mask, masks), layer)

    masks = (*batch.frame.before, *batch.frame.after).count(batch.frame.mask)
    states = read(inputs)
    if not method.denoises:
        return states
    lengths, rows = torch.unique(batch.lengths.clamp(0), return_inverse=True)
    return states - read(method.empty(network, batch.frame, lengths))[rows]


def part(network: MaskedNetwork, name: str) -> nn.Module:
    """A head of the checkpoint: transform, decoder or pooler."""
    module: nn.Module | None = getattr(network, name)
    if module is None:
        raise SemsearchError(f"this checkpoint has no {name}.", "Use a checkpoint with its masked-language-model head.")
    return module


def shifted(frame: PromptTokens, lengths: Tensor, first: int) -> Inputs:
    """The empty prompt, its second half at the positions it has after `lengths` tokens: l rows."""
    start, size = len(frame.before), len(frame)
    ids = torch.tensor([*frame.before, *frame.after], device=lengths.device).expand(len(lengths), size)
    places = torch.arange(size, device=lengths.device) + first
    after = (torch.arange(size, device=lengths.device) >= start).long()
    return Inputs(ids, torch.ones_like(ids), places + lengths[:, None] * after)
