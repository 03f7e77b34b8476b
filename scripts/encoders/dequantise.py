"""int8 ONNX graphs of BERT networks, turned back into the tensors that Hugging Face's classes load.

`tensors` reads graphs of others, `exported` those that semsearch has exported.

ONNX Runtime's dynamic quantisation leaves vectors in float32 under their own names, and splits each matrix into three
initialisers: X_quantized, X_scale and X_zero_point, one scale for the tensor or one for each column. Word vectors keep
their name as X; a matrix of a linear layer may have lost it, but the node that multiplies by it is named after the
layer: /encoder/layer.0/output/dense/MatMul_quant.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

QUANTISED = "_quantized"
PRODUCT = re.compile(r"/(?:Gemm_)?MatMul_quant$")
OURS = "network.model."  # before the names of an export
SCALE_AND_ZERO = {"DynamicQuantizeMatMul": (2, 3), "MatMulIntegerToFloat": (3, 5)}  # inputs of the fused products


def tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Every weight of the graph in float32 by its name in PyTorch; linear layers are (outputs, inputs) as there."""
    graph = onnx.load(path).graph
    known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    products = {
        node.input[1]: PRODUCT.sub("", node.name).strip("/").replace("/", ".")
        for node in graph.node
        if node.op_type == "MatMulInteger"
    }
    found: dict[str, NDArray[np.float32]] = {}
    for name, value in known.items():
        if name in products:
            found[f"{products[name]}.weight"] = np.ascontiguousarray(_dequantised(known, name).T)
        elif name.endswith(QUANTISED):
            found[name.removesuffix(QUANTISED)] = _dequantised(known, name)
        elif value.dtype == np.float32 and not name.endswith("_scale"):
            found[name] = np.array(value)
    return found


def exported(path: Path) -> dict[str, NDArray[np.float32]]:
    """Vectors and matrices of the layers in an export's graph, by their names in PyTorch; word vectors are left out.

    A matrix has lost its name, but the bias that its product adds has not.
    """
    graph = onnx.load(path).graph
    known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    found = {
        name.removeprefix(OURS): np.array(value)
        for name, value in known.items()
        if name.startswith(OURS) and value.dtype == np.float32 and "word_embeddings" not in name
    }
    for node in graph.node:
        if node.op_type in SCALE_AND_ZERO:
            (bias,) = (name for name in node.input if name.endswith(".bias"))
            matrix, scale, zero = (known[node.input[at]] for at in (1, *SCALE_AND_ZERO[node.op_type]))
            value = (matrix.astype(np.float32) - zero.astype(np.float32)) * scale
            found[f"{bias.removeprefix(OURS).removesuffix('bias')}weight"] = np.ascontiguousarray(value.T)
    return found


def _dequantised(known: dict[str, NDArray[np.generic]], name: str) -> NDArray[np.float32]:
    """(whole number − zero point) · scale; a scale (columns,) belongs to the last axis."""
    base = name.removesuffix(QUANTISED)
    zero, scale = known[f"{base}_zero_point"].astype(np.float32), known[f"{base}_scale"].astype(np.float32)
    return (known[name].astype(np.float32) - zero) * scale
