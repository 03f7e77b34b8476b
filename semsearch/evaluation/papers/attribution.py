"""Token attribution: how much each token of a sentence agrees with the sentence's vector.

Source: Zhang et al. 2024, Pretended CoT and Knowledge Enhancement, https://arxiv.org/abs/2404.03921, section 5.2 and
figure 1: the cosine of the sentence's vector with the hidden state of each of its tokens, at the layer of the vector,
as a share of their sum. In the paper, subject, predicate and object are the core of a sentence; here it is all words
except function words, unless the caller lists the words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from semsearch.encoders import factory
from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.torch_backend import TorchBackend
from semsearch.errors import UsageError
from semsearch.models.batching import pad
from semsearch.models.methods._last_token import LastToken
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import Inputs
from semsearch.models.tokenization import PROMPT
from semsearch.utils.languages import stop_words

SPACES = "Ġ▁"  # how vocabularies write the space before a word
CONTINUATION = "##"  # how WordPiece marks a token that continues a word


@dataclass(frozen=True, slots=True)
class TokenAttribution:
    """A token of the sentence, its cosine with the sentence's vector, and its share of the sum of cosines, in 0 … 1.

    Negative cosines have share 0. `core`: the token belongs to a content word.
    """

    token: str
    cosine: float
    share: float
    core: bool


def token_attribution(encoder: BaseEncoder, sentence: str, core: Collection[str] = ()) -> list[TokenAttribution]:
    """The tokens of `sentence` in order, each with its cosine with the vector and its share of all cosines.

    `core` lists the words that count as the sentence's core, in any case; by default all but English function words
    do. Raises UsageError for an encoder that does not run in PyTorch or post-processes its vectors, and for a sentence
    without tokens or with too many.
    """
    backend = factory.torch_backend(encoder, "token attribution")
    tokenizer = backend.new_tokenizer()
    prompt = backend.prompts["passage"]
    parts, (ids,) = tokenizer.parts(sentence, prompt), tokenizer.ids([sentence], prompt)
    if len(ids) != len(parts):
        raise UsageError(f"the sentence is longer than the {backend.max_tokens} tokens that {backend.name} reads.")
    # a token that joins the end of the sentence and the prompt's next mark is the sentence's if it has a letter
    places = [at for at, (token, of) in enumerate(parts) if of == "sentence" or (of != PROMPT and _is_word(token))]
    if not places:
        raise UsageError("the sentence has no tokens.", "Write a sentence.")
    vector = backend.vectors([sentence], prompt)[0]
    states = _states(backend, ids, places)
    if states.shape[1] != len(vector) or backend.post is not None:
        problem = f"the vectors of {backend.name} are not the hidden states of a layer: they are post-processed."
        fix = "Choose the model with a template that reads one layer: MODEL#TEMPLATE, such as MODEL#mean."
        raise UsageError(problem, fix)
    lengths = np.linalg.norm(states, axis=1) * np.linalg.norm(vector)
    cosines = np.where(lengths > 0, states @ vector / np.where(lengths > 0, lengths, 1), 0)
    positive = np.maximum(cosines, 0)
    shares = positive / (positive.sum() or 1)
    tokens = [parts[at][0] for at in places]
    columns = (map(readable, tokens), cosines.tolist(), shares.tolist(), _core(tokens, core))
    return [TokenAttribution(*row) for row in zip(*columns, strict=True)]


def readable(token: str) -> str:
    """A token without the vocabulary's space marks.

    >>> readable("Ġcar"), readable("##ing"), readable("▁")
    ('car', '##ing', '␣')
    """
    return token.strip(SPACES) or "␣"


@torch.inference_mode()
def _states(backend: TorchBackend, ids: Sequence[int], places: Sequence[int]) -> NDArray[np.float64]:
    """The hidden states (m, h) at these m places, of the layer that the method reads."""
    network, method = backend.network, backend.method
    inputs = Inputs(*(torch.from_numpy(each).to(backend.device) for each in pad([ids])))
    positions = torch.tensor([places], device=backend.device)
    if isinstance(network, CausalNetwork):
        norm = method.norm if isinstance(method, LastToken) else ""
        hidden = network.read(inputs, positions, backend.layer, norm=norm)
    else:
        hidden = network.read(inputs, positions, backend.layer)
    return np.asarray(hidden[0].double().cpu().numpy())


def _core(tokens: Sequence[str], core: Collection[str]) -> list[bool]:
    """Whether each token belongs to a word of `core`; if that is empty, to a word that is not a function word."""
    words: list[list[int]] = []
    spaced = any(token[:1] in SPACES for token in tokens)
    for at, token in enumerate(tokens):
        begins = token[:1] in SPACES or (not token.startswith(CONTINUATION) and not spaced)
        if begins or not words or not _is_word(token) or not (_is_word(tokens[at - 1]) or tokens[at - 1] in SPACES):
            words.append([])
        words[-1].append(at)
    listed, flags = {word.lower() for word in core}, [False] * len(tokens)
    for word in words:
        text = "".join(tokens[at].strip(SPACES).removeprefix(CONTINUATION) for at in word).lower()
        chosen = text in listed if listed else _is_word(text) and text not in stop_words.ENGLISH
        for at in word:
            flags[at] = chosen
    return flags


def _is_word(token: str) -> bool:
    """Whether the token has a letter or a digit."""
    return re.search(r"[^\W_]", token.strip(SPACES)) is not None
