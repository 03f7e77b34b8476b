"""The same graph for where it will run: fused for CPUs, in 8 bit integers, in half precision."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

from semsearch.export import graph as graphs
from semsearch.models import bundle as bundles

SLOW_FUSIONS = ["SkipLayerNormFusion"]  # on AVX2 65 us, Add and LayerNormalization 22 us, for 24 tokens x 384
CHOSEN: dict[str, Any] = {"weight_type": QuantType.QInt8, "reduce_range": True}  # 7 bits: see scripts/export_default.py
POST = "post."  # what the names of post-processing's numbers begin with in a traced graph
WORDS = 1 << 20  # numbers in a table of word vectors that is worth 8 bits
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


def quantised(source: Path, path: Path, *, narrowing: bool = True) -> Path:
    """8 bit weights: of matrices per channel, activations quantised while it runs; of word vectors per word.

    `narrowing` false leaves the matrices that are higher than wide in float32: the second half of a feed-forward
    block, whose input holds the few large numbers that one scale for all of it blurs. Post-processing stays as it is.
    One scale for the whole table of words, which is what the quantiser knows, cost 4.6 points on STS-B dev under a
    CoT-BERT template (25.9 against 30.5; one for each word: 30.5).
    """
    large = bool(beside(source))
    with _silence():
        quantize_dynamic(
            source,
            path,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            nodes_to_exclude=[*_names_behind(source), *([] if narrowing else _narrowing(source))],
            use_external_data_format=large,
            **CHOSEN,
        )
    model = onnx.load(path)
    _words_by_row(model.graph)
    onnx.save(model, path, save_as_external_data=large, location=path.name + graphs.BESIDE if large else None)
    return path


def halved(source: Path, path: Path) -> Path:
    """Weights and arithmetic in half precision; post-processing, and the way to length 1, in float32."""
    large = bool(beside(source))
    model = onnx.load(source)
    vectors, shape = _unnormalised(model), onnx.ValueInfoProto()
    shape.CopyFrom(model.graph.output[0])
    nodes, numbers = _without_post(model.graph)
    model = convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=large)
    model.graph.node.extend([*nodes, onnx.helper.make_node("LpNormalization", [vectors], ["embedding"], axis=1, p=2)])
    model.graph.initializer.extend(numbers)
    model.graph.output[0].CopyFrom(shape)
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


@contextmanager
def _silence() -> Iterator[None]:
    """Without the quantiser's advice to run its pre-processing, which changes nothing in these graphs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def _narrowing(model: Path) -> list[str]:
    """The products with a constant matrix that is higher than wide."""
    graph = onnx.load(model, load_external_data=False).graph
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    products = [(node, shapes.get(node.input[1], ())) for node in graph.node if node.op_type == "MatMul"]
    return [node.name for node, shape in products if len(shape) == 2 and shape[0] > shape[1]]


def _names_behind(model: Path) -> list[str]:
    return [node.name for node in _behind(onnx.load(model, load_external_data=False).graph)]


def _behind(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """The nodes of post-processing, and all that follows them, in their order."""
    reached = {tensor.name for tensor in graph.initializer if tensor.name.startswith(POST)}
    found = []
    for node in graph.node:
        if reached.intersection(node.input):
            found.append(node)
            reached.update(node.output)
    return found


def _without_post(graph: onnx.GraphProto) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Take post-processing off the end of a graph, which then gives the vector before it; its nodes and numbers."""
    nodes = _behind(graph)
    if not nodes:
        return [], []
    for node in nodes:
        graph.node.remove(node)
    known = {tensor.name: tensor for tensor in graph.initializer}
    graph.output[0].name = next(name for name in nodes[0].input if name not in known)
    graph.output[0].type.tensor_type.ClearField("shape")
    elsewhere = {name for node in graph.node for name in node.input}
    taken: dict[str, onnx.TensorProto] = {}
    for name in dict.fromkeys(name for node in nodes for name in node.input if name in known):
        if name in elsewhere and known[name].data_type != onnx.TensorProto.FLOAT:
            continue  # whole numbers stay what they are
        taken[name] = onnx.TensorProto()
        taken[name].CopyFrom(known[name])
        if name in elsewhere:
            taken[name].name = f"{name} in float32"
        else:
            graph.initializer.remove(known[name])
    for node in nodes:
        node.input[:] = [taken[name].name if name in taken else name for name in node.input]
    return nodes, list(taken.values())


def _words_by_row(graph: onnx.GraphProto) -> None:
    """Every large table (v, h) that rows are taken from, in 8 bits with one scale for each row."""
    tables = {tensor.name: tensor for tensor in graph.initializer if math.prod(tensor.dims) >= WORDS}
    nodes = list(graph.node)
    for at in reversed(range(len(nodes))):
        node = nodes[at]
        if node.op_type == "Gather" and node.input[0] in tables and len(tables[node.input[0]].dims) == 2:
            nodes[at : at + 1] = _by_row(graph, node, tables[node.input[0]])
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    for tensor in tables.values():
        if tensor.name not in used:
            graph.initializer.remove(tensor)


def _by_row(graph: onnx.GraphProto, node: onnx.NodeProto, table: onnx.TensorProto) -> list[onnx.NodeProto]:
    """What `node` takes from `table`: whole numbers times the scale of their row."""
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
    spare = {name for node in last for name in node.input} - {name for node in graph.node for name in node.input}
    for tensor in [each for each in graph.initializer if each.name in spare]:
        graph.initializer.remove(tensor)  # else every session warns of it
    graph.output[0].name = division.input[0]
    return str(division.input[0])
