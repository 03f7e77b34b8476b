"""The weights of an export are those that it was made from, in whatever form the graph has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers import models

from semsearch.encoders.encoder import Encoder
from semsearch.errors import UsageError

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from helpers.checkpoints import shallow  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from semsearch.export import export, parity, weights  # noqa: E402
from semsearch.models import bundle as bundles  # noqa: E402

TEXTS = ["A man is playing a guitar.", "a", "the old bridge near the red house", "no music"]
CLOSE = {"fp32": 1e-5, "int8": 2e-2}  # of a weight; 127 steps of a column's largest


@pytest.mark.parametrize(("model", "dtype"), [("tiny-bert#mean", "fp32"), ("tiny-roberta#cot-roberta", "int8")])
def test_a_model_comes_back_out_of_its_export(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, dtype: str
) -> None:
    monkeypatch.setattr(parity, "SPEARMAN", -1)  # random weights
    monkeypatch.setattr(weights, "MEAN_COSINE", 0.9)
    name, _, template = model.partition("#")
    source = shallow(golden, name, tmp_path / name, layers=2)
    made = export(f"{source}#{template}", tmp_path / "onnx", dtype)
    back = tmp_path / "back"
    back.mkdir()
    written = weights.trainable_folder(made, back)
    assert (written.method, written.prompts, written.max_tokens) == (made.method, made.prompts, made.max_tokens)
    originals, found = load_file(source / "model.safetensors"), load_file(back / "model.safetensors")
    layers = [each for each in found if "encoder.layer" in each]
    assert len(layers) == 2 * 16
    for each in layers:
        (original,) = (value for key, value in originals.items() if key.endswith(each))
        assert torch.allclose(found[each], original, atol=CLOSE[dtype]), each


def test_an_encoder_that_ships_comes_back_with_its_post_processing(tmp_path: Path) -> None:
    shipped = bundles.read(models.model_folders.find("default"))
    back = weights.trainable_folder(shipped, tmp_path)
    assert [step.sha256 for step in back.post] == [step.sha256 for step in shipped.post]
    got, expected = (Encoder.load(str(each)).encode(TEXTS, role="passage") for each in (tmp_path, "default"))
    assert np.einsum("nd,nd->n", got, expected).min() > 0.97


def test_a_graph_that_is_no_bert_is_refused_with_what_helps(golden: Path, tmp_path: Path) -> None:
    made = export(f"{shallow(golden, 'tiny-opt', tmp_path / 'model', 1)}#prompteol", tmp_path / "onnx")
    (tmp_path / "back").mkdir()
    with pytest.raises(UsageError, match=r"cannot be trained.*ONNX export.*base="):
        weights.trainable_folder(made, tmp_path / "back")
