"""The loss of an adaptation: questions find their texts, sentences stay apart, and general texts where they were.

    pairs      InfoNCE of questions and their texts, under the prompts of both, with a mined negative for each
               (SimCSE, Gao et al. 2021, https://arxiv.org/abs/2104.08821, eq. 5); a text of the batch that answers
               another's question as well is none of its negatives
    sentences  an objective of the papers on sentences of the texts: CoT-BERT, PromptBERT (both denoised), SG-OPT
    keeping    1 − cosine of general texts to their vectors of before (FitNets, Romero et al. 2015,
               https://arxiv.org/abs/1412.6550)

An encoder that does not read as many [MASK]s as the templates of a method have is contrasted with itself under dropout
alone, which is that method's own ablation: its templates would mean nothing to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from semsearch.prompts import Prompt
from semsearch.training import objectives
from semsearch.training.hyperparameters import Shape
from semsearch.training.objectives._base import BaseObjective, View
from semsearch.training.objectives._contrastive import TEMPERATURE, logits, own
from semsearch.types import JsonObject

Source = tuple[Sequence[str], str, str]
QUESTION, TEXT, NEGATIVE, SENTENCE, GENERAL = "anchor", "positive", "negative", "sentence", "general"
PAIRS, SENTENCES, KEEPING = 1.0, 0.1, 10.0  # weights of the three losses
READS = {"cotbert": 2, "promptbert": 1}  # [MASK]s of their templates
DROPOUT_ALONE: dict[str, JsonObject] = {
    "cotbert": {"positive": "same", "negatives": False},
    "promptbert": {"positive": "same"},
}


def options(method: str, masks: int) -> JsonObject:
    """Those of a method for an encoder that reads so many [MASK]s."""
    own = (
        {"head": False} if method in DROPOUT_ALONE else {"strength": 0.0}
    )  # no head to be learned, nor a second anchor
    return own | (DROPOUT_ALONE[method] if method in READS and masks != READS[method] else {})


class AdaptingObjective(BaseObjective):
    """`inner` is the objective on sentences, before the post-processing `post` of the encoder's vectors.

    The labels are the numbers of rows. `kept` (m, d) are the vectors of the general texts: row r has that of r modulo
    m. `sources` has for each row the documents that answer its question, and those of its text and of its negative.
    `templates`: whether the encoder reads those of `inner`, which are then denoised.
    """

    labels = "class"

    def __init__(
        self,
        shape: Shape,
        inner: BaseObjective,
        query: Prompt,
        post: nn.Module,
        kept: Tensor,
        sources: Sequence[Source],
        *,
        templates: bool,
    ) -> None:
        super().__init__(shape)
        self.inner, self._query, self._sources, self._templates = inner, query, sources, templates
        self._frozen: tuple[nn.Module, Tensor] = (post, kept)  # not to be trained, nor saved

    @property
    def views(self) -> tuple[View, ...]:
        own = [replace(view, column=SENTENCE) for view in self.inner.views]
        if self._templates:
            own = [replace(view, of="denoised") for view in own]
        return View(QUESTION, self._query), View(TEXT), View(NEGATIVE), View(GENERAL), *own

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Questions, texts, negatives and general texts (n, d), then what `inner` takes; labels (n,)."""
        assert labels is not None
        post, kept = self._frozen
        questions, texts, negatives, general = map(post, vectors[:4])
        scores = logits([(questions, texts), (questions, negatives)], TEMPERATURE)
        pairs = own(scores.masked_fill(self._also_right(labels.tolist()).to(scores.device), -torch.inf))
        moved = 1 - functional.cosine_similarity(general, kept.to(general.device)[labels % len(kept)], dim=-1).mean()
        return PAIRS * pairs + SENTENCES * self.inner.loss(vectors[4:]) + KEEPING * moved

    def _also_right(self, rows: Sequence[int]) -> Tensor:
        """(n, 2 n): whether a row's question is answered by the text, or the negative, of another."""
        here = [self._sources[row] for row in rows]
        documents = [text for _, text, _ in here] + [negative for _, _, negative in here]
        right = torch.tensor([[document in answers for document in documents] for answers, _, _ in here])
        return right.fill_diagonal_(False)

    def penalty(self, tuned: nn.Module, frozen: nn.Module | None) -> Tensor | None:
        return self.inner.penalty(tuned, frozen)


def objective(
    method: str,
    shape: Shape,
    masks: int,
    query: Prompt,
    post: nn.Module | None,
    kept: Tensor,
    sources: Sequence[Source],
) -> AdaptingObjective:
    """The loss with cotbert, promptbert or sg-opt on the sentences. `shape` is that of the network, before `post`."""
    inner, templates = objectives.make(method, shape, options(method, masks)), masks == READS.get(method)
    return AdaptingObjective(shape, inner, query, post or nn.Identity(), kept, sources, templates=templates)
