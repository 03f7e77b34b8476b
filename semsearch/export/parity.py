"""Parity of an export with its source, on probe texts and plain sentences: an export outside the limits is refused.

    fp32   every cosine to PyTorch at least 0.9999, and no vector depends on its batch
    fp16   every cosine at least 0.999
    int8   STS-B dev at most 0.3 points below PyTorch; where STS-B is not available, the order of the cosines of
           unrelated sentences (Spearman) and the mean cosine to PyTorch

The limits of the last were chosen on all-MiniLM-L6-v2 under three templates: see docs/export.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semsearch.encoders.base import EncoderBackend
from semsearch.errors import GateFailed
from semsearch.evaluation.sts import cosines, spearman
from semsearch.evaluation.sts_benchmarks import sts_pairs
from semsearch.prompts import Prompt
from semsearch.utils import plugins

if TYPE_CHECKING:
    from semsearch.types import Vectors

Fixes: TypeAlias = Mapping[str, tuple[str, ...]]  # precision -> what to do, in Python and at the command line

LEAST_COSINE = {"fp32": 0.9999, "fp16": 0.999}
BATCH_DIFFERENCE = 1e-4  # of any component, alone against together
STS_POINTS = 0.3
SPEARMAN = 0.98
MEAN_COSINE = 0.97
FIXES: Fixes = {
    "fp32": ("Use it in PyTorch, without export.",),
    "fp16": ("Export it in fp32.", "Use --dtype fp32."),
    "int8": (
        "Export it in fp32, or check it on STS-B dev.",
        "Use --dtype fp32, or check it on STS-B dev: --data DIR.",
    ),
}
PROBES = (  # one token, empty, non-Latin, odd spaces, quotes, endings; probes() adds special tokens and long texts
    "a",
    "",
    " ",
    "这是一个关于猫的句子。",
    "Привет, как дела?  مرحبا 👋",
    "  tabs\tand\n\nlines ",
    "He said \"no\", and 'maybe' — “yes”.",
    "Is it so?",
    "So it is!",
    "[MASK] <mask> [SEP] </s> [CLS] <s> [PAD] <pad>",
    "A man is playing a guitar.",
)
PACKAGES = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")


def probes(longest: int, tokens: Mapping[str, str]) -> list[str]:
    """Texts on which an export may differ, for an encoder of `longest` tokens with these special tokens."""
    return [*PROBES, " ".join(tokens.values()), "word " * (longest - 2), "longer than it reads " * longest]


def compare(
    ours: EncoderBackend,
    theirs: EncoderBackend,
    prompts: Sequence[Prompt],
    texts: Sequence[str],
    sentences: Sequence[str],
) -> dict[str, float]:
    """The differences of the export `ours` from PyTorch, under all `prompts` of the encoder."""
    every = [*texts, *sentences]
    got = np.concatenate([ours.embed(every, prompt) for prompt in prompts])
    expected = np.concatenate([theirs.embed(every, prompt) for prompt in prompts])
    alone = np.concatenate([ours.embed([text], prompt) for prompt in prompts for text in every])
    near = cosine_of_each(got, expected)
    left, right = np.triu_indices(len(sentences), k=1)
    ranked = [np.einsum("nd,nd->n", some[left], some[right]) for some in (got[len(texts) :], expected[len(texts) :])]
    return {
        "texts": len(every) * len(prompts),
        "least_cosine": round(float(near.min()), 6),
        "mean_cosine": round(float(near.mean()), 6),
        "largest_difference": float(f"{np.abs(got - expected).max():.2g}"),
        "batch_difference": float(f"{np.abs(got - alone).max():.2g}"),
        "spearman_of_pairs": round(spearman(ranked[0], ranked[1]), 4),
    }


def compare_on_sts(ours: EncoderBackend, theirs: EncoderBackend, data: Path) -> dict[str, float]:
    """STS-B dev, Spearman in percent. Raises NotFound where `data` does not have it."""
    (dev,) = sts_pairs("stsb", data, "dev").values()
    scores = [round(100 * spearman(cosines(dev.pairs, each), dev.gold), 2) for each in (ours, theirs)]
    return {"stsb_dev": scores[0], "stsb_dev_fp32": scores[1]}


def cosine_of_each(ours: Vectors, theirs: Vectors) -> NDArray[np.float64]:
    """Cosine of each row of `ours` with the same row of `theirs`, unit vectors (n, d): (n,). Of two zero rows, 1."""
    near = np.einsum("nd,nd->n", ours, theirs, dtype=np.float64)
    both_zero = ~(ours.any(axis=1) | theirs.any(axis=1))
    return np.where(both_zero, 1.0, near)


def check_gate(figures: Mapping[str, float], dtype: str) -> str:
    """A description of the limits that `figures` satisfy. Raises GateFailed where they do not."""
    if dtype in LEAST_COSINE:
        floor = LEAST_COSINE[dtype]
        require(figures["least_cosine"] >= floor, dtype, f"least cosine {figures['least_cosine']}, at least {floor}")
        if dtype == "fp16":
            return f"every cosine to torch >= {floor}"
        moved = figures["batch_difference"]
        require(moved <= BATCH_DIFFERENCE, dtype, f"a batch changes a vector by {moved}, at most {BATCH_DIFFERENCE}")
        return f"every cosine to torch >= {floor}, alone and together within {BATCH_DIFFERENCE}"
    if "stsb_dev" in figures:
        ours, theirs = figures["stsb_dev"], figures["stsb_dev_fp32"]
        require(ours >= theirs - STS_POINTS, dtype, f"STS-B dev {ours} against {theirs}, at most {STS_POINTS} below")
        return f"STS-B dev at most {STS_POINTS} points below torch"
    order, mean = figures["spearman_of_pairs"], figures["mean_cosine"]
    require(order >= SPEARMAN, dtype, f"Spearman of pairs {order}, at least {SPEARMAN}")
    require(mean >= MEAN_COSINE, dtype, f"mean cosine {mean}, at least {MEAN_COSINE}")
    return f"Spearman of the cosines of unrelated sentences >= {SPEARMAN}, mean cosine to torch >= {MEAN_COSINE}"


def require(passed: bool, dtype: str, what: str, fixes: Fixes = FIXES) -> None:
    """Raises GateFailed, with the fix for that precision, where a limit is not kept."""
    if not passed:  # also where a figure is NaN
        raise GateFailed(
            f"the {dtype} export differs from its source: {what} is required. Nothing was written.", *fixes[dtype]
        )


def require_packages(what: str = "export") -> None:
    """Raises MissingExtra where one of the packages is not installed; `what` is named in the message."""
    plugins.require(PACKAGES, what, "train")


def versions() -> dict[str, str]:
    """The version of each package, as the manifest of an export records it."""
    named = (name for name in PACKAGES if name != "onnxscript")  # modules: wheels have other names for a GPU
    return {name: str(importlib.import_module(name).__version__).partition("+")[0] for name in named}
