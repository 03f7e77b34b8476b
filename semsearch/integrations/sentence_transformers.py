"""A semsearch encoder as a `SentenceTransformer`, for programs that are written for that library.

    from semsearch.integrations.sentence_transformers import sentence_transformer
    model = sentence_transformer("default")  # or the folder of an export

The vectors are those of `Encoder`, template, pooling and denoising included, from the same back end; there are no
parameters to train. The reverse needs nothing of this: `Encoder.load` opens folders of sentence-transformers.
Source of the interface: sentence-transformers 6, `InputModule`.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from semsearch.encoders.encoder import Encoder, LoadOptions
from semsearch.errors import MissingExtra, UsageError
from semsearch.types import JsonObject

try:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import InputModule
except ImportError as error:
    what = "semsearch.integrations.sentence_transformers"
    raise MissingExtra(what, "cpu,sentence-transformers", "sentence-transformers") from error


def sentence_transformer(
    model: str | Path | Encoder = "default", **options: Unpack[LoadOptions]
) -> SentenceTransformer:
    """A model whose `encode`, `encode_query` and `encode_document` give the vectors of an encoder.

    `model` is what `Encoder.load` takes, with its `options`, or an encoder. The prompts are those of the encoder's
    roles, called query and document. `save` writes an encoder that is a bundle; open that folder with `Encoder.load`,
    or with `SentenceTransformer(folder, trust_remote_code=True)`: the module that runs it is ours.
    """
    module = EncoderModule(model if isinstance(model, Encoder) else Encoder.load(model, **options))
    return SentenceTransformer(modules=[module], device="cpu", prompts=module.prompts, similarity_fn_name="cosine")


class EncoderModule(InputModule):
    """The only module of such a model: texts in, vectors out."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.encoder = encoder
        self.max_seq_length = encoder.max_tokens
        before = encoder.info["prompts"]
        self.prompts = {name: _shown(*before[role]) for name, role in (("query", "query"), ("document", "passage"))}

    def get_embedding_dimension(self) -> int:
        return self.encoder.dim

    def preprocess(self, inputs: Sequence[object], prompt: str | None = None, **_: object) -> JsonObject:
        """The texts as they are: the encoder has a tokenizer of its own."""
        return {"texts": list(inputs), "prompt": prompt}

    def forward(self, features: JsonObject, **_: object) -> JsonObject:
        """Adds `sentence_embedding` (n, d), unit rows."""
        names = {text: name for name, text in reversed(self.prompts.items())}
        prompt = features["prompt"]
        options = {"prompt_name": names.get(prompt)} if prompt is None or prompt in names else {"prompt": prompt}
        vectors = self.encoder.encode(features["texts"], **options)
        return {**features, "sentence_embedding": torch.from_numpy(vectors)}

    def save(self, output_path: str, *_: object, **__: object) -> None:
        """Copy the files of the encoder. Raises UsageError for one that is not a bundle."""
        bundle = self.encoder.backend.bundle
        manifest = None if bundle is None else bundle.folder / "encoder.json"
        if bundle is None or manifest is None or not manifest.is_file():
            raise UsageError(
                f"{self.encoder.name} is not an exported encoder.", "Export it first, with semsearch.export."
            )
        for file in (manifest, *bundle.files()):
            target = Path(output_path) / file.relative_to(bundle.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", *_: object, **__: object) -> EncoderModule:
        """The encoder that was saved in a folder."""
        return cls(Encoder.load(Path(model_name_or_path, subfolder)))


def _shown(before: str, after: str) -> str:
    """A prompt as sentence-transformers has it, text before the sentence; a template with its slot."""
    return f"{before}[X]{after}" if after else before
