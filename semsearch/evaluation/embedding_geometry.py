"""The shape of an encoder's space, measured on texts or on pairs that people scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semsearch.evaluation import geometry
from semsearch.evaluation.sts_tasks import watched

if TYPE_CHECKING:
    from semsearch.evaluation.sts import Pair
    from semsearch.evaluation.sts_tasks import Step
    from semsearch.types import EncoderProtocol


@dataclass(frozen=True, slots=True)
class SpaceShape:
    """`figures`: uniformity, anisotropy, effective_rank, hubness, length_bias, over `texts` different texts.

    `alignment`: by `> 4.0`, `>= 4.0`, `> 4.5`, `>= 4.5`, of the pairs whose gold score is such, and how many those
    are; NaN where none is, empty where there were no pairs.
    """

    figures: Mapping[str, float]
    texts: int
    alignment: Mapping[str, tuple[float, int]]


def pair_geometry(
    encoder: EncoderProtocol, pairs: Sequence[Pair], gold: Sequence[float], step: Step | None = None
) -> SpaceShape:
    """Alignment of the pairs with a high gold score (0 … 5), and the shape of the space of all their texts.

    Uniformity is over all texts, repeated ones too, as papers take it; the rest is without them. `step` hears before
    every 128 texts how many are done. Raises UsageError for fewer than three different texts.
    """
    distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
    place = {text: at for at, text in enumerate(distinct)}
    vectors = watched(encoder, step, "", 0, len(distinct))(distinct)
    found = geometry.describe(vectors, _words(distinct))
    left, right = (vectors[[place[pair[side]] for pair in pairs]] for side in (0, 1))
    found["uniformity"] = geometry.uniformity(geometry.unit(np.concatenate([left, right])))
    return SpaceShape(found, len(distinct), geometry.alignments(left, right, gold))


def text_geometry(encoder: EncoderProtocol, texts: Sequence[str], step: Step | None = None) -> SpaceShape:
    """The shape of the space of different texts, without alignment. Raises UsageError for fewer than three."""
    distinct = list(dict.fromkeys(texts))
    vectors = watched(encoder, step, "", 0, len(distinct))(distinct)
    return SpaceShape(geometry.describe(vectors, _words(distinct)), len(distinct), {})


def _words(texts: Sequence[str]) -> list[int]:
    """Words of each text, which are the same for every encoder."""
    return [len(text.split()) for text in texts]
