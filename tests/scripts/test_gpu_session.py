"""scripts/encoders/gpu_session.py: the session that waits for a card, run on the CPU with `--tiny`."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from semsearch import Encoder
from semsearch.errors import SemsearchError

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
WORDS = ("red", "green", "blue", "cat", "dog", "house", "tree", "runs", "sleeps", "small", "large", "old")


def module(name: str) -> ModuleType:
    return importlib.import_module(f"scripts.{name}")


@pytest.fixture(scope="module")
def session(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A prepared folder of random texts and three teachers, which are tiny; a run of it; and both folders."""
    folder, out, chance = tmp_path_factory.mktemp("prepared"), tmp_path_factory.mktemp("out"), np.random.default_rng(3)
    corpus, prepared, choice, script, targets = (
        module(f"encoders.{name}") for name in ("corpus", "prepared", "choice", "gpu_session", "targets")
    )
    corpus.SHARD, targets.WIDTH = 40, 32
    for name in script.TEACHERS:
        prepared.write_network(golden / "models" / "tiny-bert", folder / name)
    texts = [corpus.Text(" ".join(chance.choice(WORDS, 5)), ("query", "passage")[at % 2]) for at in range(80)]
    for at in (0, 40):
        lines = (json.dumps(each) for each in texts[at : at + 40])
        (folder / f"{at:02}.jsonl").write_text("\n".join(lines))
    assert prepared.write_texts(folder / prepared.TEXTS, sorted(folder.glob("*.jsonl"))) == 80
    ranking = choice.Ranking(["red cat", "tree"], ["a cat", "a tree"], [frozenset([0]), frozenset([1])])
    sets = choice.Sets([("red cat", "red dog"), ("tree", "house"), ("old", "new")], [4.0, 1.0, 2.0], {"some": ranking})
    sets.write(folder / prepared.CHOICE)
    prepared.write_facts(folder, {"template": "front", "texts": 80})
    assert script.main(["run", str(folder), "-o", str(out), "--tiny"]) == 0
    return script, folder, out, texts


def report(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "report.json").read_text())
    return found


def test_everything_that_waits_for_a_card_is_in_the_report(session: Any) -> None:
    script, _, out, _ = session
    found = report(out)
    assert set(found) == {"machine", "tests", "bench", "mixtures", "targets", "trials", "students"}
    outcome = found["tests"]["result"]
    assert outcome["code"] in (0, 5) and ("there is no GPU" in outcome["output"]) != torch.cuda.is_available()
    bench = found["bench"]["result"]
    assert set(bench) == {"encode", "train", "search", "four bits"}
    assert bench["encode"]["cpu fp32"]["least cosine"] > 0.999 and bench["train"]["cpu fp32"]["seconds a step"] > 0
    assert bench["four bits"] == {"not measured": "no decoder: --decoder DIR"}
    trials, students = found["trials"]["result"], found["students"]["result"]
    assert set(trials) == {f"trial-{name}" for name in script.TRIALS} and set(students) == set(script.STUDENTS)
    for result in (*trials.values(), *students.values()):
        assert result["steps"] == script.TINY["steps"]
        assert result["mean"] == pytest.approx((result["stsb_dev"] + result["some"]) / 2)


def test_students_are_trained_as_the_trial_that_was_best(session: Any) -> None:
    script, _, out, _ = session
    trials = report(out)["trials"]["result"]
    best = max(trials.values(), key=lambda each: each["mean"])["settings"]
    for name, result in report(out)["students"]["result"].items():
        base, seed = script.STUDENTS[name]
        assert result["base"] == base and result["settings"] == {**best, "seed": seed}


def test_a_part_that_is_done_is_not_repeated_and_a_student_goes_on(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, folder, out, _ = session
    monkeypatch.setattr(script, "tests", lambda: pytest.fail("it was run again"))
    assert script.main(["run", str(folder), "-o", str(out), "--tiny"]) == 0
    (tmp_path / "shards").symlink_to(out / "shards")
    asked: dict[str, Any] = {"folder": folder, "base": "minilm", "settings": script.TINY}
    whole, begun, again = (
        script.argparse.Namespace(out=tmp_path / name, **asked) for name in ("whole", "parts", "parts")
    )
    whole = script.opened(whole, "cpu")
    whole.run()
    begun = script.opened(begun, "cpu")
    for _, _ in zip(range(2), begun._steps(), strict=False):
        pass
    begun.save()
    again = script.opened(again, "cpu")
    assert again.at.step == 2
    again.run()
    for name, value in whole.student.trained.items():
        torch.testing.assert_close(again.student.trained[name], value)


def test_shards_have_rows_targets_and_near_texts_as_a_run_without_a_card_makes_them(session: Any) -> None:
    script, folder, out, texts = session
    prepared, distillation, targets = (module(f"encoders.{name}") for name in ("prepared", "distillation", "targets"))
    settings = distillation.Settings(anchors=4, contrast=0.1)
    first = prepared.PreparedShards(sorted((out / "shards").glob("*.npz")), settings).first
    options = script.argparse.Namespace(folder=folder)
    assert [list(row) for row in first.rows] == script.new_student(options, "bge-small", "cpu").rows(texts[:40])
    assert list(first.texts) == texts[:40]
    parts = max(report(out)["mixtures"]["result"], key=lambda each: each["mean"])["parts"]
    teachers = {name: Encoder.load(folder / name, device="cpu", cache=None) for name in parts}
    by_role = module("encoders.train_student").by_role
    vectors = {name: by_role(encoder, texts[:40]) for name, encoder in teachers.items()}
    whitened = {name: targets.Part(*values) for name, values in parts.items()}
    expected = targets.Target(whitened, texts[:40], vectors)(texts[:40], vectors)
    np.testing.assert_allclose(first.targets, expected, atol=2e-3)
    cosines = np.take_along_axis(expected @ expected.T, first.near, 1)
    best = np.take_along_axis(expected @ expected.T, targets.neighbours(expected, distillation.NEAR), 1)
    np.testing.assert_allclose(cosines, best, atol=1e-6)


def test_a_process_that_fails_is_named(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, folder, *_ = session
    monkeypatch.setattr(script.sys, "executable", shutil.which("false"))
    options = script.argparse.Namespace(folder=folder, tiny=False)
    with pytest.raises(SemsearchError, match=r"targets-0 failed\."):
        script.side_by_side(options, "targets", {"targets-0": ["-o", str(tmp_path)]})


def test_a_student_is_finished_from_the_files_that_came_back(session: Any, capsys: pytest.CaptureFixture[str]) -> None:
    script, folder, out, _ = session
    (out / "minilm-0" / "state.safetensors").unlink()  # too large to come back
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        exported: list[Path] = []

        def export(backend: Any, place: Path, *_: Any, **__: Any) -> None:
            exported.append(Path(shutil.copytree(place.parent / "torch", place)))

        patched.setattr(script, "export_backend", export)
        patched.setattr(
            script.choice, "figures", lambda encode, sets=None: {"stsb_dev": float(len(encode(["a"], "query")))}
        )
        assert script.main(["finish", str(folder), "-o", str(out)]) == 0
    assert {out / name / "int8" for name in script.STUDENTS} <= set(exported)
    encoder = Encoder.load(out / "minilm-0" / "torch", device="cpu", cache=None)
    assert encoder.dim == 32 and np.isfinite(encoder.encode(["a cat"])).all()
    assert '"student": "minilm-0"' in capsys.readouterr().out


def test_without_a_card_or_a_prepared_folder_it_says_what_to_do(
    session: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, folder, *_ = session
    assert script.main(["run", str(tmp_path), "-o", str(tmp_path / "out")]) == 3
    assert "gpu_session prepare DIR" in capsys.readouterr().err
    if not torch.cuda.is_available():
        assert script.main(["run", str(folder), "-o", str(tmp_path / "out")]) == 3
        assert "--tiny" in capsys.readouterr().err
