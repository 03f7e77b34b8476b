"""What each token of a sentence has to do with the sentence's vector.

Source: Zhang et al. 2024, Pretended CoT and Knowledge Enhancement, https://arxiv.org/abs/2404.03921, section 5.2 and
figure 1: the cosine of the sentence's vector with the output vector of each of its tokens, at the layer that is read,
as a share of their sum. There, subject, predicate and object count as the core of a sentence; here all but function
words do, unless a caller names the words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from semsearch.errors import UsageError
from semsearch.evaluation.papers.grid import network_of
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import Inputs
from semsearch.models.tokenization import PROMPT, Tokenizer, padded
from semsearch.utils import stop_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACED = "Ġ▁"  # how vocabularies write the blank before a word
PIECE = "##"  # how WordPiece writes that a token goes on with a word


@dataclass(frozen=True, slots=True)
class Part:
    """A token of the sentence, its cosine with the sentence's vector, and what part that is of all, in 0 … 1.

    A cosine below zero has no part. `core`: the token belongs to a word that carries meaning.
    """

    token: str
    cosine: float
    share: float
    core: bool


def contributions(engine: Any, sentence: str, core: Collection[str] = ()) -> list[Part]:
    """The tokens of `sentence` in their order. `core` are the words that count as its core, in any case.

    Raises UsageError for an engine that shows no layers, a vector of another width than its layers, and a sentence
    without tokens or with too many.
    """
    network, prompt, method = network_of(engine), engine.prompts["passage"], engine.method
    tokenizer = Tokenizer(engine.bundle.path("tokenizer"), engine.max_tokens, engine.bundle.tokens)
    parts, (ids,) = tokenizer.parts(sentence, prompt), tokenizer.ids([sentence], prompt)
    if len(ids) != len(parts):
        raise UsageError(f"{engine.name} reads {engine.max_tokens} tokens, and the sentence has more.", "Shorten it.")
    # of tokens that hold the end of the sentence and the prompt's next mark, those with a letter are the sentence's
    places = [at for at, (token, of) in enumerate(parts) if of == "sentence" or (of != PROMPT and _said(token))]
    if not places:
        raise UsageError("the sentence has no tokens.", "Give a sentence.")
    vector = engine.vectors([sentence], prompt)[0]
    states = _states(network, ids, places, method)
    if states.shape[1] != len(vector) or engine.post is not None:
        raise UsageError(
            f"the vectors of {engine.name} are not those of a layer: something is done to them behind it.",
            "Choose the model under a template that reads one layer: MODEL#TEMPLATE, such as MODEL#mean.",
        )
    lengths = np.linalg.norm(states, axis=1) * np.linalg.norm(vector)
    cosines = np.where(lengths > 0, states @ vector / np.where(lengths > 0, lengths, 1), 0)
    positive = np.maximum(cosines, 0)
    shares = positive / positive.sum() if positive.any() else positive
    tokens = [parts[at][0] for at in places]
    rows = zip(tokens, cosines.tolist(), shares.tolist(), _core(tokens, core), strict=True)
    return [Part(spelled(token), cosine, share, is_core) for token, cosine, share, is_core in rows]


def spelled(token: str) -> str:
    """A token as a person writes it.

    >>> spelled("Ġcar"), spelled("##ing"), spelled("▁")
    ('car', '##ing', '␣')
    """
    return token.strip(SPACED) or "␣"


@torch.inference_mode()
def _states(network: Any, ids: Sequence[int], places: Sequence[int], method: Any) -> NDArray[np.float64]:
    """What the layer that the method reads gives at these places: (m, h)."""
    device = next(network.parameters()).device
    inputs = Inputs(*(torch.from_numpy(each).to(device) for each in padded([ids])))
    told = {"norm": method.norm} if isinstance(network, CausalNetwork) and hasattr(method, "norm") else {}
    positions = torch.tensor([places], device=device)
    hidden = network.read(inputs, positions, getattr(method, "layer", -1), **told)
    return np.asarray(hidden[0].double().cpu().numpy())


def _core(tokens: Sequence[str], wanted: Collection[str]) -> list[bool]:
    """Whether each token belongs to a word of `wanted`; without any, to one that is no function word."""
    words: list[list[int]] = []
    for at, token in enumerate(tokens):
        begins = token[:1] in SPACED or (not token.startswith(PIECE) and not any(t[:1] in SPACED for t in tokens))
        if begins or not words or not _said(token) or not (_said(tokens[at - 1]) or tokens[at - 1] in SPACED):
            words.append([])
        words[-1].append(at)
    asked, found = {word.lower() for word in wanted}, [False] * len(tokens)
    for word in words:
        text = "".join(tokens[at].strip(SPACED).removeprefix(PIECE) for at in word).lower()
        chosen = text in asked if asked else _said(text) and text not in stop_words.ENGLISH
        for at in word:
            found[at] = chosen
    return found


def _said(token: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return re.search(r"[^\W_]", token.strip(SPACED)) is not None
