"""PairNetwork: a sequence classifier that reads a query and a passage together, and gives one number for each pair.

Of a BERT and its like, the last layer is computed for the first token alone, which is all that the classifier reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import transformers
from torch import Tensor, nn

from semsearch.models.networks import loading, pooling
from semsearch.models.networks.masked import LIKE_BERT, MIXING, Inputs, MaskedNetwork


class PairNetwork(nn.Module):
    """ids, mask and segments (n, t) -> logits (n,): of the only label, or of the positive one less the other's.

    `pads`: whether pairs of several lengths may be padded to one batch.
    """

    def __init__(self, whole: Any, positive: int | None) -> None:
        super().__init__()
        kind = whole.config.model_type
        self.whole, self.positive = whole, positive
        self.pads = kind not in MIXING
        self.body = MaskedNetwork(whole.base_model) if kind in LIKE_BERT else None

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        logits = self._labels(ids, mask, types).float()
        return logits[:, 0] if self.positive is None else logits[:, self.positive] - logits[:, 1 - self.positive]

    def _labels(self, ids: Tensor, mask: Tensor, types: Tensor | None) -> Tensor:
        """(n, labels)."""
        if self.body is None:
            segments = {} if types is None else {"token_type_ids": types}
            logits: Tensor = self.whole(input_ids=ids, attention_mask=mask, **segments).logits
            return logits
        read = self.body.read(Inputs(ids, mask, types=types), pooling.first(ids))
        pooler = getattr(self.whole.base_model, loading.POOLER, None)
        labels: Tensor = self.whole.classifier(read if pooler is None else pooler(read))
        return labels


def load(folder: Path, positive: int | None, *, device: str = "cpu") -> PairNetwork:
    """The classifier in `folder` in full precision and evaluation mode; code in the folder is never run.

    Raises NotFound if there is no model, and SemsearchError if a part of it is missing, which would be random.
    """
    load_it = transformers.AutoModelForSequenceClassification.from_pretrained
    whole = loading.load_pretrained(load_it, folder, "fp32")
    return PairNetwork(whole, positive).to(device).train(False)
