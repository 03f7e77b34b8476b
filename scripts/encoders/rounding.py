"""Training for int8: linear layers that round as the exported graph does, with the gradient of layers that do not.

Weights have 7 bits and a scale for each output, activations 8 bits and a scale and zero for each text: see
semsearch/export/precision.py. Rounding has no gradient of its own; it is passed through (Bengio et al. 2013,
https://arxiv.org/abs/1308.3432).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

WEIGHT_LEVELS = 64  # each side of 0: 7 bits, so that no product overflows
ACTIVATION_LEVELS = 255


class RoundedLinear(nn.Linear):
    """A linear layer with the parameters of `linear`, under the same names."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        return nn.functional.linear(rounded_activations(inputs), rounded_weights(self.weight), self.bias)


def rounded_weights(weight: Tensor) -> Tensor:
    """(outputs, inputs), each output to whole multiples of its largest weight / 64."""
    scale = (weight.detach().abs().amax(1, keepdim=True) / WEIGHT_LEVELS).clamp_min(1e-12)
    return _passed(weight, (weight.detach() / scale).round() * scale)


def rounded_activations(inputs: Tensor) -> Tensor:
    """(n, …), each text to 256 evenly spaced numbers, 0 among them, from its least to its largest."""
    each = inputs.detach().flatten(1)
    least, largest = each.amin(1).clamp_max(0), each.amax(1).clamp_min(0)
    shape = (-1, *[1] * (inputs.dim() - 1))
    scale = ((largest - least) / ACTIVATION_LEVELS).clamp_min(1e-12).view(shape)
    zero = (-least.view(shape) / scale).round()
    whole = (inputs.detach() / scale + zero).round().clamp(0, ACTIVATION_LEVELS)
    return _passed(inputs, (whole - zero) * scale)


def _passed(exact: Tensor, rounded: Tensor) -> Tensor:
    """`rounded`, with the gradient of `exact`."""
    return exact + (rounded - exact.detach()) if torch.is_grad_enabled() else rounded


def round_layers(network: nn.Module) -> None:
    """Put a RoundedLinear in place of every linear layer of `network`."""
    for name, module in list(network.named_children()):
        if type(module) is nn.Linear:
            setattr(network, name, RoundedLinear(module))
        else:
            round_layers(module)


def round_words(table: nn.Embedding) -> None:
    """Round word vectors (v, h), which are not trained, to 8 bits with a scale for each word."""
    rows = table.weight.data
    scale = (rows.abs().amax(1, keepdim=True) / 127).clamp_min(1e-12)
    rows.copy_((rows / scale).round() * scale)
