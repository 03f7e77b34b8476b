"""An exported reranker is what Torch computes, whole or not there, and its command finds out what it exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from helpers import rerankers
from helpers.commandline import CommandLine

from semsearch.encoders.rerankers.reranker import Reranker
from semsearch.errors import GateFailed, UnknownName, UsageError
from semsearch.models.rerankers import manifest

pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from helpers.tracing import tracing_once

from semsearch.export import calibrate, export_reranker, is_reranker, reranker_folder

QUERY = "how is the fuel ignited?"
PASSAGES = ["A diesel engine ignites fuel by compression.", "Tea needs water.", "salt " * 80, ""]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rerankers.checkpoint(tmp_path_factory.mktemp("models") / "tiny", layers=1)


@pytest.fixture(scope="module", autouse=True)
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The graph of the tiny one, traced once for all tests of this file; a few pairs are compared."""
    kept = tmp_path_factory.mktemp("graphs") / "tiny.onnx"
    with tracing_once(kept), patch.object(reranker_folder, "QUERIES", 6):
        yield kept


@pytest.fixture(scope="module")
def exported(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exports") / "fp32"
    export_reranker(tiny, out)
    return out


def test_fp32_gives_the_logits_and_has_the_fingerprint_of_its_source(tiny: Path, exported: Path) -> None:
    source, ours = Reranker.load(tiny, device="cpu"), Reranker.load(exported, device="cpu")
    assert ours.runtime.name == "ONNX Runtime"
    assert ours.fingerprint == source.fingerprint
    assert np.abs(ours.logits(QUERY, PASSAGES).values - source.logits(QUERY, PASSAGES).values).max() < 1e-4
    parity = ours.runtime.bundle.parity
    assert parity["largest_difference"] <= reranker_folder.MOVED
    assert "torch" in parity["made_with"]


def test_int8_is_smaller_passes_its_own_gate_and_has_a_fingerprint_of_its_own(
    tiny: Path, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranker_folder, "SPEARMAN", 0.5)  # random weights have no room for rounding
    monkeypatch.setattr(reranker_folder, "SAME_BEST", 0.0)
    made = export_reranker(tiny, tmp_path / "int8", "int8")
    assert made.fingerprint != manifest.read(exported).fingerprint
    assert any("MatMulInteger" in name for name in made.origin["operators"])
    alone = [Reranker.load(made.folder, device="cpu").logits(QUERY, [each]).values[0] for each in PASSAGES]
    together = Reranker.load(made.folder, device="cpu", threads=2).logits(QUERY, PASSAGES).values
    assert together == pytest.approx(alone)


def test_an_export_that_differs_leaves_nothing_behind(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranker_folder, "MOVED", -1.0)
    with pytest.raises(GateFailed, match="the fp32 export differs from its source"):
        export_reranker(tiny, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("figure", "value"), [("spearman_of_pairs", 0.97), ("same_best", 0.9), ("same_best", np.nan)])
def test_the_gate_of_int8_refuses_another_order(figure: str, value: float) -> None:
    good = {"spearman_of_pairs": 0.999, "same_best": 1.0}
    assert reranker_folder.check_gate(good, "int8")
    with pytest.raises(GateFailed, match="is required"):
        reranker_folder.check_gate({**good, figure: value}, "int8")


@pytest.mark.slow
def test_a_kind_with_other_inputs_is_exported_too(tmp_path: Path) -> None:
    source = rerankers.checkpoint(tmp_path / "distilbert", "distilbert", labels=["no", "yes"], layers=1)
    with tracing_once(tmp_path / "graph.onnx"):
        made = export_reranker(source, tmp_path / "out")
    assert not made.segments
    ours, theirs = (Reranker.load(each, device="cpu").logits(QUERY, PASSAGES).values for each in (made.folder, source))
    assert np.abs(ours - theirs).max() < 1e-4


def test_a_calibration_is_written_into_the_export(exported: Path, tmp_path: Path) -> None:
    import shutil

    folder = Path(shutil.copytree(exported, tmp_path / "copy"))
    made = calibrate(folder, temperature=1.5, offset=-2.0, fitted={"on": ["scifact train"], "pairs": 10})
    found = Reranker.load(folder, device="cpu")
    assert found.fingerprint == made.fingerprint != manifest.read(exported).fingerprint
    with pytest.raises(UsageError, match="are no calibration"):
        calibrate(folder, temperature=0)
    assert (found.info["temperature"], found.info["offset"], found.info["fitted"]["pairs"]) == (1.5, -2.0, 10)


def test_what_cannot_be_exported_is_refused_before_anything_is_written(
    exported: Path, tiny: Path, tmp_path: Path
) -> None:
    with pytest.raises(UnknownName, match="fp16"):
        export_reranker(tiny, tmp_path / "out", "fp16")
    with pytest.raises(UsageError, match="exported already"):
        export_reranker(exported, tmp_path / "out")
    with pytest.raises(UsageError, match="is not empty"):
        export_reranker(tiny, exported)
    assert not (tmp_path / "out").exists()


def test_a_folder_says_what_it_is(tiny: Path, exported: Path, tmp_path: Path) -> None:
    assert is_reranker(tiny) and is_reranker(exported) and is_reranker("ms-marco-MiniLM-L6-v2")
    assert not is_reranker(f"{tiny}#mean")  # read under a template it is an encoder
    assert not any(map(is_reranker, ("default", "hf:nobody/nothing", str(tmp_path))))


def test_the_command_exports_a_reranker_unless_told_otherwise(cli: CommandLine, tiny: Path, tmp_path: Path) -> None:
    shown = cli.ok("export", tiny, "-o", tmp_path / "out", "--json").json["export"]
    assert shown["parity"]["gate"].startswith("every logit within")
    assert (shown["precision"], shown["max_tokens"]) == ("fp32", 66)
    refused = cli("export", tiny, "-o", tmp_path / "no", "--as", "reranker", "--template", "mean")
    assert (refused.code, "--template is an option of encoders" in refused.err) == (2, True)
    (tmp_path / "notes.txt").write_text("Tea needs water. Diesel engines ignite by compression.")
    cli.ok("-q", "index", tmp_path / "notes.txt", "-n", "notes")
    found = cli.ok("query", "compression", "-n", "notes", "--rerank", tmp_path / "out", "--json").json["hits"]
    assert 0 <= found[0]["rerank"] <= 1
