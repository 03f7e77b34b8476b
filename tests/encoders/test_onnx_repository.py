"""ONNX repositories of the hub run as they are, with the vectors of the weights that their graph was made from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.checkpoints import copied

from semsearch.encoders.encoder import Encoder
from semsearch.errors import NotFound, UsageError
from semsearch.models import hf_config

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = ["a cat sat on the mat", "stop", "the engine of the small car does not start in winter, and nobody knows why"]


class TokenVectors(torch.nn.Module):
    """What graphs of the hub compute: the last hidden states."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.model = transformers.AutoModel.from_pretrained(folder).eval()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return states


@pytest.fixture(scope="module")
def exported(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with weights, and the graph of these in onnx/."""
    from semsearch.export import graph

    folder = copied(golden, "tiny-bert", tmp_path_factory.mktemp("exported") / "tiny")
    (folder / "onnx").mkdir()
    ids = torch.tensor([[1, 2, 3], [1, 2, 0]])
    graph.trace(TokenVectors(folder), (ids, (ids > 0).long()), folder / "onnx" / "model.onnx", 64)
    return folder


def pipeline(folder: Path, pooling: str, *, query: str = "") -> None:
    """The files of sentence-transformers."""
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": at, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": pooling}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": query}}))


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "lasttoken"])
def test_its_vectors_are_those_of_the_weights(exported: Path, tmp_path: Path, pooling: str) -> None:
    weights = Path(shutil.copytree(exported, tmp_path / "weights"))
    pipeline(weights, pooling, query="search: ")
    alone = Path(shutil.copytree(weights, tmp_path / "alone"))
    for file in alone.glob("*.safetensors"):
        file.unlink()
    by_torch, by_onnx = Encoder.load(weights), Encoder.load(alone)
    assert by_onnx.backend is not None and by_onnx.backend.runtime == "ONNX Runtime"
    for role in ("query", "passage"):
        expected = by_torch.encode(TEXTS, role=role)
        actual = by_onnx.encode(TEXTS, role=role)
        assert actual.shape == expected.shape == (3, by_onnx.dim)
        np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_without_modules_json_it_takes_the_mean(exported: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(exported, tmp_path / "alone", ignore=shutil.ignore_patterns("*.safetensors")))
    expected = Encoder.load(f"{exported}#mean").encode(TEXTS, role="passage")
    np.testing.assert_allclose(Encoder.load(alone).encode(TEXTS, role="passage"), expected, atol=1e-5)


def test_another_graph_is_another_space(exported: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(exported, tmp_path / "alone", ignore=shutil.ignore_patterns("*.safetensors")))
    first = Encoder.load(alone).fingerprint
    with (alone / "onnx" / "model.onnx").open("ab") as file:
        file.write(b"\x72\x00")  # an empty doc string at the end
    assert Encoder.load(alone).fingerprint != first


def test_what_only_the_weights_allow_is_refused(exported: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(exported, tmp_path / "alone", ignore=shutil.ignore_patterns("*.safetensors")))
    with pytest.raises(UsageError, match="ONNX graph alone, so template cannot be chosen"):
        Encoder.load(f"{alone}#cot-bert")
    pipeline(alone, "weightedmean")
    with pytest.raises(UsageError, match="pools by weightedmean"):
        Encoder.load(alone)
    (alone / "tokenizer.json").unlink()
    (alone / "vocab.txt").unlink(missing_ok=True)
    with pytest.raises(NotFound, match=r"lacks tokenizer\.json"):
        Encoder.load(alone)


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["onnx/model_quantized.onnx", "onnx/model.onnx", "onnx/model_fp16.onnx"], "onnx/model.onnx"),
        (["onnx/decoder_model.onnx", "onnx/model_qint8_avx512_vnni.onnx"], "onnx/model_qint8_avx512_vnni.onnx"),
        (["model.onnx"], "model.onnx"),
        (["openvino/model.onnx", "config.json"], ""),
    ],
)
def test_the_graph_in_full_precision_comes_first(files: list[str], chosen: str) -> None:
    assert hf_config.graph(files) == chosen
