"""Parity of an exported reranker with its source, on pairs that do and do not belong together.

    fp32   no logit moves by more than 0.001, alone or in a batch
    int8   Spearman of the logits of all pairs at least 0.98, and for 19 queries of 20 the same passage is the best one

The pairs are made of sentences on different subjects: the first words of each are a query, and it is asked of that
sentence, of its beginning and its end, and of eight others. What this says about rankings: docs/reranking.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semsearch.encoders import pair_similarity
from semsearch.encoders.rerankers.runtime import RerankerRuntime
from semsearch.evaluation.sts import spearman
from semsearch.export.parity import require

MOVED = 1e-3
SPEARMAN = 0.98
SAME_BEST = 0.95
WORDS = 5  # of a sentence that make a query
OTHERS = 8
QUERIES = 40
ODD = (  # a query and passages that an export may stumble over
    "",
    "word " * 600,
    "这是一个关于猫的句子。",
    "[MASK] <mask> [SEP] </s> [CLS] <s> [PAD] <pad>",
    "  tabs\tand\n\nlines ",
)
FIXES = {
    "fp32": ("Use it in PyTorch, without export.",),
    "int8": ("Export it in fp32.", "Use --dtype fp32."),
}


class Probe(NamedTuple):
    """A query, and the passages that it is read together with."""

    query: str
    passages: list[str]


def probes() -> list[Probe]:
    """Odd texts first, then sentences: their own query should find each of them."""
    sentences = pair_similarity.unrelated_texts()[:QUERIES]
    made = [Probe(query, [*ODD, sentences[0]]) for query in ODD]
    for at, sentence in enumerate(sentences):
        words = sentence.split()
        others = [sentences[(at + step) % len(sentences)] for step in range(1, OTHERS + 1)]
        halves = [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]
        made.append(Probe(" ".join(words[:WORDS]), [sentence, *halves, *others]))
    return made


def compare(ours: RerankerRuntime, theirs: RerankerRuntime) -> dict[str, float]:
    """The differences of the export `ours` from PyTorch."""
    pairs = probes()
    got, expected = ([runtime.logits(*probe).values for probe in pairs] for runtime in (ours, theirs))
    moved = max(_moved(ours, probe, together) for probe, together in zip(pairs, got, strict=True))
    plain = slice(len(ODD), None)
    best = [
        int(np.argmax(one)) == int(np.argmax(other)) for one, other in zip(got[plain], expected[plain], strict=True)
    ]
    every: list[NDArray[np.float64]] = [np.concatenate(one).astype(np.float64) for one in (got, expected)]
    ranked = [np.concatenate(one[plain]).astype(np.float64) for one in (got, expected)]
    return {
        "pairs": len(every[0]),
        "largest_difference": float(f"{np.abs(every[0] - every[1]).max():.2g}"),
        "mean_difference": float(f"{np.abs(every[0] - every[1]).mean():.2g}"),
        "batch_difference": float(f"{moved:.2g}"),
        "spearman_of_pairs": round(spearman(ranked[0], ranked[1]), 4),
        "same_best": round(sum(best) / len(best), 4),
    }


def _moved(ours: RerankerRuntime, probe: Probe, together: NDArray[np.float32]) -> float:
    """How far the logit of the shortest passage, which is padded most, differs where it is read alone."""
    at = min(range(len(together)), key=lambda one: len(probe.passages[one]))
    return abs(float(ours.logits(probe.query, [probe.passages[at]]).values[0] - together[at]))


def check_gate(figures: Mapping[str, float], dtype: str) -> str:
    """A description of the limits that `figures` satisfy. Raises GateFailed where they do not."""
    if dtype == "fp32":
        for name in ("largest_difference", "batch_difference"):
            words = name.replace("_", " ")
            require(figures[name] <= MOVED, dtype, f"{words} of a logit {figures[name]}, at most {MOVED}", FIXES)
        return f"every logit within {MOVED} of torch, alone and together"
    order, best = figures["spearman_of_pairs"], figures["same_best"]
    require(order >= SPEARMAN, dtype, f"Spearman of pairs {order}, at least {SPEARMAN}", FIXES)
    same = f"share of queries with the same best passage {best}, at least {SAME_BEST}"
    require(best >= SAME_BEST, dtype, same, FIXES)
    return f"Spearman of the logits of pairs >= {SPEARMAN}, the same best passage for {SAME_BEST:.0%} of queries"
