"""The export of a reranker, step by step: trace, convert the precision, compare with PyTorch, describe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from semsearch.encoders.rerankers.runtime import RerankerRuntime
from semsearch.encoders.rerankers.runtimes import onnx as on_onnx
from semsearch.encoders.rerankers.runtimes import torch as on_torch
from semsearch.errors import UsageError
from semsearch.export import graph as graphs
from semsearch.export import onnx_files, requirements, reranker_parity
from semsearch.export.onnx_files import Report
from semsearch.models.networks.pairs import PairNetwork
from semsearch.models.rerankers import manifest
from semsearch.models.rerankers.manifest import RerankerBundle
from semsearch.models.rerankers.pair_tokens import PairTokenizer
from semsearch.types import JsonObject

EXAMPLE = "What is he playing?", ("A man is playing a guitar.", "a")  # one is longer, so that the trace sees padding
OUTPUT = "logit"


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
    figures = reranker_parity.compare(on_onnx.Runtime(bundle.folder, device="cpu"), runtime)
    report(json.dumps(figures))
    gate = reranker_parity.check_gate(figures, bundle.precision)
    return replace(bundle, parity={"gate": gate, **figures, "made_with": requirements.versions()})
