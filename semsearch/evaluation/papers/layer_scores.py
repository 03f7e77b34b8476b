"""Layer scores: Spearman on sentence pairs for every layer of a network with every pooling.

Source: SG-OPT, Kim et al. 2021, https://arxiv.org/abs/2106.07345, figure 1: Spearman on STS-B for [CLS], the mean and
the maximum over tokens, of the embedding output and of every layer of BERT. Added here: the [MASK] if the prompt has
one, and the last token for decoders, whose first token does not attend to any other. Heads and biases are left out,
since they belong to one layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from semsearch.encoders import factory
from semsearch.encoders.base import BaseEncoder
from semsearch.evaluation.sts import spearman
from semsearch.evaluation.sts_benchmarks import Subset
from semsearch.models.batching import batches_by_length, pad
from semsearch.models.networks import pooling
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import Inputs, MaskedNetwork

PAIRS = 64  # per batch, at most
TOKENS = 1024  # of one side of a batch, padding included

Network: TypeAlias = MaskedNetwork | CausalNetwork
Pool = Callable[["Tensor", Inputs], "Tensor"]  # hidden states (n, t, h) and their inputs -> (n, h)


@dataclass(frozen=True, slots=True)
class LayerScores:
    """`scores[layer][pooling]`, Spearman in percent, layer 0 the embedding output; NaN if all cosines are equal."""

    poolings: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]

    @property
    def best(self) -> tuple[int, str, float]:
        """Layer, pooling and score of the highest."""
        table = np.nan_to_num(np.array(self.scores), nan=-np.inf)
        layer, at = np.unravel_index(int(table.argmax()), table.shape)
        return int(layer), self.poolings[at], self.scores[layer][at]


def layer_scores(encoder: BaseEncoder, subset: Subset, report: Callable[[int, int], None] | None = None) -> LayerScores:
    """The scores of an encoder with its prompt for passages. Raises UsageError unless it runs in PyTorch."""
    backend = factory.torch_backend(encoder, "reading layers")
    tokenizer = backend.new_tokenizer()
    network, prompt = backend.network, backend.prompts["passage"]
    pools = _pools(network, tokenizer.frame(prompt).mask if prompt.masks else -1)
    sides = [tokenizer.ids([pair[side] for pair in subset.pairs], prompt) for side in (0, 1)]
    longest = [max(len(left), len(right)) for left, right in zip(*sides, strict=True)]
    most = PAIRS if network.pads else 1
    cosines = np.empty((network.depth + 1, len(pools), len(longest)))
    done = 0
    for places in batches_by_length(longest, max_texts=most, max_tokens=TOKENS):
        left, right = (_pooled(network, [rows[at] for at in places], backend.device, pools) for rows in sides)
        cosines[:, :, places] = torch.nn.functional.cosine_similarity(left, right, dim=-1).nan_to_num().cpu().numpy()
        done += len(places)
        if report is not None:
            report(done, len(longest))
    scores = tuple(tuple(100 * spearman(cell, subset.gold) for cell in layer) for layer in cosines)
    return LayerScores(tuple(pools), scores)


@torch.inference_mode()
def _pooled(network: Network, rows: list[list[int]], device: str, pools: dict[str, Pool]) -> Tensor:
    """(layers, poolings, n, h)."""
    inputs = Inputs(*(torch.from_numpy(each).to(device) for each in pad(rows)))
    states = network.states(inputs, range(network.depth + 1))
    return torch.stack([torch.stack([pool(state, inputs).float() for pool in pools.values()]) for state in states])


def _pools(network: Network, mask: int) -> dict[str, Pool]:
    """The poolings of a layer; `mask` is the id of [MASK] if the prompt has one, else -1."""

    def at_one(positions: Callable[[Inputs], Tensor]) -> Pool:
        return lambda hidden, inputs: pooling.at(hidden, positions(inputs))[:, 0]

    over: dict[str, Pool] = {
        "mean": lambda hidden, inputs: pooling.mean_pool(hidden, inputs.mask),
        "max": lambda hidden, inputs: pooling.max_pool(hidden, inputs.mask),
    }
    if isinstance(network, CausalNetwork):
        return {"last": at_one(lambda inputs: pooling.last(inputs.mask)), **over}
    over = {"cls": at_one(lambda inputs: pooling.first(inputs.ids)), **over}
    return over if mask < 0 else over | {"mask": at_one(lambda inputs: pooling.positions_of(inputs.ids, mask, 1))}
