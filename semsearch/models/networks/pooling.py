"""From the vectors of tokens to the vector of a text: pure functions of tensors, differentiable and traceable.

Letters: n texts, t tokens, m tokens that are read, h hidden width. `mask` is (n, t), 1 for a real token.
"""

from __future__ import annotations

import torch
from torch import Tensor


def mean_pool(hidden: Tensor, mask: Tensor) -> Tensor:
    """Average the hidden states of real tokens: (n, t, h) and (n, t) give (n, h).

    Padding has no weight, so the result does not depend on how far the batch was padded. Every row needs one real
    token. Sums are float32 at least: those of fp16 end at 65,504.
    """
    weights = mask.to(torch.promote_types(hidden.dtype, torch.float32)).unsqueeze(-1)
    return ((hidden * weights).sum(1) / weights.sum(1)).to(hidden.dtype)


def mean_sqrt_pool(hidden: Tensor, mask: Tensor) -> Tensor:
    """The sum over real tokens by the square root of their number: (n, t, h) -> (n, h)."""
    return mean_pool(hidden, mask) * mask.sum(1, keepdim=True).to(hidden.dtype).sqrt()


def weighted_mean_pool(hidden: Tensor, mask: Tensor) -> Tensor:
    """The mean with weights 1, 2, … t, so that later tokens count for more (SGPT, Muennighoff 2022, eq. 2)."""
    places = torch.arange(1, hidden.shape[1] + 1, device=hidden.device)
    return mean_pool(hidden, mask * places)


def max_pool(hidden: Tensor, mask: Tensor) -> Tensor:
    """The largest value of every component over real tokens: (n, t, h) -> (n, h)."""
    return hidden.masked_fill(mask.unsqueeze(-1) == 0, torch.finfo(hidden.dtype).min).amax(1)


def at(hidden: Tensor, positions: Tensor) -> Tensor:
    """The hidden states at `positions` (n, m): (n, t, h) -> (n, m, h)."""
    return hidden.gather(1, positions.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))


def first(ids: Tensor) -> Tensor:
    """The position of the first token of each row: (n, 1)."""
    return torch.zeros_like(ids[:, :1])


def last(mask: Tensor) -> Tensor:
    """The position of the last real token of each row, which is padded on the right: (n, 1)."""
    return mask.sum(1, keepdim=True) - 1


def positions_of(ids: Tensor, token: int, count: int) -> Tensor:
    """The last `count` positions of `token`, in their order: (n, t) -> (n, count)."""
    places = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    positions = torch.where(ids == token, places, torch.full_like(places, -1))
    return positions.topk(count, dim=1).values.flip(1) if count > 1 else positions.amax(1, keepdim=True)
