"""Pretended CoT and Knowledge Enhancement: the last token, one layer below the last, without the final norm.

Source: Zhang et al. 2024, https://arxiv.org/abs/2404.03921, section 3.3; the layer is that of its code.
"""

from __future__ import annotations

from dataclasses import dataclass

from semsearch.models.methods._last_token import LastToken


@dataclass(frozen=True, slots=True)
class Method(LastToken):
    layer: int = -2
