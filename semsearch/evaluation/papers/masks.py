"""What stands at the [MASK]s of a prompt: their hidden states, and the words that the model would fill in.

Sources: PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, eq. 2: h = h_[MASK]; eq. 3 reads the likeliest
words there. CoT-BERT, Zhang et al. 2023, https://arxiv.org/abs/2309.11143, section 3.2: the first [MASK] comprehends
the sentence, the second summarizes it, and the vector is read at the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import nn

from semsearch.errors import UsageError
from semsearch.evaluation.papers.grid import network_of
from semsearch.models import bundle as bundles
from semsearch.models import pooling, safetensors_files
from semsearch.models.methods import Batch
from semsearch.models.methods._masks import part
from semsearch.models.model_ref import Reference
from semsearch.models.networks import loading
from semsearch.models.networks.masked import Inputs
from semsearch.models.tokenization import Tokenizer, by_length, padded

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOKENS = 1024  # of a batch, padding included
HEAD = re.compile(r"(cls\.predictions\.transform|lm_head)\.dense\.weight")
_HEADS: WeakKeyDictionary[nn.Module, dict[str, tuple[nn.Module, nn.Module]]] = WeakKeyDictionary()  # what read before


@dataclass(frozen=True, slots=True)
class Word:
    """A token of the vocabulary, and how likely the model finds it at a [MASK], in 0 … 1 of the whole vocabulary."""

    token: str
    probability: float


def states(engine: Any, texts: Sequence[str], layer: int | None = None) -> NDArray[np.float32]:
    """The hidden states at the m [MASK]s of the prompt for passages around n texts: (n, m, h).

    `layer` is that of the method unless another one is named. Raises UsageError for an engine that shows no layers,
    and for a prompt without [MASK].
    """
    network, prompt, method = network_of(engine), engine.prompts["passage"], engine.method
    if not prompt.masks or not hasattr(network, "transform"):
        raise UsageError(
            f"{engine.name} reads no [MASK].",
            "Choose a BERT or a RoBERTa under a template with one, such as MODEL#cot-bert.",
        )
    tokenizer = Tokenizer(engine.bundle.path("tokenizer"), engine.max_tokens, engine.bundle.tokens)
    frame, rows = tokenizer.frame(prompt), tokenizer.ids(texts, prompt)
    found = np.empty((len(rows), prompt.masks, network.width), dtype=np.float32)
    most = len(rows) if network.pads else 1
    for places in by_length([len(row) for row in rows], most_texts=most, most_tokens=TOKENS):
        ids, mask = (torch.from_numpy(each).to(engine.device) for each in padded([rows[at] for at in places]))
        batch = Batch(ids, mask, frame)
        with torch.inference_mode():
            inputs = method.inputs(network, batch) if hasattr(method, "inputs") else Inputs(ids, mask)
            where = pooling.positions_of(ids, frame.mask, prompt.masks)
            read = network.read(inputs, where, getattr(method, "layer", -1) if layer is None else layer)
        found[places] = read.float().cpu().numpy()
    return found


def words(engine: Any, texts: Sequence[str], k: int, head: str = "") -> list[list[list[Word]]]:
    """The k likeliest words at every [MASK] of every text, the likeliest first: n lists of m lists.

    The head reads the last layer, on which it was trained, whichever layer the method reads. Raises UsageError as
    states() does, and where neither the folder of the model nor `head` has a masked-language-model head that fits.
    """
    hidden = torch.from_numpy(states(engine, texts, layer=-1))
    transform, decoder = _head(engine, head)
    tokenizer = Tokenizer(engine.bundle.path("tokenizer"), engine.max_tokens, engine.bundle.tokens)
    found = []
    for row in hidden:
        with torch.inference_mode():
            likely = decoder(transform(row.to(engine.device))).float().softmax(-1)
            best = likely.topk(min(k, likely.shape[-1]), dim=-1)
        both = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        found.append([[Word(tokenizer.spelled(at), p) for at, p in zip(*each, strict=True)] for each in both])
    return found


def _head(engine: Any, other: str) -> tuple[nn.Module, nn.Module]:
    """The two halves of the head, in float32: the network's, its folder's, or that of `other`. Raises UsageError."""
    network, bundle = engine.network, engine.bundle
    kept = _HEADS.setdefault(network, {})
    if other not in kept:
        folder, weight = bundle.folder, bundle.weights
        if not _has_head(folder / weight) and other:
            reference = Reference.parse(other)
            folder = bundles.find(reference.model, reference.revision)
            weight = safetensors_files.find(folder)
        if not _has_head(folder / weight):
            raise UsageError(
                f"{other or engine.name} has no masked-language-model head in its folder, which alone reads words at "
                "[MASK].",
                "Choose a BERT or a RoBERTa as it was pretrained, with its head; a sentence encoder is saved without.",
            )
        own = network.transform is not None and network.decoder is not None and folder == bundle.folder
        if not own or next(network.parameters()).dtype != torch.float32:
            network = loading.masked(folder, needs=("transform", "decoder"), device=engine.device)
        kept[other] = _fitting(engine, part(network, "transform"), part(network, "decoder"))
    return kept[other]


def _fitting(engine: Any, transform: nn.Module, decoder: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Both, where they read this network's states and know its vocabulary. Raises UsageError."""
    theirs: Any = decoder.weight
    wanted, got = tuple(engine.network.model.get_input_embeddings().weight.shape), tuple(theirs.shape)
    if wanted != got:
        raise UsageError(
            f"the head knows {got[0]:,} tokens and is {got[1]} wide, {engine.name} has {wanted[0]:,} and {wanted[1]}.",
            "Use the head of the model that it was trained from.",
        )
    return transform, decoder


def _has_head(path: Path) -> bool:
    return any(map(HEAD.match, safetensors_files.names(path)))
