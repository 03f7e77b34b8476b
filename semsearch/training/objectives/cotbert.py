"""CoT-BERT: a text under three templates, the third of which denies what it says.

Source: Zhang et al. 2023, https://arxiv.org/abs/2309.11143: eq. 3, section 3.3 (denoising), section 4.1 (settings).
Every vector is freed of its own template's bias by the method, then passes a head that is dropped afterwards. The
authors train on two GPUs whose halves of the batch do not see each other: 128 texts are contrasted, not 256.
For the ablations of tables 3 and 4: `third=False` leaves out the contrast of positives with negatives,
`negatives=False` all that is denied, which is plain InfoNCE; `positive` and `negative` are other templates, and a
positive "same" is the anchor's own, so that dropout alone tells the two apart.

The released code differs from the paper where RoBERTa is denoised (denoise=pad-released of the method cot_bert), puts
no full stop behind a sentence in training, and a blank behind RoBERTa's templates; here a text is trained on as it
is read afterwards. Its branch for a fourth view adds nothing to its loss, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, Shape, View, passage_prompt, template_view
from semsearch.training.objectives._contrastive import TEMPERATURE, extended, info_nce, tanh_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Options:
    temperature: float = TEMPERATURE
    third: bool = True
    negatives: bool = True
    positive: str = ""
    negative: str = ""
    head: bool = True


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(
        batch_size=128,
        learning_rate=1e-5,
        training_templates={"bert": "cot-bert-denoised", "roberta": "cot-roberta-denoised"},
        inference_templates={"bert": "cot-bert", "roberta": "cot-roberta"},
    )

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape)
        self.options = options
        self.head = tanh_head(shape.dim, shape.spread) if options.head else nn.Identity()

    @property
    def views(self) -> tuple[View, ...]:
        family = "roberta" if self.shape.kind == "roberta" else "bert"
        views = (
            View(),
            template_view(self.options.positive, f"cot-{family}-positive"),
            View(prompt=passage_prompt(self.options.negative or f"cot-{family}-negative")),
        )
        return views if self.options.negatives else views[:2]

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Three (n, d), anchor, positive and negative, before the head; without negatives two."""
        anchors, positives, *denied = (self.head(each) for each in vectors)
        if not denied:
            return info_nce(anchors, positives, self.options.temperature)
        (negatives,) = denied
        return extended(anchors, positives, negatives, self.options.temperature, third=self.options.third)
