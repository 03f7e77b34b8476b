"""The same graph for where it will run: fused for CPUs, in 8 bit integers, in half precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

from semsearch import bundle as bundles
from semsearch.export import graph as graphs

SLOW_FUSIONS = ["SkipLayerNormFusion"]  # on AVX2 65 us, Add and LayerNormalization 22 us, for 24 tokens x 384
CHOSEN: dict[str, Any] = {"weight_type": QuantType.QInt8, "reduce_range": True}  # 7 bits: see scripts/export_default.py
INT8 = ["MatMul", "Gather"]
EXTERNAL = "session.optimized_model_external_initializers_"


def optimised(source: Path, path: Path) -> Path:
    """The graph with ONNX Runtime's fusions done: they hold on every machine, and a session opens faster."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # beyond it: this machine only
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    if beside(source):
        options.add_session_config_entry(EXTERNAL + "file_name", path.name + graphs.BESIDE)
        options.add_session_config_entry(EXTERNAL + "min_size_in_bytes", "1024")
    ort.InferenceSession(source, options, ["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS)
    return path


def quantised(source: Path, path: Path, **variant: Any) -> Path:
    """8 bit weights per channel, activations quantised while it runs. `variant` is CHOSEN unless told."""
    quantize_dynamic(
        source,
        path,
        op_types_to_quantize=INT8,
        per_channel=True,
        use_external_data_format=bool(beside(source)),
        **(variant or CHOSEN),
    )
    return path


def halved(source: Path, path: Path) -> Path:
    """Weights and arithmetic in half precision; the vectors are brought to length 1 in float32."""
    large = bool(beside(source))
    model = onnx.load(source)
    vectors = _unnormalised(model)
    model = convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=large)
    model.graph.node.append(onnx.helper.make_node("LpNormalization", [vectors], ["embedding"], axis=1, p=2))
    model.graph.output[0].name = "embedding"
    onnx.save(model, path, save_as_external_data=large, location=path.name + graphs.BESIDE if large else None)
    return path


def beside(model: Path) -> list[str]:
    """The files in which the weights of the ONNX file `model` lie, where they are not in itself."""
    found = onnx.load(model, load_external_data=False)
    return sorted(
        {entry.value for tensor in found.graph.initializer for entry in tensor.external_data if entry.key == "location"}
    )


def stamp(model: Path) -> None:
    """Write the hashes of the files beside `model` into it, so that its own hash stands for all of them."""
    files = beside(model)
    if not files:
        return
    content = onnx.load(model, load_external_data=False)
    hashes = {f"sha256 of {name}": bundles.sha256(model.parent / name) for name in files}
    onnx.helper.set_model_props(content, hashes)
    onnx.save(content, model)


def operators(model: Path) -> list[str]:
    """The operators of a graph, those of other domains with the domain before them."""
    nodes = onnx.load(model, load_external_data=False).graph.node
    return sorted({f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in nodes})


def _unnormalised(model: onnx.ModelProto) -> str:
    """Take the last steps, which bring vectors to length 1, out of a graph; the name of what it gives then."""
    graph = model.graph
    makes = {name: node for node in graph.node for name in node.output}
    division = node = makes[graph.output[0].name]
    last = [division]  # Div(vectors, Expand(Clip(ReduceL2(vectors))))
    while node.op_type != "ReduceL2":
        node = makes[node.input[1] if node is division else node.input[0]]
        last.append(node)
    for node in last:
        graph.node.remove(node)
    graph.output[0].name = division.input[0]
    return str(division.input[0])
