"""`sts A B --masks`: what stands at the [MASK]s of a template, as a person reads it and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import semsearch
from semsearch import evaluation, training
from semsearch.cli.output import console
from semsearch.errors import SemsearchError
from semsearch.types import JsonObject

if TYPE_CHECKING:
    from semsearch.evaluation import LikeliestWords, MaskComparison
    from semsearch.evaluation.papers.fill_mask import Word

SIDES = ("a", "b")


@dataclass(frozen=True, slots=True)
class SeenMasks:
    """The cosines at the [MASK]s of a pair, and the likeliest words; None for a model whose head is not known."""

    compared: MaskComparison
    words: LikeliestWords | None

    @property
    def as_json(self) -> JsonObject:
        """Places of [MASK]s from 1. `read` is that of the encoder's vector; words are null without a head."""
        places = [
            {"mask": at + 1, "cosine": round(cosine, 6), "words": self._words(at)}
            for at, cosine in enumerate(self.compared.across)
        ]
        steps = [
            {"masks": [at + 1, at + 2], **{side: round(cosine, 6) for side, cosine in zip(SIDES, both, strict=True)}}
            for at, both in enumerate(self.compared.within)
        ]
        read, head = self.compared.read, self.words and self.words.head
        read_at = None if read is None else read + 1
        return {"places": places, "steps": steps, "read": read_at, "denoised": self.compared.denoised, "head": head}

    def _words(self, at: int) -> JsonObject | None:
        if self.words is None:
            return None
        return {side: [asdict(word) for word in words[at]] for side, words in zip(SIDES, self.words.words, strict=True)}


def seen(encoders: Mapping[str, semsearch.Encoder], texts: tuple[str, str]) -> dict[str, SeenMasks]:
    """What each encoder has at its [MASK]s. Raises UsageError for one whose template has none."""
    masks = {}
    for name, encoder in encoders.items():
        compared = evaluation.compare_masks(encoder, texts)
        try:
            words = evaluation.likeliest_words(encoder, texts, training.base_model_of(name))
        except SemsearchError as error:
            console.warn([f"{name}: no words are predicted: {error.message}"])
            words = None
        masks[name] = SeenMasks(compared, words)
    return masks


def show(every: Mapping[str, SeenMasks]) -> None:
    """Print a table of cosines and one of words for each model."""
    for name, one in every.items():
        names = one.compared.names
        console.out()
        console.out(console.safe(name) + (", after denoising" if one.compared.denoised else ""))
        rows = [
            [f"{cosine:.4f}", f"A with B, at {names[at]}{', the vector' if at == one.compared.read else ''}"]
            for at, cosine in enumerate(one.compared.across)
        ]
        rows += [
            [f"{cosine:.4f}", f"{names[at]} with {names[at + 1]}, in {side.upper()}"]
            for at, both in enumerate(one.compared.within)
            for side, cosine in zip(SIDES, both, strict=True)
        ]
        console.table(rows, ("cosine", "compared"))
        if one.words is not None:
            console.out()
            likeliest = one.words
            lines = [
                [names[at], side.upper(), "  ".join(map(_spelled, words[at]))]
                for at in range(len(names))
                for side, words in zip(SIDES, likeliest.words, strict=True)
            ]
            head = f", by {likeliest.head}" if likeliest.head else ""
            console.table(lines, ("mask", "text", f"likeliest words{head}"))


def _spelled(word: Word) -> str:
    return f"{word.token} {100 * word.probability:.1f}%"
