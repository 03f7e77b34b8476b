"""The exports of an encoder, step by step.

ONNX: trace, convert the precision, compare with PyTorch, describe in a manifest. PyTorch: the model's own files,
encoder.json and post/ (post-processing) in one folder; the weights are copied unchanged, so the fingerprint is that of
the source encoder.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import torch

from semsearch.encoders import pair_similarity
from semsearch.encoders.onnx import OnnxBackend
from semsearch.encoders.torch_backend import TorchBackend
from semsearch.errors import UsageError
from semsearch.export import graph as graphs
from semsearch.export import onnx_files, parity
from semsearch.export.graph import Graph, Inputs
from semsearch.export.onnx_files import Report
from semsearch.models import bundle as bundles
from semsearch.models import postprocessing, safetensors_files
from semsearch.models.batching import pad
from semsearch.models.bundle import Bundle
from semsearch.models.networks import post as steps
from semsearch.models.tokenization import Tokenizer
from semsearch.types import JsonObject

EXAMPLES = ("A man is playing a guitar.", "a")  # one is longer, so that the trace sees padding
COPIED = ("*.json", "*.txt", "*.model", "*.safetensors", "*.py", "README.md", "LICENSE*", "NOTICE*")
CONFIG = "config.json"  # only subfolders with a config are modules of the model
EXCLUDED = (postprocessing.FOLDER, "run")  # post-processing is written anew, the training run is not copied


def write(
    backend: TorchBackend,
    place: Path,
    dtype: str,
    data: Path | None,
    report: Report,
    *,
    most_bytes: int = graphs.MOST_BYTES,
    amend: Callable[[Path], Path] = lambda path: path,
) -> Bundle:
    """Write the weights and the tokenizer of an export of `backend` into the folder `place`; return its manifest.

    `amend` is given the traced graph, before its precision is converted. Raises GateFailed where the export differs too
    much from `backend`.
    """
    onnx_files.write_tokenizer(backend.bundle.path("tokenizer"), place)
    graph, example = trace_inputs(backend)
    fixed = _is_for_one_prompt(backend, graph, example)
    rows = 0 if (bias := getattr(graph, graphs.BIAS)) is None else len(bias)
    details: JsonObject = {"bias_rows": rows, "for_its_prompts_only": fixed}
    report(f"tracing {backend.bundle.name} ({backend.bundle.method})")
    return onnx_files.write_graph(
        lambda path: amend(graphs.trace(graph, example, path, backend.bundle.max_tokens, most_bytes=most_bytes)),
        lambda kept: _compare(_manifest(backend, place, dtype, details | kept), backend, data, report),
        *(place, dtype, report),
    )


def trace_inputs(backend: TorchBackend) -> tuple[Graph, Inputs]:
    """The module that is traced, and token ids and mask to trace it with. UsageError for one with several prompts."""
    prompt, device = backend.prompts["passage"], backend.device
    if (count := len(backend.method.readings(prompt))) > 1:
        raise UsageError(
            f"method {backend.bundle.method} reads a text under {count} prompts, and a graph reads it under one.",
            "It runs in PyTorch: use it without export.",
        )
    tokenizer = _tokenizer(backend)
    ids, mask = (torch.from_numpy(each).to(device) for each in pad(tokenizer.ids(EXAMPLES, prompt)))
    frame = tokenizer.frame(prompt)
    bias = None
    if backend.method.denoises:
        lengths = torch.arange(max(1, backend.max_tokens - len(frame) + 1), device=device)
        with torch.no_grad():  # (lengths, d)
            parts = [
                backend.method.bias(backend.network, frame, each) for each in torch.split(lengths, graphs.BIAS_ROWS)
            ]
        bias = torch.cat(parts)
    return Graph(backend.method, backend.network, frame, bias, backend.post), (ids, mask)


def _is_for_one_prompt(backend: TorchBackend, graph: Graph, example: Inputs) -> bool:
    """Whether the graph is valid for its own prompt only. If so, an encoder with two prompts raises UsageError."""
    if not graphs.depends_on_prompt(graph, example):
        return False
    tokenizer = _tokenizer(backend)
    if len({tokenizer.frame(prompt) for prompt in backend.prompts.values()}) > 1:
        raise UsageError(
            f"method {backend.bundle.method} counts the tokens of its prompt, and {backend.bundle.name} has one prompt "
            "for queries and another for passages: one graph cannot serve both.",
            "Choose a template with one prompt.",
            "Choose a template with one prompt: --template T",
        )
    return True


def _tokenizer(backend: TorchBackend) -> Tokenizer:
    return Tokenizer(backend.bundle.path("tokenizer"), backend.max_tokens, backend.bundle.tokens)


def _manifest(backend: TorchBackend, place: Path, dtype: str, details: JsonObject) -> Bundle:
    """The manifest of the files in `place`, without the comparison."""
    source = backend.bundle
    origin = {
        **{key: value for key, value in source.origin.items() if key == "trained"},
        "weights_sha256": source.weights_sha256,
        "tokenizer_sha256": source.tokenizer_sha256,
        **onnx_files.origin(place, details),
    }
    return replace(
        source,
        dim=backend.dim,
        precision=dtype,
        **onnx_files.fields(place),
        origin=origin,
        parity={},
        background=(),
        folder=place,
    ).with_fingerprint()


def _compare(bundle: Bundle, backend: TorchBackend, data: Path | None, report: Report) -> Bundle:
    """The bundle with its measured differences and its similarity background. Raises GateFailed."""
    exported, sentences = OnnxBackend(bundle, device="cpu"), pair_similarity.unrelated_texts()
    texts = parity.probes(bundle.max_tokens, bundle.tokens)
    prompts = list(dict.fromkeys(backend.prompts.values()))
    figures = parity.compare(exported, backend, prompts, texts, sentences)
    if bundle.precision == "int8" and data is not None:
        report("scoring STS-B dev with both")
        figures |= parity.compare_on_sts(exported, backend, data)
    report(json.dumps(figures))
    gate = parity.check_gate(figures, bundle.precision)
    background = pair_similarity.cosine_quantiles(exported.encode(sentences))
    return replace(bundle, parity={"gate": gate, **figures, "made_with": parity.versions()}, background=background)


def copy(backend: TorchBackend, place: Path) -> Bundle:
    """Write the files of `backend` into the folder `place`; return the manifest."""
    source = backend.bundle
    shutil.copytree(source.folder, place, ignore=_ignored, dirs_exist_ok=True)
    if backend.post is not None:
        steps.save(backend.post, place)
    if not Path(source.tokenizer).is_absolute():
        return replace(source, folder=place)
    shutil.copy(source.path("tokenizer"), place / bundles.TOKENIZER)  # a converted tokenizer is in a cache
    digest = safetensors_files.identity(place / bundles.TOKENIZER)
    return replace(source, tokenizer=bundles.TOKENIZER, tokenizer_sha256=digest, folder=place)


def _ignored(folder: str, names: Sequence[str]) -> list[str]:
    paths = [Path(folder, name) for name in names]
    modules = [path.name for path in paths if path.name not in EXCLUDED and (path / CONFIG).is_file()]
    files = [path.name for path in paths if path.is_file() and any(fnmatch(path.name, each) for each in COPIED)]
    return [name for name in names if name not in (*modules, *files) or name == bundles.MANIFEST]
