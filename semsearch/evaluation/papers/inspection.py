"""Access to the network inside an encoder, for measurements of its layers and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semsearch.encoders import factory
from semsearch.models.tokenization import Tokenizer

if TYPE_CHECKING:
    from semsearch.encoders.base import BaseEncoder
    from semsearch.encoders.torch_backend import TorchBackend

FIX = "Choose a model in safetensors: a folder or hf:owner/name, with a template, such as MODEL#cot-bert."


def inspected(encoder: BaseEncoder, use: str) -> tuple[TorchBackend, Tokenizer]:
    """The back end of an encoder, and a tokenizer of its own: texts truncated here do not count as truncated there.

    Raises UsageError, which names the `use`, for an encoder that does not run in PyTorch.
    """
    backend = factory.torch_backend(encoder, use, FIX)
    return backend, Tokenizer(backend.bundle.path("tokenizer"), backend.max_tokens, backend.bundle.tokens)
