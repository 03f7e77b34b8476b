"""What an encoder as people load it has at the [MASK]s of its prompt: vectors, and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from semsearch.encoders import factory
from semsearch.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.papers.masks import Word


def mask_vectors(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The hidden states at the m [MASK]s of the encoder's prompt around n texts: (n, m, h), of any length.

    They are those of the layer that the encoder reads, before a head, denoising, or anything behind them: CoT-BERT's
    vectors are [:, 1]. Raises UsageError for an encoder that does not run in Torch, or has no [MASK] in its prompt.
    """
    masks = _masks(encoder)
    return masks.states(encoder.backend, texts)  # type: ignore[no-any-return]


def mask_words(encoder: Encoder, texts: Sequence[str], k: int = 10, head: str = "") -> list[list[list[Word]]]:
    """What the model would fill in: for each text and each [MASK], the k likeliest words, the likeliest first.

    Each has its `token`, and its `probability` in 0 … 1 among the whole vocabulary. They are read by the
    masked-language-model head in the encoder's folder, from the last layer; where it has none, by that of the model
    `head`, such as the one it was trained from, whose head has not seen the training. Raises UsageError as
    mask_vectors does, where there is no such head or it does not fit, and for k below 1.
    """
    if k < 1:
        raise UsageError(f"{k} words cannot be read.", "Ask for one or more.")
    return _masks(encoder).words(encoder.backend, texts, k, head)  # type: ignore[no-any-return]


def _masks(encoder: Encoder) -> Any:
    """What looks into networks. Raises UsageError for an encoder that has none in Torch."""
    fix = "Choose a BERT or a RoBERTa in safetensors under a template with [MASK], such as MODEL#cot-bert."
    factory.torch_backend(encoder, "looking at [MASK]", fix)
    try:
        from semsearch.evaluation.papers import masks  # torch: seconds, and only where a model runs in it
    except ImportError as error:
        raise MissingExtra("looking at [MASK]", "train") from error
    return masks
