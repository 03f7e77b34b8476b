"""int8 ONNX graphs of BERT networks, turned back into the tensors that Hugging Face's classes load.

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


def tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Every weight of the graph in float32 by its name in PyTorch; linear layers are (outputs, inputs) as there."""
    graph = onnx.load(path).graph
    initialisers = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    products = {
        node.input[1]: PRODUCT.sub("", node.name).strip("/").replace("/", ".")
        for node in graph.node
        if node.op_type == "MatMulInteger"
    }
    weights: dict[str, NDArray[np.float32]] = {}
    for name, value in initialisers.items():
        if name in products:
            weights[f"{products[name]}.weight"] = np.ascontiguousarray(_dequantised(initialisers, name).T)
        elif name.endswith(QUANTISED):
            weights[name.removesuffix(QUANTISED)] = _dequantised(initialisers, name)
        elif value.dtype == np.float32 and not name.endswith("_scale"):
            weights[name] = np.array(value)
    return weights


def _dequantised(initialisers: dict[str, NDArray[np.generic]], name: str) -> NDArray[np.float32]:
    """(whole number − zero point) · scale; a scale (columns,) belongs to the last axis."""
    base = name.removesuffix(QUANTISED)
    zero, scale = (
        initialisers[f"{base}_zero_point"].astype(np.float32),
        initialisers[f"{base}_scale"].astype(np.float32),
    )
    return (initialisers[name].astype(np.float32) - zero) * scale
