"""A semsearch encoder that MTEB evaluates.

    import mteb
    from semsearch.integrations.mteb import SemsearchModel
    mteb.evaluate(SemsearchModel("default"), mteb.get_task("STSBenchmark"))

Queries get the encoder's prompt for queries, all else that for passages; MTEB's own instructions are not used. The
revision is the fingerprint of the encoder, so results of two encoders are never mixed up in MTEB's cache.
Source of the interface: mteb 2, `EncoderProtocol`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semsearch.encoders.encoder import Encoder
from semsearch.errors import MissingExtra

try:
    from mteb.models import ModelMeta
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ScoringFunction
    from mteb.types import PromptType
except ImportError as error:
    raise MissingExtra("semsearch.integrations.mteb", "cpu,mteb", "mteb") from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semsearch.types import Vectors

FRAMEWORKS = {"ONNX Runtime": ["ONNX"], "PyTorch": ["PyTorch", "Transformers"], "numpy": ["NumPy"]}


class SemsearchModel(AbsEncoder):
    """An encoder for MTEB. `model` is what `Encoder.load` takes, with its `options`, or an encoder."""

    def __init__(
        self,
        model: str | Path | Encoder = "default",
        revision: str | None = None,
        *,
        device: str | None = None,
        **options: Any,
    ) -> None:
        """MTEB passes `revision`, which is not used: the encoder has a fingerprint."""
        self.model = model if isinstance(model, Encoder) else Encoder.load(model, device=device or "auto", **options)
        self.mteb_model_meta = _described(self.model)

    def encode(
        self, inputs: Iterable[Mapping[str, Sequence[str]]], *, prompt_type: PromptType | None = None, **_: object
    ) -> Vectors:
        """The texts of all batches -> (n, d) float32, rows of length 1."""
        texts = [text for batch in inputs for text in batch["text"]]
        vectors: Vectors = self.model.encode(texts, role="query" if prompt_type == PromptType.query else "passage")
        return vectors


def _described(encoder: Encoder) -> ModelMeta:
    """What MTEB records of a model."""
    return ModelMeta.create_empty(
        {
            "name": "semsearch/" + re.sub(r"[^\w.-]+", "-", encoder.name).strip("-"),
            "revision": encoder.fingerprint,
            "max_tokens": encoder.max_tokens,
            "embed_dim": encoder.dim,
            "framework": FRAMEWORKS[encoder.backend.runtime],
            "similarity_fn_name": ScoringFunction.COSINE,
            "use_instructions": any(any(prompt) for prompt in encoder.info["prompts"].values()),
        }
    )
