"""The steps of an export, in their order: trace, change the precision, check, measure, describe."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from tokenizers import Tokenizer as FastTokenizer

from semsearch import export
from semsearch.encoders import background as unrelated
from semsearch.encoders.onnx import OnnxEncoder
from semsearch.errors import GateFailed, UsageError
from semsearch.export import graph as graphs
from semsearch.export import parity, precision
from semsearch.export.graph import Graph, Inputs
from semsearch.models import bundle as bundles
from semsearch.models.bundle import Bundle
from semsearch.models.tokenization import Tokenizer, padded
from semsearch.utils import calibration

NARROWING = "outputs of feed-forward blocks"
EXAMPLES = ("A man is playing a guitar.", "a")  # one is longer, so that the trace sees padding


def made(engine: Any, place: Path, dtype: str, data: Path | None, report: export.Report) -> Bundle:
    """Write weights and tokenizer of the export of `engine` into `place`; its manifest, measured and passed."""
    _write_tokenizer(engine.bundle, place)
    graph, example = _graph(engine)
    fixed = _fixed(engine, graph, example)
    rows = 0 if (bias := getattr(graph, graphs.BIAS)) is None else len(bias)
    told = {"bias_rows": rows, "for_its_prompts_only": fixed}
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        report(f"tracing {engine.bundle.name} ({engine.bundle.method})")
        full = graphs.traced(graph, example, Path(scratch) / "full.onnx", engine.bundle.max_tokens)
        onnx.checker.check_model(full, full_check=True)
        try:
            return _finished(engine, full, place, dtype, told, data, report)
        except GateFailed:
            if dtype != "int8":
                raise
        report("8 bits are too few for all of it: once more, with the outputs of feed-forward blocks in float32")
        return _finished(engine, full, place, dtype, told | {"in_float32": NARROWING}, data, report)


def _finished(
    engine: Any, full: Path, place: Path, dtype: str, told: dict[str, Any], data: Path | None, report: export.Report
) -> Bundle:
    """Weights in `place` out of the traced graph `full`, and their manifest. Raises GateFailed."""
    for old in place.glob(f"{export.WEIGHTS}*"):
        old.unlink()
    _write_weights(full, place, dtype, narrowing="in_float32" not in told)
    bundle = _described(engine, place, dtype, told)
    report("measuring it against torch")
    return _measured(bundle, engine, data, report)


def _graph(engine: Any) -> tuple[Graph, Inputs]:
    """What is traced, and texts to trace it with."""
    prompt, device = engine.prompts["passage"], engine.device
    tokenizer = Tokenizer(engine.bundle.path("tokenizer"), engine.max_tokens, engine.bundle.tokens)
    ids, mask = (torch.from_numpy(each).to(device) for each in padded(tokenizer.ids(EXAMPLES, prompt)))
    frame = tokenizer.frame(prompt)
    bias = None
    if engine.method.denoises:
        rows = max(1, engine.max_tokens - len(frame) + 1)
        bias = graphs.bias_table(engine.method, engine.network, frame, rows, device)
    return Graph(engine.method, engine.network, frame, bias, engine.post), (ids, mask)


def _fixed(engine: Any, graph: Graph, example: Inputs) -> bool:
    """Whether the graph holds for its own prompt only. UsageError where the encoder has two such prompts."""
    if not graphs.looks_at_the_prompt(graph, example):
        return False
    tokenizer = Tokenizer(engine.bundle.path("tokenizer"), engine.max_tokens, engine.bundle.tokens)
    if len({tokenizer.frame(prompt) for prompt in engine.prompts.values()}) > 1:
        raise UsageError(
            f"method {engine.bundle.method} counts the tokens of its prompt, and {engine.bundle.name} has one prompt "
            "for queries and another for passages: one graph cannot serve both.",
            "Choose a template with one prompt: --template T",
        )
    return True


def _write_weights(full: Path, place: Path, dtype: str, *, narrowing: bool = True) -> None:
    """model.onnx in `place`, checked, and beside it what protobuf could not hold."""
    path = place / export.WEIGHTS
    if dtype == "fp16":
        precision.halved(full, path)
    elif dtype == "int8":
        precision.optimised(precision.quantised(full, full.parent / "int8.onnx", narrowing=narrowing), path)
    else:
        precision.optimised(full, path)
    precision.stamp(path)
    onnx.checker.check_model(path, full_check=True)


def _write_tokenizer(bundle: Bundle, place: Path) -> None:
    tokenizer = FastTokenizer.from_file(str(bundle.path("tokenizer")))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(place / export.TOKENIZER), pretty=False)


def _described(engine: Any, place: Path, dtype: str, told: dict[str, Any]) -> Bundle:
    """The manifest of what lies in `place`, not measured yet."""
    source: Bundle = engine.bundle
    weights = place / export.WEIGHTS
    origin = {
        **{key: value for key, value in source.origin.items() if key == "trained"},
        "weights_sha256": source.weights_sha256,
        "tokenizer_sha256": source.tokenizer_sha256,
        "opset": graphs.OPSET,
        "operators": precision.operators(weights),
        "files": {name: bundles.sha256(place / name) for name in precision.beside(weights)},
        **told,
    }
    return replace(
        source,
        dim=engine.dim,
        precision=dtype,
        weights=export.WEIGHTS,
        weights_sha256=bundles.sha256(weights),
        tokenizer=export.TOKENIZER,
        tokenizer_sha256=bundles.sha256(place / export.TOKENIZER),
        origin=origin,
        parity={},
        background=(),
        folder=place,
    ).sealed()


def _measured(bundle: Bundle, engine: Any, data: Path | None, report: export.Report) -> Bundle:
    """The bundle with its figures and its background. Raises GateFailed."""
    ours, sentences = OnnxEncoder(bundle, device="cpu"), unrelated.texts()
    texts = parity.probes(bundle.max_tokens, bundle.tokens)
    prompts = list(dict.fromkeys(engine.prompts.values()))
    figures: dict[str, Any] = parity.measured(ours, engine, prompts, texts, sentences)
    if bundle.precision == "int8" and data is not None:
        report("scoring STS-B dev with both")
        figures |= parity.measured_on_sts(ours, engine, data)
    report(json.dumps(figures))
    figures = {"gate": parity.gated(figures, bundle.precision), **figures, "made_with": export.versions()}
    vectors = ours.encode(sentences)
    background = calibration.background(vectors, np.arange(1, len(vectors) + 1))
    return replace(bundle, parity=figures, background=tuple(round(each, 5) for each in background))
