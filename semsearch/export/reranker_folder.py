"""The export of a reranker, step by step: trace, convert the precision, compare with PyTorch, describe."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
from tokenizers import Tokenizer as FastTokenizer
from torch import Tensor, nn

from semsearch.encoders.rerankers.runtime import RerankerRuntime
from semsearch.encoders.rerankers.runtimes import onnx as on_onnx
from semsearch.encoders.rerankers.runtimes import torch as on_torch
from semsearch.errors import GateFailed, UsageError
from semsearch.export import graph as graphs
from semsearch.export import precision, requirements, reranker_parity
from semsearch.export.onnx_folder import NARROWING, TOKENIZER, WEIGHTS
from semsearch.models import bundle as bundles
from semsearch.models.networks.pairs import PairNetwork
from semsearch.models.rerankers import manifest
from semsearch.models.rerankers.manifest import RerankerBundle
from semsearch.models.rerankers.pair_tokens import PairTokenizer
from semsearch.types import JsonObject

EXAMPLE = "What is he playing?", ("A man is playing a guitar.", "a")  # one is longer, so that the trace sees padding
OUTPUT = "logit"

Report = Callable[[str], None]


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
    tokenizer = FastTokenizer.from_file(str(source.path("tokenizer")))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(place / TOKENIZER), pretty=False)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        report(f"tracing {source.name}")
        full = _traced(runtime, place / TOKENIZER, Path(scratch) / "full.onnx")
        try:
            return _convert(runtime, full, place, dtype, {}, report)
        except GateFailed:
            if dtype != "int8":
                raise
        report("int8 everywhere loses too much: trying again with the outputs of feed-forward blocks in float32")
        return _convert(runtime, full, place, dtype, {"in_float32": NARROWING}, report)


def _traced(runtime: on_torch.Runtime, tokenizer: Path, path: Path) -> Path:
    rows = PairTokenizer(tokenizer, runtime.bundle.max_tokens).rows(*EXAMPLE)
    example = runtime.tensors(rows.ids, rows.segments)
    names, longest = on_onnx.INPUTS[: len(example)], runtime.bundle.max_tokens
    graphs.trace(PairGraph(runtime.network), example, path, longest, inputs=names, output=OUTPUT)
    onnx.checker.check_model(path, full_check=True)
    return path


def _convert(
    runtime: on_torch.Runtime, full: Path, place: Path, dtype: str, details: JsonObject, report: Report
) -> RerankerBundle:
    """Write the weights in `place`, made from the traced graph `full`; their manifest. Raises GateFailed."""
    for old in place.glob(f"{WEIGHTS}*"):
        old.unlink()
    source, made = full, place / WEIGHTS
    if dtype == "int8":
        source = precision.quantise(full, full.parent / "int8.onnx", narrowing="in_float32" not in details)
    precision.optimise(source, made)
    precision.stamp_external_hashes(made)
    onnx.checker.check_model(made, full_check=True)
    bundle = manifest.write(_manifest(runtime.bundle, place, dtype, details), place)
    report("comparing it with PyTorch")
    figures = reranker_parity.compare(on_onnx.Runtime(place, device="cpu"), runtime)
    report(json.dumps(figures))
    gate = reranker_parity.check_gate(figures, dtype)
    return replace(bundle, parity={"gate": gate, **figures, "made_with": requirements.versions()})


def _manifest(source: RerankerBundle, place: Path, dtype: str, details: JsonObject) -> RerankerBundle:
    """The manifest of the files in `place`, without the comparison."""
    weights = place / WEIGHTS
    hashes = {key: getattr(source, key) for key in ("weights_sha256", "tokenizer_sha256", "config_sha256")}
    origin = {
        **hashes,
        "opset": graphs.OPSET,
        "operators": precision.operators(weights),
        "files": {name: bundles.sha256(place / name) for name in precision.external_files(weights)},
        **details,
    }
    return replace(
        source,
        precision=dtype,
        weights=WEIGHTS,
        weights_sha256=bundles.sha256(weights),
        tokenizer=TOKENIZER,
        tokenizer_sha256=bundles.sha256(place / TOKENIZER),
        origin=origin,
        parity={},
    )
