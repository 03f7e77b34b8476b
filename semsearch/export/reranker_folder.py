"""The export of a reranker, step by step: trace, convert the precision, compare with PyTorch, describe.

    fp32   no logit moves by more than 0.001, alone or in a batch
    int8   Spearman of the logits of all pairs at least 0.98, and for 19 queries of 20 the same passage is the best one

The pairs are made of sentences on different subjects: the first words of each are a query, and it is asked of that
sentence, of its beginning and its end, and of eight others. What this says about rankings: docs/reranking.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from semsearch.encoders import pair_similarity
from semsearch.encoders.rerankers.runtime import RerankerRuntime
from semsearch.encoders.rerankers.runtimes import onnx as on_onnx
from semsearch.encoders.rerankers.runtimes import torch as on_torch
from semsearch.errors import UsageError
from semsearch.evaluation.sts import spearman
from semsearch.export import graph as graphs
from semsearch.export import onnx_files, parity
from semsearch.export.onnx_files import Report
from semsearch.models.networks.pairs import PairNetwork
from semsearch.models.rerankers import manifest
from semsearch.models.rerankers.manifest import RerankerBundle
from semsearch.models.rerankers.pair_tokens import PairTokenizer
from semsearch.types import JsonObject

EXAMPLE = "What is he playing?", ("A man is playing a guitar.", "a")  # one is longer, so that the trace sees padding
OUTPUT = "logit"
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


class PairGraph(nn.Module):
    """The network under the names of a graph's inputs: (n, t) -> logits (n, 1)."""

    def __init__(self, network: PairNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        logits: Tensor = self.network(input_ids, attention_mask, token_type_ids)
        return logits[:, None]


def write(runtime: RerankerRuntime, place: Path, dtype: str, report: Report) -> RerankerBundle:
    """Write weights and tokenizer of an export into the folder `place`; its manifest. Raises GateFailed, UsageError."""
    if not isinstance(runtime, on_torch.Runtime):
        raise UsageError(f"{runtime.bundle.name} does not run in PyTorch, which an export starts from.")
    source = runtime.bundle
    tokenizer = onnx_files.write_tokenizer(source.path("tokenizer"), place)
    report(f"tracing {source.name}")
    return onnx_files.write_graph(
        lambda path: _traced(runtime, tokenizer, path),
        lambda kept: _compare(manifest.write(_manifest(source, place, dtype, kept), place), runtime, report),
        *(place, dtype, report),
    )


def _traced(runtime: on_torch.Runtime, tokenizer: Path, path: Path) -> Path:
    rows = PairTokenizer(tokenizer, runtime.bundle.max_tokens).rows(*EXAMPLE)
    example = runtime.tensors(rows.ids, rows.segments)
    names, longest = on_onnx.INPUTS[: len(example)], runtime.bundle.max_tokens
    return graphs.trace(PairGraph(runtime.network), example, path, longest, inputs=names, output=OUTPUT)


def _manifest(source: RerankerBundle, place: Path, dtype: str, details: JsonObject) -> RerankerBundle:
    """The manifest of the files in `place`, without the comparison."""
    hashes = {key: getattr(source, key) for key in ("weights_sha256", "tokenizer_sha256", "config_sha256")}
    origin = hashes | onnx_files.origin(place, details)
    return replace(source, precision=dtype, **onnx_files.fields(place), origin=origin, parity={})


def _compare(bundle: RerankerBundle, runtime: on_torch.Runtime, report: Report) -> RerankerBundle:
    """The manifest with the measured differences from PyTorch. Raises GateFailed."""
    figures = compare(on_onnx.Runtime(bundle.folder, device="cpu"), runtime)
    report(json.dumps(figures))
    gate = check_gate(figures, bundle.precision)
    return replace(bundle, parity={"gate": gate, **figures, "made_with": parity.versions()})


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
            parity.require(figures[name] <= MOVED, dtype, f"{words} of a logit {figures[name]}, at most {MOVED}", FIXES)
        return f"every logit within {MOVED} of torch, alone and together"
    order, best = figures["spearman_of_pairs"], figures["same_best"]
    parity.require(order >= SPEARMAN, dtype, f"Spearman of pairs {order}, at least {SPEARMAN}", FIXES)
    same = f"share of queries with the same best passage {best}, at least {SAME_BEST}"
    parity.require(best >= SAME_BEST, dtype, same, FIXES)
    return f"Spearman of the logits of pairs >= {SPEARMAN}, the same best passage for {SAME_BEST:.0%} of queries"
