"""Fill-mask: the hidden states at the [MASK]s of a prompt, the words that the model predicts there, and of a pair of
sentences the cosines of the states.

Sources: PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, eq. 2: h = h_[MASK]; eq. 3 reads the likeliest
words there. CoT-BERT, Zhang et al. 2023, https://arxiv.org/abs/2309.11143, section 3.2: the first [MASK] comprehends
the sentence, the second summarizes it, and the vector is read at the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from semsearch.encoders import factory
from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.encoder import Encoder
from semsearch.encoders.torch_backend import TorchBackend
from semsearch.errors import SemsearchError, UsageError
from semsearch.models import model_folders, safetensors_files
from semsearch.models.batching import batches_by_length, pad
from semsearch.models.methods import Batch, optiprompt
from semsearch.models.methods._masks import part, states_at_masks
from semsearch.models.model_ref import Reference
from semsearch.models.networks import loading
from semsearch.models.networks.masked import Inputs, MaskedNetwork

TOKENS = 1024  # per batch, padding included
HEAD = re.compile(r"(cls\.predictions\.transform|lm_head)\.dense\.weight")
_HEADS: WeakKeyDictionary[nn.Module, dict[str, tuple[nn.Module, nn.Module]]] = WeakKeyDictionary()  # loaded so far
SAME = 0.9999  # cosine above which a state is the encoder's vector
WORDS = 8

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Word:
    """A token predicted at a [MASK], with its probability in 0 … 1 over the whole vocabulary."""

    token: str
    probability: float


def mask_vectors(encoder: BaseEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The hidden states at the m [MASK]s of the encoder's prompt around n texts: (n, m, h), not normalised.

    They come from the layer that the encoder reads, less those of the empty prompt if it denoises, before any head or
    post-processing: CoT-BERT's vectors are [:, 1]. Raises UsageError for an encoder that does not run in PyTorch or has
    no [MASK] in its prompt.
    """
    backend = factory.torch_backend(encoder, "reading [MASK]")
    return _states(backend, texts, backend.layer)


def fill_mask(encoder: BaseEncoder, texts: Sequence[str], k: int = 10, head: str = "") -> list[list[list[Word]]]:
    """The k likeliest words at each [MASK] of each text, most probable first: n lists of m lists of k words.

    They are predicted from the last layer, on which the masked-language-model head was trained, whichever layer the
    encoder reads, and after denoising if the encoder denoises (PromptBERT, table 7). The head is the one in the
    encoder's folder, or else that of the model `head`, such as the base model it was trained from. Raises UsageError as
    mask_vectors does, if there is no head that fits, and for k < 1.
    """
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}.")
    backend = factory.torch_backend(encoder, "reading [MASK]")
    tokenizer, hidden = backend.new_tokenizer(), torch.from_numpy(_states(backend, texts, layer=-1))
    transform, decoder = _head(backend, head)
    words = []
    for row in hidden:
        with torch.inference_mode():
            probabilities = decoder(transform(row.to(backend.device))).float().softmax(-1)
            best = probabilities.topk(min(k, probabilities.shape[-1]), dim=-1)
        masks = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        words.append([[Word(tokenizer.spelled(id_), p) for id_, p in zip(*mask, strict=True)] for mask in masks])
    return words


def _states(backend: TorchBackend, texts: Sequence[str], layer: int) -> NDArray[np.float32]:
    """The hidden states of `layer` at the m [MASK]s of the prompt around n passages: (n, m, h)."""
    network, prompt, method = backend.network, backend.prompts["passage"], backend.method
    if not prompt.masks or not isinstance(network, MaskedNetwork):
        fix = "Choose a BERT or a RoBERTa with a template that has one, such as MODEL#cot-bert."
        raise UsageError(f"{backend.name} reads no [MASK].", fix)
    tokenizer = backend.new_tokenizer()
    frame, rows = tokenizer.frame(prompt), tokenizer.ids(texts, prompt)
    states = np.empty((len(rows), prompt.masks, network.width), dtype=np.float32)
    most = len(rows) if network.pads else 1
    for places in batches_by_length([len(row) for row in rows], max_texts=most, max_tokens=TOKENS):
        ids, mask = (torch.from_numpy(each).to(backend.device) for each in pad([rows[at] for at in places]))
        with torch.inference_mode():
            inputs = Inputs(ids, mask)
            if isinstance(method, optiprompt.Method):  # learned vectors replace the words of the prompt
                inputs = method.inputs(network, Batch(ids, mask, frame))
            hidden = states_at_masks(method, network, Batch(ids, mask, frame), inputs, layer)
        states[places] = hidden.float().cpu().numpy()
    return states


def _head(backend: TorchBackend, other: str) -> tuple[nn.Module, nn.Module]:
    """The two halves of the head, in float32: from the network, its folder, or the model `other`. Raises UsageError."""
    network, bundle = backend.network, backend.bundle
    heads = _HEADS.setdefault(network, {})
    if other not in heads:
        folder, weights = bundle.folder, bundle.weights
        if not _has_head(folder / weights) and other:
            reference = Reference.parse(other)
            folder = model_folders.find(reference.model, reference.revision)
            weights = safetensors_files.find(folder)
        if not _has_head(folder / weights):
            problem = f"{other or backend.name} has no masked-language-model head in its folder: it predicts no words."
            fix = "Choose a BERT or a RoBERTa as it was pretrained; sentence encoders are saved without the head."
            raise UsageError(problem, fix)
        full = folder == bundle.folder and next(network.parameters()).dtype == torch.float32
        if not full or not isinstance(network, MaskedNetwork) or None in (network.transform, network.decoder):
            network = loading.masked(folder, needs=("transform", "decoder"), device=backend.device)
        transform, decoder = part(network, "transform"), part(network, "decoder")
        shapes = (backend.network.model.get_input_embeddings().weight.shape, decoder.get_parameter("weight").shape)
        if shapes[0] != shapes[1]:
            its, theirs = (f"{tokens:,} tokens of width {width}" for tokens, width in shapes)
            problem = f"the head is for {theirs}, but {backend.name} has {its}."
            raise UsageError(problem, "Use the head of the model that it was trained from.")
        heads[other] = transform, decoder
    return heads[other]


def _has_head(path: Path) -> bool:
    return any(map(HEAD.match, safetensors_files.names(path)))


@dataclass(frozen=True, slots=True)
class MaskComparison:
    """Cosines of the states at the m [MASK]s of two sentences.

    `across` has that of the two sentences at each [MASK], (m,); `within` that of each [MASK] with the next in the first
    and the second sentence, (m - 1, 2). `read` is the place of the [MASK] whose state is the encoder's vector, None if
    no state is, as after a head. `denoised`: whether the states are less those of the empty prompt.
    """

    across: tuple[float, ...]
    within: tuple[tuple[float, float], ...]
    read: int | None
    denoised: bool = False

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
    read = next((at for at in places if _is_read(vectors[:, at], whole)), None)
    return MaskComparison(across, within, read, factory.torch_backend(encoder, "reading [MASK]").method.denoises)


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
