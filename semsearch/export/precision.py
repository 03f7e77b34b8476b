"""Conversions of a traced graph: fused for CPUs, quantised to int8, or in half precision."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

from semsearch.export import graph as graphs
from semsearch.models import bundle as bundles
from semsearch.types import JsonObject

SLOW_FUSIONS = ["SkipLayerNormFusion"]  # on AVX2 65 us, Add and LayerNormalization 22 us, for 24 tokens x 384
# int8 with 7 significant bits; scripts/encoders/export_default.py has the variants compared
QUANTIZATION: JsonObject = {"weight_type": QuantType.QInt8, "reduce_range": True}
POST = "post."  # prefix of the initializers of post-processing in a traced graph
LARGE_TABLE = 1 << 20  # numbers in a table of word vectors that is worth quantising
EXTERNAL = "session.optimized_model_external_initializers_"


def optimise(source: Path, path: Path) -> Path:
    """The graph with ONNX Runtime's portable fusions applied, so that a session opens faster."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # beyond it: this machine only
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    if external_files(source):
        options.add_session_config_entry(EXTERNAL + "file_name", path.name + graphs.EXTERNAL_SUFFIX)
        options.add_session_config_entry(EXTERNAL + "min_size_in_bytes", "1024")
    ort.InferenceSession(source, options, ["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS)
    return path


def quantise(source: Path, path: Path, *, narrowing: bool = True) -> Path:
    """int8 weights: matrices per channel with dynamically quantised activations, word vectors with a scale per word.

    Without `narrowing`, the matrices that are higher than wide remain in float32: the second half of a feed-forward
    block, whose input has a few large numbers, so that a single scale for the whole tensor is too coarse.
    Post-processing remains in float32. A single scale for the whole table of words, the only one that the quantiser
    offers, cost 4.6 points on STS-B dev under a CoT-BERT template (25.9 against 30.5; one for each word: 30.5).
    """
    large, graph = bool(external_files(source)), onnx.load(source, load_external_data=False).graph
    with graphs.quiet():
        quantize_dynamic(
            source,
            path,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            nodes_to_exclude=[*(node.name for node in _post_nodes(graph)), *([] if narrowing else _narrowing(graph))],
            use_external_data_format=large,
            **QUANTIZATION,
        )
    model = onnx.load(path)
    _quantise_tables(model.graph)
    return _save(model, path, large=large)


def to_half(source: Path, path: Path) -> Path:
    """Weights and arithmetic in half precision; post-processing and normalisation in float32."""
    large = bool(external_files(source))
    model = onnx.load(source)
    vectors, shape = _remove_normalisation(model), onnx.ValueInfoProto()
    shape.CopyFrom(model.graph.output[0])
    nodes, numbers = _without_post(model.graph)
    model = convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=large)
    model.graph.node.extend([*nodes, onnx.helper.make_node("LpNormalization", [vectors], ["embedding"], axis=1, p=2)])
    model.graph.initializer.extend(numbers)
    model.graph.output[0].CopyFrom(shape)
    model.graph.output[0].name = "embedding"
    return _save(model, path, large=large)


def external_files(model: Path) -> list[str]:
    """Names of the files beside the ONNX file `model` with its weights; [] where they are in the file itself."""
    proto = onnx.load(model, load_external_data=False)
    return sorted(
        {entry.value for tensor in proto.graph.initializer for entry in tensor.external_data if entry.key == "location"}
    )


def stamp_external_hashes(model: Path) -> None:
    """Write the hashes of the files beside `model` into it, so that its own hash covers them."""
    files = external_files(model)
    if not files:
        return
    content = onnx.load(model, load_external_data=False)
    hashes = {f"sha256 of {name}": bundles.sha256(model.parent / name) for name in files}
    onnx.helper.set_model_props(content, hashes)
    onnx.save(content, model)


def operators(model: Path) -> list[str]:
    """The operators of a graph, those of other domains prefixed with the domain."""
    nodes = onnx.load(model, load_external_data=False).graph.node
    return sorted({f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in nodes})


def _save(model: onnx.ModelProto, path: Path, *, large: bool) -> Path:
    """Write a graph; the weights of a `large` one go to a file beside it."""
    onnx.save(model, path, save_as_external_data=large, location=path.name + graphs.EXTERNAL_SUFFIX if large else None)
    return path


def _narrowing(graph: onnx.GraphProto) -> list[str]:
    """Names of the products with a constant matrix that is higher than wide."""
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    products = [(node, shapes.get(node.input[1], ())) for node in graph.node if node.op_type == "MatMul"]
    return [node.name for node, shape in products if len(shape) == 2 and shape[0] > shape[1]]


def _post_nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """The nodes of post-processing and all nodes after them, in order."""
    reached = {tensor.name for tensor in graph.initializer if tensor.name.startswith(POST)}
    nodes = []
    for node in graph.node:
        if reached.intersection(node.input):
            nodes.append(node)
            reached.update(node.output)
    return nodes


def _without_post(graph: onnx.GraphProto) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Remove post-processing, so that a graph returns the vector before it; return the nodes and weights removed."""
    nodes = _post_nodes(graph)
    if not nodes:
        return [], []
    for node in nodes:
        graph.node.remove(node)
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    graph.output[0].name = next(name for name in nodes[0].input if name not in tensors)
    graph.output[0].type.tensor_type.ClearField("shape")
    elsewhere = {name for node in graph.node for name in node.input}
    taken: dict[str, onnx.TensorProto] = {}
    for name in dict.fromkeys(name for node in nodes for name in node.input if name in tensors):
        if name in elsewhere and tensors[name].data_type != onnx.TensorProto.FLOAT:
            continue  # integers are not converted
        taken[name] = onnx.TensorProto()
        taken[name].CopyFrom(tensors[name])
        if name in elsewhere:
            taken[name].name = f"{name} in float32"
        else:
            graph.initializer.remove(tensors[name])
    for node in nodes:
        node.input[:] = [taken[name].name if name in taken else name for name in node.input]
    return nodes, list(taken.values())


def _quantise_tables(graph: onnx.GraphProto) -> None:
    """Quantise every large table (v, h) that rows are gathered from to int8, with one scale per row."""
    tables = {tensor.name: tensor for tensor in graph.initializer if math.prod(tensor.dims) >= LARGE_TABLE}
    nodes = list(graph.node)
    for at in reversed(range(len(nodes))):
        node = nodes[at]
        if node.op_type == "Gather" and node.input[0] in tables and len(tables[node.input[0]].dims) == 2:
            nodes[at : at + 1] = _quantised_gather(graph, node, tables[node.input[0]])
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    for tensor in tables.values():
        if tensor.name not in used:
            graph.initializer.remove(tensor)


def _quantised_gather(graph: onnx.GraphProto, node: onnx.NodeProto, table: onnx.TensorProto) -> list[onnx.NodeProto]:
    """Nodes that replace the Gather `node`: int8 rows of `table` times the scale of their row."""
    rows = numpy_helper.to_array(table)
    scales = np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.float32(1e-12)) / np.float32(127)
    name, ids, result = node.name or node.output[0], node.input[1], node.output[0]
    if f"{table.name} scales" not in {tensor.name for tensor in graph.initializer}:
        whole = np.rint(rows / scales).astype(np.int8)
        graph.initializer.append(numpy_helper.from_array(whole, f"{table.name} in 8 bits"))
        graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), f"{table.name} scales"))
    make = onnx.helper.make_node
    return [
        make("Gather", [f"{table.name} in 8 bits", ids], [f"{result} whole"], name=name),
        make("Cast", [f"{result} whole"], [f"{result} number"], name=f"{name} number", to=onnx.TensorProto.FLOAT),
        make("Gather", [f"{table.name} scales", ids], [f"{result} scale"], name=f"{name} scale"),
        make("Mul", [f"{result} number", f"{result} scale"], [result], name=f"{name} scaled"),
    ]


def _remove_normalisation(model: onnx.ModelProto) -> str:
    """Remove the final normalisation from a graph; return the name of its new output."""
    graph = model.graph
    makes = {name: node for node in graph.node for name in node.output}
    division = node = makes[graph.output[0].name]
    last = [division]  # Div(vectors, Expand(Clip(ReduceL2(vectors))))
    while node.op_type != "ReduceL2":
        node = makes[node.input[1] if node is division else node.input[0]]
        last.append(node)
    for node in last:
        graph.node.remove(node)
    spare = {name for node in last for name in node.input} - {name for node in graph.node for name in node.input}
    for tensor in [each for each in graph.initializer if each.name in spare]:
        graph.initializer.remove(tensor)  # an unused initializer makes every session warn
    graph.output[0].name = division.input[0]
    return str(division.input[0])
