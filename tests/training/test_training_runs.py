"""What the pages ask of training and of models: runs as they grow, methods in a line, what lies in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.checkpoints import copied

from semsearch import Encoder
from semsearch.errors import Corrupt, MissingExtra, NotFound, UsageError
from semsearch.training import compare_settings, training_methods, training_run, training_runs
from semsearch.utils.writer_lock import PID, WriterLock, holder

DOCS = Path(__file__).resolve().parents[2] / "docs" / "training.md"


def begun(folder: Path, *lines: object, **settings: object) -> Path:
    """A run as it is while it grows."""
    run = folder / "run"
    run.mkdir(parents=True)
    (run / "settings.json").write_text(json.dumps({"method": "simcse", "steps": 100, **settings}))
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"step": 30, "lo')
    return folder


def test_a_run_that_grows_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    run = training_run(begun(tmp_path / "a", {"step": 10, "loss": 2.0}, {"step": 20, "dev": 70.5}, 7))
    assert (run.state, run.step, run.pid, run.result) == ("stopped", 20, None, None)
    assert [line["step"] for line in run.metrics] == [10, 20]
    assert run.settings["method"] == "simcse"


def test_the_last_step_is_known_with_its_loss_and_the_time_that_is_left(tmp_path: Path) -> None:
    folder = begun(tmp_path / "a", {"step": 10, "loss": 2.0}, {"step": 10, "dev": 70.5}, {"step": 20, "dev": 70.5})
    (folder / "run" / "step").write_text(
        '{"step": 27, "loss": 1.5, "seconds": 30.0, "seconds_left": 80.0, "doing": "validating"}'
    )
    run = training_run(folder)
    assert (run.step, run.steps, run.moment.seconds_left, run.moment.doing) == (27, 100, 80.0, "validating")
    assert (run.losses, run.scores, run.best) == ([(10, 2.0), (27, 1.5)], [(10, 70.5), (20, 70.5)], (10, 70.5))
    for earlier, step in (("25", 25), ('{"step": 2', 20), ('{"unknown": 1}', 20), ("", 20)):
        (folder / "run" / "step").write_text(earlier)  # of an earlier version; or just being written
        assert training_run(folder).step == step


def test_settings_of_runs_stand_side_by_side_those_that_differ_first(tmp_path: Path) -> None:
    recipe = {"recipe": {"batch": 8, "rate": 3e-5}, "threads": 2}
    one = training_run(begun(tmp_path / "a", **recipe, seed=0, base={"name": "bert", "fingerprint": "x"}))
    other = training_run(begun(tmp_path / "b", **recipe, seed=1, base={"name": "bert", "fingerprint": "y"}, dims=[64]))
    found = compare_settings([one, other])
    assert [(each.name, each.values) for each in found if each.differs] == [
        ("dims", (None, "64")),
        ("seed", ("0", "1")),
    ]
    assert {each.name: each.values[0] for each in found if not each.differs} == {
        "base": "bert", "batch": "8", "method": "simcse", "rate": "3e-05", "steps": "100",
    }  # fmt: skip


def test_it_says_whether_somebody_is_at_it_and_whether_it_is_done(tmp_path: Path) -> None:
    folder = begun(tmp_path / "a")
    lock = WriterLock(folder / "run")
    assert (training_run(folder).state, training_run(folder).pid) == ("running", os.getpid())
    lock.release()
    assert training_run(folder).state == "stopped"
    (folder / "run" / PID).write_text("1\n")  # of one that was killed
    assert training_run(folder).state == "stopped"
    (folder / "run" / "result.json").write_text('{"score": 80.0, "step": 100}')
    run = training_run(folder)
    assert (run.state, run.result) == ("done", {"score": 80.0, "step": 100})


def test_asking_who_is_at_it_leaves_no_trace_and_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / PID).write_text("1\n")  # of one that was killed
    assert holder(tmp_path) is None
    assert not (tmp_path / PID).exists(), "the next one who asks need not try the lock"
    lock = WriterLock(tmp_path)
    assert [holder(tmp_path), holder(tmp_path)] == [os.getpid()] * 2
    lock.release()


def test_a_run_that_ends_while_it_is_read_is_done_and_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "a")

    def ended(home: Path) -> None:
        (home / "result.json").write_text('{"score": 80.0}')

    monkeypatch.setattr("semsearch.utils.writer_lock.holder", ended)
    assert training_run(folder).state == "done"


def test_nobody_holds_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert holder(tmp_path / "no") is None
    assert not (tmp_path / "no").exists()


def test_runs_are_found_the_latest_first_and_each_seed_is_one(tmp_path: Path) -> None:
    for at, name in enumerate(("old", "several/seed-1", "new")):
        os.utime(begun(tmp_path / name) / "run" / "settings.json", (at, at))
    (begun(tmp_path / "broken") / "run" / "settings.json").write_text("{")
    (tmp_path / "no run").mkdir()
    found = [run.folder.relative_to(tmp_path).as_posix() for run in training_runs(tmp_path)]
    assert found == ["new", "several/seed-1", "old"]
    with pytest.raises(NotFound):
        training_run(tmp_path / "no run")
    with pytest.raises(Corrupt):
        training_run(tmp_path / "broken")
    assert training_runs(tmp_path / "nowhere") == []


def test_reading_runs_needs_no_pytorch(tmp_path: Path) -> None:
    begun(tmp_path / "a")
    code = "import sys; from semsearch.training import training_runs as runs; assert runs(sys.argv[1])"
    code += "; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 0


def test_every_method_says_what_it_does_and_needs_as_the_documents_do() -> None:
    pytest.importorskip("torch")
    told = {each["name"]: each for each in training_methods()}
    rows = [
        line.strip("|").split("|")
        for line in DOCS.read_text(encoding="utf-8").splitlines()
        if line[:3] == "| `" and "`--" not in line
    ]
    documented = {row[0].strip(" `"): row[1].strip() for row in rows if len(row) == 8}
    assert {name: each["needs"] for name, each in told.items()} == documented
    for each in told.values():
        assert each["what"].endswith(".") and each["url"].startswith("https://") and each["source"]
        assert each["batch_size"] >= 1 and 0 < each["learning_rate"] < 1
    assert told["simcse"]["options"] == {"temperature": 0.05, "head": True}


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[train\]"):
        training_methods()


def test_a_trained_encoder_is_found_with_its_training_and_a_broken_one_says_so(golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from helpers.training import Rising, examples

    from semsearch.training import TrainingConfig, TrainingOptions, train

    base = copied(golden, "tiny-bert", tmp_path / "bert")
    settings = TrainingConfig(method="simcse", base=f"{base}#mean", steps=2, batch_size=4, eval_every=1, device="cpu")
    train(settings, examples(), tmp_path / "models" / "mine", TrainingOptions(validation=Rising()))
    broken = tmp_path / "models" / "broken"
    broken.mkdir()
    (broken / "encoder.json").write_text("{}")
    odd = json.loads((tmp_path / "models" / "mine" / "encoder.json").read_text())
    odd["origin"]["trained"] = "by hand"
    (tmp_path / "models" / "odd").mkdir()
    (tmp_path / "models" / "odd" / "encoder.json").write_text(json.dumps(odd))
    found = {each["name"]: each for each in Encoder.list_local(tmp_path / "models")}
    assert found["odd"]["problem"]
    assert "cannot be read" in found["broken"]["problem"]
    mine = found["mine"]
    assert (mine["runs"], mine["dim"], mine["trained"]["score"]) == ("torch", 32, 2.0)
    assert mine["fingerprint"] == Encoder.load(mine["path"]).fingerprint
    assert mine["bytes"] > 10_000
    run = training_run(mine["path"])
    assert (run.state, run.step, run.settings["steps"]) == ("done", 2, 2)


@pytest.mark.parametrize(("home", "where"), [("indexes", "models"), ("mine", "mine/models")])
def test_models_lie_beside_the_usual_home_or_in_ones_own(
    home: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path / home))
    assert Encoder.models_dir() == tmp_path / where


def test_what_is_no_model_of_the_hub_is_neither_fetched_nor_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("SEMSEARCH_OFFLINE", "1")
    assert Encoder.is_local("default") and Encoder.is_local("./folder")
    assert not Encoder.is_local("hf:owner/name") and not Encoder.is_local("bge-small-en-v1.5#mean")
    assert Encoder.pull("default") is None
    for name in ("nosuch", "./folder"):
        with pytest.raises(UsageError, match="not a model of the hub"):
            Encoder.pull(name)
    with pytest.raises(UsageError, match="part of semsearch"):
        Encoder.remove("default")
    with pytest.raises(NotFound, match="not on this machine"):
        Encoder.remove("hf:owner/name")
    with pytest.raises(NotFound, match="cannot be downloaded in offline mode"):
        Encoder.pull("hf:owner/name")
