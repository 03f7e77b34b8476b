"""Layer scores: Spearman on sentence pairs for every layer of a network with every pooling.

Source: SG-OPT, Kim et al. 2021, https://arxiv.org/abs/2106.07345, figure 1: Spearman on STS-B for [CLS], the mean and
the maximum over tokens, of the embedding output and of every layer of BERT. Added here: the [MASK] if the prompt has
one, and the last token for decoders, whose first token sees nothing. Left out: heads and biases, which belong to one
layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch

from semsearch.evaluation.papers.inspection import inspected
from semsearch.evaluation.sts import spearman
from semsearch.models import pooling
from semsearch.models.batching import batches_by_length, pad
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import Inputs, MaskedNetwork

if TYPE_CHECKING:
    from torch import Tensor

    from semsearch.encoders.base import BaseEncoder
    from semsearch.evaluation.sts_benchmarks import Subset

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
        found = np.nan_to_num(np.array(self.scores), nan=-np.inf)
        layer, at = np.unravel_index(int(found.argmax()), found.shape)
        return int(layer), self.poolings[at], self.scores[layer][at]


def layer_scores(encoder: BaseEncoder, subset: Subset, report: Callable[[int, int], None] | None = None) -> LayerScores:
    """The scores of an encoder with its prompt for passages. `report` is called with (pairs done, total).

    Raises UsageError for an encoder that does not run in PyTorch.
    """
    backend, tokenizer = inspected(encoder, "reading layers")
    network, prompt = backend.network, backend.prompts["passage"]
    pools = _pools(network, tokenizer.frame(prompt).mask if prompt.masks else -1)
    sides = [tokenizer.ids([pair[side] for pair in subset.pairs], prompt) for side in (0, 1)]
    longest = [max(len(left), len(right)) for left, right in zip(*sides, strict=True)]
    most = PAIRS if getattr(network, "pads", True) else 1
    cosines = np.empty((network.depth + 1, len(pools), len(longest)))
    done = 0
    for places in batches_by_length(longest, max_texts=most, max_tokens=TOKENS):
        left, right = (_pooled(network, [rows[at] for at in places], backend.device, pools) for rows in sides)
        cosines[:, :, places] = torch.nn.functional.cosine_similarity(left, right, dim=-1).nan_to_num().cpu().numpy()
        done += len(places)
        if report is not None:
            report(done, len(longest))
    return LayerScores(
        tuple(pools), tuple(tuple(100 * spearman(cell, subset.gold) for cell in layer) for layer in cosines)
    )


@torch.inference_mode()
def _pooled(network: Network, rows: list[list[int]], device: str, pools: dict[str, Pool]) -> Tensor:
    """(layers, poolings, n, h)."""
    inputs = Inputs(*(torch.from_numpy(each).to(device) for each in pad(rows)))
    states = network.states(inputs, range(network.depth + 1))
    return torch.stack([torch.stack([pool(state, inputs).float() for pool in pools.values()]) for state in states])


def _pools(network: Network, mask: int) -> dict[str, Pool]:
    """The poolings of a layer; `mask` is the id of [MASK] if the prompt has one, else -1."""
    over: dict[str, Pool] = {
        "mean": lambda hidden, inputs: pooling.mean_pool(hidden, inputs.mask),
        "max": lambda hidden, inputs: pooling.max_pool(hidden, inputs.mask),
    }
    if isinstance(network, CausalNetwork):
        return {"last": lambda hidden, inputs: _at_one(hidden, pooling.last(inputs.mask)), **over}
    over = {"cls": lambda hidden, inputs: _at_one(hidden, pooling.first(inputs.ids)), **over}
    if mask >= 0:
        over["mask"] = lambda hidden, inputs: _at_one(hidden, pooling.positions_of(inputs.ids, mask, 1))
    return over


def _at_one(hidden: Tensor, positions: Tensor) -> Tensor:
    return pooling.at(hidden, positions)[:, 0]
