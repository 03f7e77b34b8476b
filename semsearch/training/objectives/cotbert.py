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

from typing import TYPE_CHECKING

from torch import nn

from semsearch.training.objectives import Base, Recipe, Shape, View, another, named
from semsearch.training.objectives._contrast import TEMPERATURE, extended, info_nce, tanh_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


class Objective(Base):
    recipe = Recipe(
        batch=128,
        rate=1e-5,
        trains={"bert": "cot-bert-denoised", "roberta": "cot-roberta-denoised"},
        serves={"bert": "cot-bert", "roberta": "cot-roberta"},
    )

    def __init__(
        self,
        shape: Shape,
        *,
        temperature: float = TEMPERATURE,
        third: bool = True,
        negatives: bool = True,
        positive: str = "",
        negative: str = "",
        head: bool = True,
    ) -> None:
        super().__init__(shape)
        self.temperature, self.third, self.negatives = temperature, third, negatives
        self.positive, self.negative = positive, negative
        self.head = tanh_head(shape.dim, shape.spread) if head else nn.Identity()

    @property
    def views(self) -> tuple[View, ...]:
        family = "roberta" if self.shape.kind == "roberta" else "bert"
        views = (
            View(),
            another(self.positive, f"cot-{family}-positive"),
            View(prompt=named(self.negative or f"cot-{family}-negative")),
        )
        return views if self.negatives else views[:2]

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Three (n, d), anchor, positive and negative, before the head; without negatives two."""
        anchors, positives, *denied = (self.head(each) for each in vectors)
        if not denied:
            return info_nce(anchors, positives, self.temperature)
        (negatives,) = denied
        return extended(anchors, positives, negatives, self.temperature, third=self.third)
