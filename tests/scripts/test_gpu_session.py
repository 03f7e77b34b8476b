"""scripts/encoders/gpu_session.py: the session that waits for a card, run on the CPU with `--tiny`."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from semsearch import Encoder

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
WORDS = ("red", "green", "blue", "cat", "dog", "house", "tree", "runs", "sleeps", "small", "large", "old")


def module(name: str) -> ModuleType:
    return importlib.import_module(f"scripts.{name}")


@pytest.fixture(scope="module")
def session(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A prepared folder of random texts and targets, for two students of a tiny BERT; a run of it; and both folders."""
    folder, out, chance = tmp_path_factory.mktemp("prepared"), tmp_path_factory.mktemp("out"), np.random.default_rng(3)
    corpus, prepared, choice, script = (
        module(f"encoders.{name}") for name in ("corpus", "prepared", "choice", "gpu_session")
    )
    corpus.SHARD = 24
    for name in script.STUDENTS:
        prepared.write_base(golden / "models" / "tiny-bert", folder / name)
    texts = [corpus.Text(" ".join(chance.choice(WORDS, 5)), ("query", "passage")[at % 2]) for at in range(48)]
    targets = chance.normal(size=(48, 32)).astype(np.float32)
    template = f"{module('encoders.train_student').TEMPLATES}:front"
    learner = module("encoders.student").Student(folder / "minilm", template, 32)
    shards = [(texts[at : at + 24], targets[at : at + 24]) for at in (0, 24)]
    assert prepared.write_shards(folder / "shards", shards, learner, 1_000_000) == 48
    ranking = choice.Ranking(["red cat", "tree"], ["a cat", "a tree"], [frozenset([0]), frozenset([1])])
    sets = choice.Sets([("red cat", "red dog"), ("tree", "house"), ("old", "new")], [4.0, 1.0, 2.0], {"some": ranking})
    sets.write(folder / prepared.CHOICE)
    prepared.write_facts(folder, {"template": "front", "teachers": {"some": [1, 0, None]}, "texts": 48})
    assert script.main(["run", str(folder), "-o", str(out), "--tiny"]) == 0
    return script, folder, out, learner, texts


def report(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "report.json").read_text())
    return found


def test_everything_that_waits_for_a_card_is_in_the_report(session: Any) -> None:
    script, _, out, *_ = session
    found = report(out)
    assert set(found) == {"machine", "tests", "bench", *(f"student {name}" for name in script.STUDENTS)}
    outcome = found["tests"]["result"]
    assert outcome["code"] in (0, 5) and ("there is no GPU" in outcome["output"]) != torch.cuda.is_available()
    bench = found["bench"]["result"]
    assert set(bench) == {"encode", "train", "search", "four bits"}
    assert bench["encode"]["cpu fp32"]["least cosine"] > 0.999 and bench["train"]["cpu fp32"]["seconds a step"] > 0
    assert bench["four bits"] == {"not measured": "no decoder: --decoder DIR"}
    for name in script.STUDENTS:
        result = found[f"student {name}"]["result"]
        assert result["steps"] == script.TINY_STEPS and {"stsb_dev", "some"} <= result.keys()


def test_a_part_that_is_done_is_not_repeated_and_a_student_goes_on(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, folder, out, *_ = session
    monkeypatch.setattr(script, "tests", lambda: pytest.fail("it was run again"))
    assert script.main(["run", str(folder), "-o", str(out), "--tiny"]) == 0
    options = script.argparse.Namespace(folder=folder, out=tmp_path, tiny=True)
    settings = script.settled(options, "minilm", "cpu", 0)
    whole = script.opened(options, "minilm", "cpu", settings, home=tmp_path / "whole")
    whole.run()
    begun = script.opened(options, "minilm", "cpu", settings, home=tmp_path / "parts")
    for _, _ in zip(range(2), begun._steps(), strict=False):
        pass
    begun.save()
    again = script.opened(options, "minilm", "cpu", script.known_settings(tmp_path / "parts"), home=tmp_path / "parts")
    assert again.at.step == 2
    again.run()
    for name, value in whole.student.trained.items():
        torch.testing.assert_close(again.student.trained[name], value)


def test_prepared_rows_are_those_of_the_student_under_the_template_of_each_role(session: Any) -> None:
    _, folder, _, learner, texts = session
    prepared, distillation = module("encoders.prepared"), module("encoders.distillation")
    shards = prepared.PreparedShards(sorted((folder / "shards").glob("*.npz")), distillation.Settings(anchors=4))
    assert [list(row) for row in shards.first.rows] == learner.rows(texts[:24])
    assert [each.role for each in shards.first.texts] == [each.role for each in texts[:24]]
    np.testing.assert_allclose(np.linalg.norm(shards.first.targets, axis=1), 1, atol=1e-5)


def test_shards_end_before_they_are_larger_than_allowed(session: Any, tmp_path: Path) -> None:
    _, folder, _, learner, texts = session
    size = (folder / "shards" / "000.npz").stat().st_size
    shard = (texts[:24], np.ones((24, 32), np.float32))
    count = module("encoders.prepared").write_shards(tmp_path, [shard, shard, shard], learner, size)
    assert count in (24, 48) and sum(path.stat().st_size for path in tmp_path.glob("*.npz")) <= size


def test_a_student_is_finished_from_the_files_that_came_back(session: Any, capsys: pytest.CaptureFixture[str]) -> None:
    script, folder, out, *_ = session
    (out / "minilm" / "state.safetensors").unlink()  # too large to come back
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        exported: list[Path] = []
        patched.setattr(script, "export_backend", lambda backend, place, *_, **__: exported.append(place))
        patched.setattr(
            script.choice, "figures", lambda encode, sets=None: {"stsb_dev": float(len(encode(["a"], "query")))}
        )
        assert script.main(["finish", str(folder), "-o", str(out)]) == 0
    assert exported == [out / name / "int8" for name in script.STUDENTS]
    encoder = Encoder.load(out / "minilm" / "torch", device="cpu", cache=None)
    assert encoder.dim == 32 and np.isfinite(encoder.encode(["a cat"])).all()
    assert '"student": "minilm"' in capsys.readouterr().out


def test_without_a_card_or_a_prepared_folder_it_says_what_to_do(
    session: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, folder, *_ = session
    assert script.main(["run", str(tmp_path), "-o", str(tmp_path / "out")]) == 3
    assert "gpu_session prepare DIR" in capsys.readouterr().err
    if not torch.cuda.is_available():
        assert script.main(["run", str(folder), "-o", str(tmp_path / "out")]) == 3
        assert "--tiny" in capsys.readouterr().err
