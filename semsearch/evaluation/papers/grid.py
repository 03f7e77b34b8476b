"""Every layer under every pooling: where in a network the likeness of sentences is to be read.

Source: SG-OPT, Kim et al. 2021, https://arxiv.org/abs/2106.07345, figure 1: Spearman on STS-B for [CLS], the mean and
the maximum over tokens, of the embedding output and of every layer of BERT. Beyond it: the [MASK] where the prompt has
one, and the last token of decoders, whose first sees nothing. Left out: heads and biases, which belong to one layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from semsearch.encoders import factory
from semsearch.evaluation.sts import Subset, spearman
from semsearch.models import pooling
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import Inputs
from semsearch.models.tokenization import Tokenizer, by_length, padded

if TYPE_CHECKING:
    from torch import Tensor

PAIRS = 64  # at most, that run together
TOKENS = 1024  # of one side of them, padding included

Pool = Callable[["Tensor", Inputs], "Tensor"]  # (n, t, h) and what was read -> (n, h)


@dataclass(frozen=True, slots=True)
class Grid:
    """`scores[layer][pooling]`, Spearman in percent, layer 0 the embedding output; NaN where all cosines are one."""

    poolings: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]

    @property
    def best(self) -> tuple[int, str, float]:
        """Layer, pooling and score of the highest."""
        found = np.nan_to_num(np.array(self.scores), nan=-np.inf)
        layer, at = np.unravel_index(int(found.argmax()), found.shape)
        return int(layer), self.poolings[at], self.scores[layer][at]


def grid(engine: Any, subset: Subset, report: Callable[[int, int], None] | None = None) -> Grid:
    """The scores of `engine`, which runs in Torch, under its prompt for passages. `report` hears (pairs done, of all).

    Raises UsageError for an engine whose layers cannot be seen.
    """
    network = network_of(engine)
    prompt = engine.prompts["passage"]
    tokenizer = Tokenizer(engine.bundle.path("tokenizer"), engine.max_tokens, engine.bundle.tokens)
    pools = _pools(network, tokenizer.frame(prompt).mask if prompt.masks else -1)
    sides = [tokenizer.ids([pair[side] for pair in subset.pairs], prompt) for side in (0, 1)]
    longest = [max(len(left), len(right)) for left, right in zip(*sides, strict=True)]
    together = PAIRS if getattr(network, "pads", True) else 1
    cosines = np.empty((network.depth + 1, len(pools), len(longest)))
    done = 0
    for places in by_length(longest, most_texts=together, most_tokens=TOKENS):
        left, right = (_pooled(network, [rows[at] for at in places], engine.device, pools) for rows in sides)
        cosines[:, :, places] = torch.nn.functional.cosine_similarity(left, right, dim=-1).nan_to_num().cpu().numpy()
        done += len(places)
        if report is not None:
            report(done, len(longest))
    scores = tuple(tuple(100 * spearman(cell, subset.gold) for cell in layer) for layer in cosines)
    return Grid(tuple(pools), scores)


def network_of(engine: Any) -> Any:
    """The network whose layers can be read. Raises UsageError where there is none, as in ONNX Runtime."""
    return factory.torch_backend(engine, "reading layers").network


@torch.inference_mode()
def _pooled(network: Any, rows: list[list[int]], device: str, pools: dict[str, Pool]) -> Tensor:
    """(layers, poolings, n, h)."""
    inputs = Inputs(*(torch.from_numpy(each).to(device) for each in padded(rows)))
    states = network.states(inputs, range(network.depth + 1))
    return torch.stack([torch.stack([pool(state, inputs).float() for pool in pools.values()]) for state in states])


def _pools(network: Any, mask: int) -> dict[str, Pool]:
    """What may be read of a layer; `mask` is the id of [MASK] where the prompt has one."""
    over: dict[str, Pool] = {
        "mean": lambda hidden, inputs: pooling.mean_pool(hidden, inputs.mask),
        "max": lambda hidden, inputs: pooling.max_pool(hidden, inputs.mask),
    }
    if isinstance(network, CausalNetwork):
        return {"last": lambda hidden, inputs: _one(hidden, pooling.last(inputs.mask)), **over}
    over = {"cls": lambda hidden, inputs: _one(hidden, pooling.first(inputs.ids)), **over}
    if mask >= 0:
        over["mask"] = lambda hidden, inputs: _one(hidden, pooling.positions_of(inputs.ids, mask, 1))
    return over


def _one(hidden: Tensor, positions: Tensor) -> Tensor:
    return pooling.at(hidden, positions)[:, 0]
