"""A sentence-transformers pipeline: pooling, then dense layers, layer norms and normalisation, in the folder's order.

Source: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084, and the modules of that library. `pooling` names
one or several ways, whose vectors are concatenated; `then` the folders of the modules that follow, "normalize"
among them. `include_prompt` false leaves the prompt's tokens out of the pooling (Instructor, Su et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.networks import pooling
from semsearch.models.networks.masked import Inputs, MaskedNetwork

POOLED = {
    "mean": pooling.mean_pool,
    "max": pooling.max_pool,
    "mean_sqrt_len_tokens": pooling.mean_sqrt_pool,
    "weightedmean": pooling.weighted_mean_pool,
}
READ = ("cls", "lasttoken")
NORMALIZE = "normalize"


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    pooling: tuple[str, ...] = ("mean",)
    then: tuple[str, ...] = ()
    include_prompt: bool = True

    def __post_init__(self) -> None:
        if not self.pooling:
            raise UsageError("there is no pooling.", f"Name one or several of: {', '.join((*POOLED, *READ))}.")
        for way in self.pooling:
            chosen("pooling", way, (*POOLED, *READ))

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(self.then) - {NORMALIZE}

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, d): the width of the last module, or h for each way of pooling."""
        inputs = Inputs(batch.ids, batch.mask)
        if len(self.pooling) == 1 and self.pooling[0] in READ:
            vectors = network.read(inputs, _position(self.pooling[0], batch))[:, 0]
        else:
            (hidden,) = network.states(inputs, (-1,))
            mask = batch.mask if self.include_prompt else _without_prompt(batch)
            vectors = torch.cat([_pooled(way, hidden, mask, batch) for way in self.pooling], dim=1)
        for name in self.then:
            step = torch.nn.functional.normalize if name == NORMALIZE else network.then[name]
            vectors = step(vectors)
        return vectors


def _pooled(way: str, hidden: Tensor, mask: Tensor, batch: Batch) -> Tensor:
    return POOLED[way](hidden, mask) if way in POOLED else pooling.at(hidden, _position(way, batch))[:, 0]


def _position(way: str, batch: Batch) -> Tensor:
    return pooling.first(batch.ids) if way == "cls" else pooling.last(batch.mask)


def _without_prompt(batch: Batch) -> Tensor:
    """The mask without the tokens before the sentence; unchanged without a prompt or without tokens after it."""
    if len(batch.frame.before) == batch.frame.lead:
        return batch.mask
    places = torch.arange(batch.mask.shape[1], device=batch.mask.device)
    after = batch.mask * (places >= len(batch.frame.before)).long()
    return torch.where(after.any(1, keepdim=True), after, batch.mask)
