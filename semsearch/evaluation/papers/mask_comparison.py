"""What stands at the [MASK]s of a pair of sentences: cosines of the hidden states there, and the likeliest words.

Source: CoT-BERT, Zhang et al. 2023, https://arxiv.org/abs/2309.11143, section 3.2: the first [MASK] comprehends the
sentence, the second summarizes it, and the vector is read at the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semsearch.encoders.encoder import Encoder
from semsearch.errors import SemsearchError
from semsearch.evaluation.papers.fill_mask import Word, fill_mask, mask_vectors

SAME = 0.9999  # cosine above which a state is the encoder's vector
WORDS = 8

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MaskComparison:
    """Cosines of the states at the m [MASK]s of two sentences.

    `across` has that of the two sentences at each [MASK], (m,); `within` that of each [MASK] with the next in the first
    and the second sentence, (m - 1, 2). `read` is the place of the [MASK] whose state is the encoder's vector, None if
    no state is, as after denoising.
    """

    across: tuple[float, ...]
    within: tuple[tuple[float, float], ...]
    read: int | None

    @property
    def names(self) -> list[str]:
        """What the [MASK]s are called: [MASK] 1, [MASK] 2, or [MASK] where there is one."""
        count = len(self.across)
        return ["[MASK]"] if count == 1 else [f"[MASK] {number}" for number in range(1, count + 1)]


@dataclass(frozen=True, slots=True)
class LikeliestWords:
    """The words at the m [MASK]s of n texts, the most probable first: n lists of m lists. `head` is the model whose
    masked-language-model head predicted them, "" for the encoder's own."""

    words: list[list[list[Word]]]
    head: str


def compare_masks(encoder: Encoder, texts: tuple[str, str]) -> MaskComparison:
    """The comparison of two sentences in the encoder's prompt. Raises UsageError as mask_vectors does."""
    vectors, whole = mask_vectors(encoder, texts), encoder.encode(texts)
    places = range(vectors.shape[1])
    across = tuple(_cosine(vectors[0, at], vectors[1, at]) for at in places)
    within = tuple(
        (_cosine(vectors[0, at], vectors[0, at + 1]), _cosine(vectors[1, at], vectors[1, at + 1])) for at in places[:-1]
    )
    return MaskComparison(across, within, next((at for at in places if _is_read(vectors[:, at], whole)), None))


def likeliest_words(encoder: Encoder, texts: Sequence[str], base: str = "", k: int = WORDS) -> LikeliestWords:
    """The k likeliest words at each [MASK], by the encoder's own head, or else by that of `base`.

    `base` is the model that the encoder was trained from; it is not downloaded. Raises UsageError as fill_mask does.
    """
    try:
        return LikeliestWords(fill_mask(encoder, texts, k), "")
    except SemsearchError:
        if not _is_local(base):
            raise
        return LikeliestWords(fill_mask(encoder, texts, k, head=base), base)


def _is_read(states: Floats, whole: Floats) -> bool:
    return states.shape == whole.shape and min(map(_cosine, states, whole)) > SAME


def _cosine(left: Floats, right: Floats) -> float:
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0


def _is_local(model: str) -> bool:
    folder = Path(model.partition("#")[0]).expanduser()
    return bool(model) and (folder.is_dir() or (not folder.is_absolute() and Encoder.is_local(model)))
