"""What the ONNX exports of encoders and of rerankers share: graph, tokenizer, and what their manifests say of both."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import onnx
from tokenizers import Tokenizer

from semsearch.errors import GateFailed
from semsearch.export import graph as graphs
from semsearch.export import precision
from semsearch.models import bundle as bundles
from semsearch.types import JsonMapping, JsonObject

WEIGHTS, TOKENIZER = "model.onnx", "tokenizer.json"
NARROWING = "outputs of feed-forward blocks"

Report = Callable[[str], None]
Made = TypeVar("Made")


def write_tokenizer(source: Path, place: Path) -> Path:
    """The tokenizer `source` in the folder `place`, without truncation and padding."""
    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(place / TOKENIZER), pretty=False)
    return place / TOKENIZER


def write_graph(
    trace: Callable[[Path], Path], compare: Callable[[JsonObject], Made], place: Path, dtype: str, report: Report
) -> Made:
    """Write the graph that `trace` traces into the folder `place`, in that precision; what `compare` makes of it.

    `compare` is given {}; where an int8 graph fails, another one is tried, with the entry of a manifest for what stays
    in float32. Raises GateFailed where that fails too.
    """
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        full = trace(Path(scratch) / "full.onnx")
        onnx.checker.check_model(full, full_check=True)

        def convert(details: JsonObject) -> Made:
            write_weights(full, place, dtype, details)
            report("comparing it with PyTorch")
            return compare(details)

        try:
            return convert({})
        except GateFailed:
            if dtype != "int8":
                raise
        report("int8 everywhere loses too much: trying again with the outputs of feed-forward blocks in float32")
        return convert({"in_float32": NARROWING})


def write_weights(full: Path, place: Path, dtype: str, details: JsonMapping) -> None:
    """Write the traced graph `full` into the folder `place`, in that precision; weights written before are removed."""
    for old in place.glob(f"{WEIGHTS}*"):
        old.unlink()
    path = place / WEIGHTS
    if dtype == "fp16":
        precision.to_half(full, path)
    elif dtype == "int8":
        narrowing = "in_float32" not in details
        precision.optimise(precision.quantise(full, full.parent / "int8.onnx", narrowing=narrowing), path)
    else:
        precision.optimise(full, path)
    precision.stamp_external_hashes(path)
    onnx.checker.check_model(path, full_check=True)


def origin(place: Path, details: JsonMapping) -> JsonObject:
    """What the `origin` of a manifest says of the graph in `place`."""
    files = {name: bundles.sha256(place / name) for name in precision.external_files(place / WEIGHTS)}
    operators = precision.operators(place / WEIGHTS)
    return {"opset": graphs.OPSET, "operators": operators, "files": files, **details}


def fields(place: Path) -> JsonObject:
    """The fields of a manifest for the files in `place`."""
    return {
        "weights": WEIGHTS,
        "weights_sha256": bundles.sha256(place / WEIGHTS),
        "tokenizer": TOKENIZER,
        "tokenizer_sha256": bundles.sha256(place / TOKENIZER),
    }
