"""PromptBERT and PromptRoBERTa: the last hidden state of the [MASK] in "This sentence of "…" means [MASK]."

Source: Jiang et al. 2022, https://arxiv.org/abs/2201.04337. `denoise="position"` subtracts the vector of the
template around an empty sentence, its second half at the position ids it has with the sentence (section 4.3);
"position-released" uses ids from 0 for RoBERTa too, whose real ids begin at 2, as the released code does.
`head="transform"` is that of the supervised BERT (the masked-language-model head without its decoder, on both sides of
the difference), "pooler" that of the supervised RoBERTa (after the difference). `top_k=200` is eq. 3: the word vectors
of the k likeliest tokens for [MASK], weighted by their probabilities; the released code leaves it out. It excludes a
head. Denoised, the same of the empty template is subtracted (table 9, which gives no formula).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.methods._masks import bias_of, part, read_mask, shifted, without_bias
from semsearch.models.networks.masked import Inputs, MaskedNetwork
from semsearch.models.tokenization import PromptTokens


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    denoise: str = ""
    head: str = ""
    top_k: int = 0
    layer: int = -1

    kind: ClassVar[str] = "masked"

    def __post_init__(self) -> None:
        chosen("denoise", self.denoise, ("", "position", "position-released"))
        chosen("head", self.head, ("", "transform", "pooler"))
        if self.top_k < 0:
            raise UsageError(f"top_k cannot be {self.top_k}.", "It has to be 0, for none, or more: the paper has 200.")
        if self.top_k and self.head:
            raise UsageError(f"top_k {self.top_k} does not go together with a head.", "Use one of them.")

    @property
    def masks(self) -> int | None:
        return 1

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"transform", "decoder"} if self.top_k else {self.head} - {""})

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, h)."""
        hidden = read_mask(network, Inputs(batch.ids, batch.mask), batch.frame, self.layer)
        vectors = self._headed(network, hidden)
        if self.denoise:
            same = self.denoise == "position" or not network.first_position
            vectors = without_bias(vectors, bias_of(self, network, batch), batch, same_places=same)
        return part(network, "pooler")(vectors) if self.head == "pooler" else vectors

    def empty(self, network: MaskedNetwork, frame: PromptTokens, lengths: Tensor) -> Inputs:
        """The template around an empty sentence, at the positions for `lengths` tokens."""
        return shifted(frame, lengths, network.first_position if self.denoise == "position" else 0)

    def bias(self, network: MaskedNetwork, frame: PromptTokens, lengths: Tensor) -> Tensor:
        """(l, h)."""
        return self._headed(network, read_mask(network, self.empty(network, frame, lengths), frame, self.layer))

    def _headed(self, network: MaskedNetwork, hidden: Tensor) -> Tensor:
        """`hidden` (n, h) through the head that precedes the difference."""
        if self.top_k:
            return _likeliest(network, hidden, self.top_k)
        vectors: Tensor = part(network, "transform")(hidden) if self.head == "transform" else hidden
        return vectors


def _likeliest(network: MaskedNetwork, hidden: Tensor, k: int) -> Tensor:
    """Eq. 3: the mean of the word vectors of the k likeliest tokens, weighted by their probabilities."""
    logits = part(network, "decoder")(part(network, "transform")(hidden))
    best = logits.topk(min(k, logits.shape[-1]), dim=-1)
    weights = best.values.softmax(-1)  # the denominator of eq. 3 is the same for every token of the k
    mean: Tensor = (network.words(best.indices) * weights.unsqueeze(-1)).sum(1)
    return mean
