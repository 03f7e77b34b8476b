"""PyTorch back end for decoder networks (OPT, LLaMA, Mistral, Qwen, Gemma, GPT), on a CPU or a GPU.

The prompt's prefix is run once, and its keys and values are reused for all texts. The end of the prefix is found by
tokenising whole texts, since tokens may merge across the border of prompt and sentence; a text whose tokens do not
begin with the prefix is run in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from semsearch.encoders.torch_backend import TorchBackend
from semsearch.models.batching import Rows
from semsearch.models.networks import loading
from semsearch.models.networks.causal import CausalNetwork, Past
from semsearch.prompts import Prompt
from semsearch.types import JsonObject

# Beginnings of a sentence that tokenizers merge with the text before it, or that prevent merging.
BEGINNINGS = (*"aA1\"'“(-.,:#/éЖ猫😀", "the", "The", " a", "\n")
MAX_PREFIXES = 16  # cached at a time; keys and values of 60 tokens take 31 MB in a model of 7 B parameters and fp16


class CausalBackend(TorchBackend):
    """A decoder network under any method that is not limited to encoders."""

    network: CausalNetwork
    load_network = staticmethod(loading.causal)

    def clear_cache(self) -> None:
        self._prefix = lru_cache(MAX_PREFIXES)(self._find_prefix)
        layer = self.layer
        self._past = lru_cache(MAX_PREFIXES)(lambda prompt: self.network.past(self._prefix(prompt), layer))

    @property
    def info(self) -> JsonObject:
        """The facts in `semsearch info`; `prefix_tokens`: length of each prompt's cached prefix."""
        return {**super().info, "prefix_tokens": {role: len(self._prefix(each)) for role, each in self.prompts.items()}}

    def _split_by_prefix(self, rows: Rows, prompt: Prompt) -> Iterator[tuple[NDArray[np.int64], Rows, Past | None]]:
        """Rows that begin with the cached prefix, without that prefix; then all other rows."""
        prefix = self._prefix(prompt)
        size = len(prefix)
        begins = [size > 0 and len(row) > size and tuple(row[:size]) == prefix for row in rows]
        if shared := [at for at, begun in enumerate(begins) if begun]:
            yield np.array(shared), [rows[at][size:] for at in shared], self._past(prompt)
        if others := [at for at, begun in enumerate(begins) if not begun]:
            yield np.array(others), [rows[at] for at in others], None

    def _find_prefix(self, prompt: Prompt) -> tuple[int, ...]:
        """The first tokens of all texts under `prompt`; empty if no prefix can be reused."""
        if not self._prefix_cache or self.method.kind != "causal" or not self.network.parts:
            return ()
        stats = self.truncation
        before = (stats.passages, stats.tokens)
        rows = self._tokenizer.ids(BEGINNINGS, prompt)
        stats.passages, stats.tokens = before  # without these texts, which are not the user's
        return _common_prefix(rows)


def _common_prefix(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The longest common prefix of all rows.

    >>> _common_prefix([[1, 7, 5], [1, 7], [1, 7, 2, 3]])
    (1, 7)
    """
    return tuple(column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))
