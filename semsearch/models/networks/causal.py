"""CausalNetwork: a decoder, run only up to the block that is read, and over a fixed prefix only once.

Rows are padded on the right. No token sees those after it, so padding needs no mask, positions have no gaps, and a
sliding window covers what it covers in the text alone. Blocks above the one that is read are not run, the final
norm is applied only to the tokens that are read, and the language-model head is never loaded.
"""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicLayer

from semsearch.errors import UsageError
from semsearch.models.networks import pooling
from semsearch.models.networks.masked import Inputs, Network

LIKE_LLAMA = ("layers", "norm")
# Model types that are taken apart here: the names of the blocks, and of the modules after the last one.
PARTS: Mapping[str, tuple[str, ...]] = {
    "gemma": LIKE_LLAMA,
    "gemma2": LIKE_LLAMA,
    "gemma3_text": LIKE_LLAMA,
    "gpt2": ("h", "ln_f"),
    "gpt_neox": ("layers", "final_layer_norm"),
    "llama": LIKE_LLAMA,
    "mistral": LIKE_LLAMA,
    "opt": ("layers", "final_layer_norm", "project_out"),
    "phi3": LIKE_LLAMA,
    "qwen2": LIKE_LLAMA,
    "qwen3": LIKE_LLAMA,
}
# the output projection of a block's attention, where it has another name than in LLaMA
PROJECTIONS = {"gpt2": "attn.c_proj", "gpt_neox": "attention.dense", "opt": "self_attn.out_proj"}
PROJECTION = "self_attn.o_proj"

Edit: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes to what a decoder computes, by the number of a block, from 0.

    `inputs`: to what the block reads (n, t, h). `values`: to what its attention has gathered for every token, the heads
    side by side (n, t, heads * size), before the output projection.
    """

    inputs: Mapping[int, Edit] = field(default_factory=dict)
    values: Mapping[int, Edit] = field(default_factory=dict)


NO_EDITS = Edits()


@dataclass(frozen=True, slots=True)
class Past:
    """Keys and values of the `length` tokens before every row of a batch, for the blocks that were run."""

    blocks: tuple[DynamicLayer, ...]
    length: int


class CausalNetwork(Network):
    """A decoder. One whose type is not in PARTS runs as a whole, through its own forward(), and without a past."""

    pooler = None
    pads = True  # no token sees the padding after it

    def __init__(self, model: Any, *, then: Mapping[str, nn.Module] | None = None) -> None:
        super().__init__(model, getattr(model, "decoder", model), then)
        config = self.model.config
        both_ways = getattr(config, "use_bidirectional_attention", False)
        self.parts = () if both_ways else PARTS.get(config.model_type, ())

    def states(self, inputs: Inputs, layers: Sequence[int]) -> list[Tensor]:
        """The hidden states (n, t, h) after each of `layers`: 0 is the embedding output, -1 the final norm's."""
        if not self.parts:
            states = self.run_whole(inputs)
            return [states[self.level(layer)] for layer in layers]
        return [self._ended(self._hidden(inputs, level), level) for level in map(self.level, layers)]

    def read(
        self,
        inputs: Inputs,
        positions: Tensor,
        layer: int = -1,
        *,
        norm: str = "",
        past: Past | None = None,
        edits: Edits = NO_EDITS,
    ) -> Tensor:
        """The hidden states at `positions` (n, m) after `layer`: (n, m, h).

        `norm`: whether the modules after the last block (OPT's projection too) are applied: "yes", "no", or "" for
        after the last block only. With a `past`, ids and positions are those of the tokens after it. Raises UsageError
        for `edits` of a model that runs as a whole.
        """
        level = self.level(layer)
        if edits is not NO_EDITS:
            self._check_parts()
        if not self.parts:
            if norm not in ("", "yes" if level == self.depth else "no"):
                raise UsageError(f"the final norm of a {self.model.config.model_type} is not known.", "Leave out norm.")
            return pooling.at(self.run_whole(inputs)[level], positions)
        return self._ended(pooling.at(self._hidden(inputs, level, past, edits), positions), level, norm)

    def values(self, inputs: Inputs, positions: Tensor, block: int, past: Past | None = None) -> Tensor:
        """What the attention of `block`, from 0, has gathered at `positions` (n, m): (n, m, heads * size).

        Blocks above it are not run. Raises UsageError for a model that runs as a whole.
        """
        self._check_parts()
        read: list[Tensor] = []

        def keep(values: Tensor) -> Tensor:
            read.append(pooling.at(values, positions))
            return values

        self._hidden(inputs, block + 1, past, Edits(values={block: keep}))
        return read[0]

    def _check_parts(self) -> None:
        if not self.parts:
            raise UsageError(
                f"a {self.model.config.model_type} runs as a whole, so nothing inside it can be changed.",
                f"Use the method prompteol, or a model of one of these types: {', '.join(sorted(PARTS))}.",
            )

    @torch.no_grad()
    def past(self, prefix: Sequence[int], layer: int = -1) -> Past:
        """Keys and values of `prefix` in the blocks up to `layer`."""
        ids = torch.tensor([prefix], device=self.model.get_input_embeddings().weight.device)
        level = self.level(layer)
        blocks = [DynamicLayer() for _ in range(level)]
        if level:
            self._run(Inputs(ids, torch.ones_like(ids)), level, Cache(layers=[*blocks]), 0)
        return Past(tuple(_Fixed(each.keys, each.values) for each in blocks), len(prefix))

    def _hidden(self, inputs: Inputs, level: int, past: Past | None = None, edits: Edits = NO_EDITS) -> Tensor:
        """The output of block `level`, without the modules after the last block."""
        blocks = past.blocks[:level] if past else tuple(_Fixed() for _ in range(level))
        return self._run(inputs, level, Cache(layers=[*blocks]) if level else None, past.length if past else 0, edits)

    def _run(self, inputs: Inputs, level: int, cache: Cache | None, start: int, edits: Edits = NO_EDITS) -> Tensor:
        """The model's own forward(), as if it had `level` blocks and nothing after them."""
        places = inputs.positions
        if places is None:
            places = torch.arange(start, start + inputs.ids.shape[1], device=inputs.ids.device).unsqueeze(0)
        words = {"input_ids": inputs.ids} if inputs.words is None else {"inputs_embeds": inputs.words}
        cut = self._cut(level, edits)
        forward = inspect.unwrap(type(cut).forward)  # without the recorder of all layers: it cannot handle copies
        hidden: Tensor = forward(cut, **words, position_ids=places, past_key_values=cache).last_hidden_state
        return hidden

    def _cut(self, level: int, edits: Edits) -> Any:
        """The model with only its first `level` blocks, which share its parameters."""
        cut = copy.copy(self.model)
        cut._modules = dict(self.model._modules)
        blocks, *after = self.parts
        setattr(cut, blocks, getattr(self.model, blocks)[:level])
        projection = PROJECTIONS.get(self.model.config.model_type, PROJECTION)
        for changes, path in ((edits.inputs, ""), (edits.values, projection)):
            for at, edit in changes.items():
                getattr(cut, blocks)[at] = _edited(getattr(cut, blocks)[at], path, edit)
        for name in after:
            if getattr(self.model, name) is not None:
                setattr(cut, name, nn.Identity())
        return cut

    def _ended(self, hidden: Tensor, level: int, norm: str = "") -> Tensor:
        """`hidden` through the modules after the last block, if `norm` says so."""
        if norm == "yes" or (norm == "" and level == self.depth):
            for part in (getattr(self.model, name) for name in self.parts[1:]):
                hidden = hidden if part is None else part(hidden)
        return hidden


def _edited(module: Any, path: str, edit: Edit) -> Any:
    """A module that shares the parameters of `module`, whose part at `path`, or itself, reads an edited input."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    name, _, rest = path.partition(".")
    if name:
        setattr(twin, name, _edited(getattr(module, name), rest, edit))
        return twin
    twin._forward_pre_hooks = OrderedDict(module._forward_pre_hooks)
    twin.register_forward_pre_hook(lambda _, inputs: (edit(inputs[0]), *inputs[1:]))
    return twin


class _Fixed(DynamicLayer):
    """Keys and values (1, heads, p, size), or none, before those of any batch; those of a batch are not stored."""

    def __init__(self, keys: Tensor | None = None, values: Tensor | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.keys, self.values, self.is_initialized = keys, values, keys is not None

    def update(self, key_states: Tensor, value_states: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        if self.keys is None or self.values is None:
            return key_states, value_states
        rows = (key_states.shape[0], -1, -1, -1)
        return (
            torch.cat([self.keys.expand(rows), key_states], dim=-2),
            torch.cat([self.values.expand(rows), value_states], dim=-2),
        )
