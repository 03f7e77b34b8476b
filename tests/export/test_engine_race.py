"""The engines of a model are compared on the same texts, and the fastest that gives the same vectors can be kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxscript")

from helpers.checkpoints import shallow
from helpers.tracing import tracing_once

from semsearch import Encoder
from semsearch.encoders.base import EncoderBackend
from semsearch.errors import GateFailed
from semsearch.export import engine_race
from semsearch.export.engine_race import race
from semsearch.models import model_folders

TEXTS = ["A man is playing a guitar.", "Is it so?", "The engine does not start.", "Bread needs salt."]
SLOW = {"PyTorch": 2.0, "ONNX Runtime": 1.0}  # seconds, in place of a clock


@pytest.fixture
def model(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with tracing_once(tmp_path / "graph.onnx"):
        yield f"{shallow(golden, 'tiny-bert', tmp_path / 'model', 1)}#mean"


def timed(monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float]) -> None:
    def instead(engine: EncoderBackend, batches: Sequence[Sequence[str]]) -> float:
        return seconds[engine.runtime]

    monkeypatch.setattr(engine_race, "_seconds", instead)


def test_the_fastest_engine_with_the_same_vectors_is_kept_for_this_machine(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed(monkeypatch, SLOW)
    found = race(model, TEXTS, device="cpu", keep=True)
    torch, onnx = found["engines"][:2]
    assert (torch["engine"], onnx["engine"]) == ("PyTorch fp32", "ONNX Runtime fp32")
    assert torch["same_space"] and onnx["same_space"] and onnx["least_cosine"] >= 0.9999
    assert (torch["texts_per_second"], onnx["texts_per_second"]) == (2.0, 4.0)
    assert found["fastest"] == "ONNX Runtime fp32" and found["kept"]

    monkeypatch.setenv("SEMSEARCH_DEVICE", "cpu")
    kept, plain = Encoder.from_settings(model), Encoder.load(model, device="cpu")
    assert (kept.backend.runtime, plain.backend.runtime) == ("ONNX Runtime", "PyTorch")
    assert (kept.name, kept.fingerprint, kept.reference) == (plain.name, plain.fingerprint, plain.reference)
    np.testing.assert_allclose(kept.encode(TEXTS), plain.encode(TEXTS), atol=2e-3)  # the cache rounds to half precision

    (model_folders.engine_folder(plain.fingerprint, "cpu") / "encoder.json").write_text("{", encoding="utf-8")
    assert Encoder.from_settings(model).backend.runtime == "PyTorch"

    timed(monkeypatch, {"PyTorch": 1.0, "ONNX Runtime": 2.0})
    assert race(model, TEXTS, device="cpu", keep=True)["fastest"] == "PyTorch fp32"
    assert not model_folders.engine_folder(plain.fingerprint, "cpu").exists()


def test_an_engine_that_cannot_run_is_a_row_with_the_reason(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise GateFailed("least cosine 0.9, at least 0.9999", "Use it in PyTorch.")

    monkeypatch.setattr(engine_race, "export_backend", refused)
    first, *failed = race(model, TEXTS, device="cpu")["engines"]
    assert first["texts_per_second"] > 0 and first["query_ms"] > 0
    assert [row["engine"] for row in failed] == ["ONNX Runtime fp32", "ONNX Runtime int8"]
    assert all("least cosine" in row["problem"] for row in failed)


def test_an_encoder_with_one_engine_is_measured_alone() -> None:
    found = race("hashing", TEXTS)
    assert [row["engine"] for row in found["engines"]] == ["numpy fp32"] and not found["kept"]
