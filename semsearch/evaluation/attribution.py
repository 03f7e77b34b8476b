"""What each token of a sentence has to do with the sentence's vector, of an encoder as people load it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from semsearch.encoders import factory
from semsearch.errors import MissingExtra

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.papers.tokens import Part


def token_contributions(encoder: Encoder, sentence: str, core: Collection[str] = ()) -> list[Part]:
    """The tokens of `sentence` in their order, each with its cosine with the vector and its share of all cosines.

    `core` are the words that count as the sentence's core; without any, all but function words of English do. Raises
    UsageError for an encoder that does not run in Torch, and for a sentence without tokens or with too many.
    """
    backend = factory.torch_backend(encoder, "looking at tokens")
    try:
        from semsearch.evaluation.papers import tokens  # torch: seconds, and only where a model runs in it
    except ImportError as error:
        raise MissingExtra("looking at tokens", "train") from error
    return tokens.contributions(backend, sentence, core)
