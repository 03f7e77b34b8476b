"""MaskedNetwork: an encoder like BERT, of which only the layers and tokens that are read are computed.

Of the last layer, only the tokens that are read get a query, an attention output and a feed-forward block: of all
others the keys and values are still needed, the results are not. The vectors are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from semsearch.errors import UsageError
from semsearch.models.networks import pooling

MASKED = -10_000.0  # added to the attention to padding: exp() of it is 0 in every precision, and fp16 can hold it
MIXING = ("convbert", "mobilebert", "nystromformer")  # model types whose tokens see padding, masked or not
LIKE_BERT = ("bert", "roberta", "xlm-roberta", "camembert")  # model types whose layers are taken apart here


@dataclass(frozen=True, slots=True)
class Inputs:
    """ids and mask (n, t); optionally position ids (n, t) and word vectors (n, t, h) in place of the model's own.

    `types` (n, t) are the segments of the tokens, 0 by default.
    """

    ids: Tensor
    mask: Tensor
    positions: Tensor | None = None
    words: Tensor | None = None
    types: Tensor | None = None


class Network(nn.Module):
    """A Hugging Face `model` without its head; `then` are the modules after the pooling, by the name of their folder.

    `whole` is the checkpoint as transformers loaded it, in a tuple so that nn.Module does not see it. `pads`: whether
    texts of several lengths may be padded to one batch.
    """

    pads: bool
    pooler: nn.Module | None

    def __init__(self, model: Any, body: Any, then: Mapping[str, nn.Module] | None) -> None:
        super().__init__()
        self.model = body
        self.whole = (model,)
        self.then = nn.ModuleDict(then or {})
        self.depth, self.width = int(body.config.num_hidden_layers), int(body.config.hidden_size)

    def words(self, ids: Tensor) -> Tensor:
        """The vectors of the tokens before position, type and normalisation: (n, t) -> (n, t, h)."""
        vectors: Tensor = self.model.get_input_embeddings()(ids)
        return vectors

    def level(self, layer: int) -> int:
        """`layer` counted from the embedding output, which is 0; -1 is the last. Raises UsageError."""
        level = layer if layer >= 0 else self.depth + 1 + layer
        if not 0 <= level <= self.depth:
            raise UsageError(
                f"the model has {self.depth} layers, so there is no layer {layer}.",
                f"Choose from 0 (embeddings) to {self.depth}, or from -1 (the last) down.",
            )
        return level

    def run_whole(self, inputs: Inputs) -> tuple[Tensor, ...]:
        """All hidden states, through the model's own forward()."""
        words = {"input_ids": inputs.ids} if inputs.words is None else {"inputs_embeds": inputs.words}
        places = {} if inputs.positions is None else {"position_ids": inputs.positions}
        out = self.model(**words, **places, attention_mask=inputs.mask, output_hidden_states=True, return_dict=True)
        states: tuple[Tensor, ...] = out.hidden_states
        return states


class MaskedNetwork(Network):
    """An encoder; `transform` and `decoder` are the two halves of its masked-language-model head, if loaded.

    `pooler` is Linear and Tanh, `prompt` (p, h) are learned vectors in place of a prompt's words.
    """

    def __init__(
        self,
        model: Any,
        *,
        transform: nn.Module | None = None,
        decoder: nn.Module | None = None,
        pooler: nn.Module | None = None,
        prompt: Tensor | None = None,
        then: Mapping[str, nn.Module] | None = None,
    ) -> None:
        super().__init__(model, model, then)
        self.transform, self.decoder, self.pooler = transform, decoder, pooler
        self.prompt = None if prompt is None else nn.Parameter(prompt)
        self.pads = model.config.model_type not in MIXING
        self.first_position = 0  # of a text's first token
        if model.config.model_type in LIKE_BERT[1:]:
            self.first_position = int(model.config.pad_token_id) + 1  # row pad_token_id of their table is the padding's

    def states(self, inputs: Inputs, layers: Sequence[int]) -> list[Tensor]:
        """The hidden states (n, t, h) after each of `layers`: 0 is the embedding output, -1 the last layer."""
        levels = [self.level(layer) for layer in layers]
        states = self._levels(inputs, max(levels))
        return [states[level] for level in levels]

    def read(self, inputs: Inputs, positions: Tensor, layer: int = -1) -> Tensor:
        """The hidden states at `positions` (n, m) after `layer`: (n, m, h)."""
        level = self.level(layer)
        if level == 0 or self.model.config.model_type not in LIKE_BERT:
            return pooling.at(self._levels(inputs, level)[level], positions)
        below = self._levels(inputs, level - 1)[level - 1]
        return _read(self.model.encoder.layer[level - 1], below, pooling.at(below, positions), _additive(inputs, below))

    def _levels(self, inputs: Inputs, highest: int) -> list[Tensor]:
        """Hidden states 0 … highest; nothing above is computed."""
        if self.model.config.model_type not in LIKE_BERT:
            return list(self.run_whole(inputs))
        types = torch.zeros_like(inputs.ids) if inputs.types is None else inputs.types
        hidden = self.model.embeddings(
            input_ids=None if inputs.words is not None else inputs.ids,
            token_type_ids=types,
            position_ids=self._positions(inputs),
            inputs_embeds=inputs.words,
        )
        mask, states = _additive(inputs, hidden), [hidden]
        for layer in self.model.encoder.layer[:highest]:
            hidden = layer(hidden, mask)
            states.append(hidden)
        return states

    def _positions(self, inputs: Inputs) -> Tensor:
        if inputs.positions is not None:
            return inputs.positions
        places = torch.arange(inputs.ids.shape[1], device=inputs.ids.device) + self.first_position
        return torch.where(inputs.mask == 1, places, torch.zeros_like(places) + max(0, self.first_position - 1))

    def run_whole(self, inputs: Inputs) -> tuple[Tensor, ...]:
        states = super().run_whole(inputs)
        if len(states) != self.depth + 1:
            raise UsageError(
                f"a {self.model.config.model_type} returns {len(states)} hidden states for {self.depth} layers.",
                "Use another model.",
            )
        return states


def _additive(inputs: Inputs, hidden: Tensor) -> Tensor:
    """The mask as a number to add to the attention: (n, t) -> (n, 1, 1, t)."""
    return ((1 - inputs.mask) * MASKED).to(hidden.dtype)[:, None, None, :]


def _read(layer: Any, hidden: Tensor, read: Tensor, mask: Tensor) -> Tensor:
    """One layer for the tokens `read` (n, m, h) alone, which attend to all of `hidden` (n, t, h)."""
    attention = layer.attention.self
    heads = (attention.num_attention_heads, attention.attention_head_size)
    query, key, value = (
        projected.unflatten(-1, heads).transpose(1, 2)
        for projected in (attention.query(read), attention.key(hidden), attention.value(hidden))
    )
    dropout = attention.dropout.p if layer.training else 0.0
    context = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    attended = layer.attention.output(context.transpose(1, 2).flatten(2), read)
    result: Tensor = layer.feed_forward_chunk(attended)
    return result
