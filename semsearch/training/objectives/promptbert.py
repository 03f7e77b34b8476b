"""PromptBERT and PromptRoBERTa without labels: a text under two templates, the bias of each subtracted.

Source: Jiang et al. 2022, https://arxiv.org/abs/2201.04337: eq. 5, sections 4.3 and 4.4, tables 14 and 15. The method
subtracts the bias (denoise=position), in training only. For table 8: a base that names a template without denoising
(BASE#promptbert) trains without it, and `positive="same"` contrasts one template with itself, under dropout; any other
`positive` is a template.

Linear and Tanh, which follow the difference in training and are dropped afterwards, are in the released code and not
in the paper. That code also positions RoBERTa's bias at 0, 1, … instead of 2, 3, … (the template
promptroberta-denoised-released), computes a table of 50 biases instead of the lengths in the batch and fails for longer
texts, subtracts biases in the scores that choose a checkpoint, and appends no full stop to a sentence in training.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import ABOVE_ZERO, View, template_view
from semsearch.training.objectives._contrastive import TEMPERATURE, ContrastiveObjective


@dataclass(frozen=True, slots=True)
class Options:
    """`temperature` divides the cosines; `head` is Linear and Tanh."""

    temperature: float = field(default=TEMPERATURE, metadata=ABOVE_ZERO)
    positive: str = ""
    head: bool = True


class Objective(ContrastiveObjective):
    """The vectors are those of the method, denoised, before the head."""

    hyperparameters = Hyperparameters(
        batch_size=256,
        learning_rate=1e-5,
        training_templates={"bert": "promptbert-denoised", "roberta": "promptroberta-denoised"},
        inference_templates={"bert": "promptbert", "roberta": "promptroberta"},
    )

    @property
    def views(self) -> tuple[View, ...]:
        second = "promptroberta-t2" if self.shape.kind == "roberta" else "promptbert-t2"
        return View(), template_view(self.options.positive, second)
