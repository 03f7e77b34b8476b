"""CoT-BERT: a text under three templates, the third of which negates it.

Source: Zhang et al. 2023, https://arxiv.org/abs/2309.11143: eq. 3, section 3.3 (denoising), section 4.1 (settings).
The method subtracts from every vector the bias of its own template; then the vector passes a head that is dropped after
training. The authors train on two GPUs whose halves of the batch do not see each other: 128 texts are contrasted, not
256. For the ablations of tables 3 and 4: `third=False` leaves out the contrast of positives with negatives,
`negatives=False` all negatives, which is plain InfoNCE; `positive` and `negative` are other templates, and a positive
"same" is the anchor's own template, so that the two differ by dropout alone.

The released code differs from the paper in how RoBERTa is denoised (denoise=pad-released of the method cot_bert). In
training it appends no full stop to a sentence, and a space to RoBERTa's templates; here texts are read in training as
at inference. Its branch for a fourth view adds nothing to the loss, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import ABOVE_ZERO, View, passage_prompt, template_view
from semsearch.training.objectives._contrastive import TEMPERATURE, ContrastiveObjective, logits, own


@dataclass(frozen=True, slots=True)
class Options:
    """`temperature` divides the cosines; `head` is Linear and Tanh. The others choose an ablation."""

    temperature: float = field(default=TEMPERATURE, metadata=ABOVE_ZERO)
    third: bool = True
    negatives: bool = True
    positive: str = ""
    negative: str = ""
    head: bool = True


class Objective(ContrastiveObjective):
    hyperparameters = Hyperparameters(
        batch_size=128,
        learning_rate=1e-5,
        training_templates={"bert": "cot-bert-denoised", "roberta": "cot-roberta-denoised"},
        inference_templates={"bert": "cot-bert", "roberta": "cot-roberta"},
    )

    @property
    def views(self) -> tuple[View, ...]:
        family = "roberta" if self.shape.kind == "roberta" else "bert"
        positive = template_view(self.options.positive, f"cot-{family}-positive")
        negative = View(prompt=passage_prompt(self.options.negative or f"cot-{family}-negative"))
        return (View(), positive, negative) if self.options.negatives else (View(), positive)

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Three (n, d), anchor, positive and negative, before the head; without negatives two."""
        anchors, positives, *negatives = (self.head(each) for each in vectors)
        blocks = [(anchors, each) for each in (positives, *negatives)]
        if negatives and self.options.third:
            blocks.append((positives, negatives[0]))
        return own(logits(blocks, self.options.temperature))
