"""A run that was cut off goes on as if nothing had been, and its folder is never half of two encoders."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.training import Near, examples, learner, outcome

from semsearch.encoders.encoder import Encoder
from semsearch.errors import Corrupt, Locked, UsageError
from semsearch.utils import atomic_write

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from semsearch.training import TrainingConfig, TrainingOptions, loop, runs, trainer  # noqa: E402
from semsearch.training.optimisation import schedule  # noqa: E402
from semsearch.training.optimisation.averaging import WeightAverage  # noqa: E402
from semsearch.training.run_folder import state  # noqa: E402
from semsearch.training.run_folder.folder import RunFolder  # noqa: E402

HERE = Path(__file__).parent


class CutOff(BaseException):
    """What ends a run here."""


@pytest.fixture(autouse=True)
def without_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "plot", SimpleNamespace(draw=lambda *_: None))


def run(
    golden: Path, folder: Path, method: str, template: str = "", at: int = 0, **told: Any
) -> trainer.TrainingResult:
    """A run of 5 steps; it is cut off in step `at`, before that is kept."""

    def report(step: Any) -> None:
        if step.step == at:
            raise CutOff

    usual = {
        "batch_size": 4,
        "steps": 5,
        "eval_every": 2,
        "max_length": 8,
        "learning_rate": 1e-3,
        "warmup": 2,
        "device": "cpu",
        "save_seconds": 0.0,  # a state after every step
    }
    settings = TrainingConfig(method, f"{golden / 'models' / 'tiny-bert'}{template}", **{**usual, **told})
    data = examples(columns=("anchor", "positive"), labels=True)
    if method == "cosent":  # steps that teach nothing, and so are none of AdamW's
        data = type(data)(data.columns, [1.0] * 7 + [0.0] * 5)
    return trainer.train(settings, data, folder, TrainingOptions(validation=Near(), report=report))


WAYS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cotbert": ("cotbert", "", {"ema_decay": 0.5}),
    "in parts": ("cotbert", "", {"grad_cache_size": 2}),
    "drawn layers": ("sg", "", {"options": {"hidden": 8}}),
    "idle batches": ("cosent", "#mean", {"batch_size": 2}),
    "prompt alone": ("optiprompt", "", {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_was_cut_off_comes_to_the_same(golden: Path, tmp_path: Path, way: str) -> None:
    method, template, told = WAYS[way]
    run(golden, tmp_path / "whole", method, template, **told)
    for at in (1, 3, 4) if way == "cotbert" else (4,):
        with pytest.raises(CutOff):
            run(golden, tmp_path / f"at-{at}", method, template, at, **told)
        assert not (tmp_path / f"at-{at}" / "run" / "result.json").exists()
        run(golden, tmp_path / f"at-{at}", method, template, **told)
        assert outcome(tmp_path / f"at-{at}") == outcome(tmp_path / "whole")


def test_parts_that_memory_could_not_hold_stay_small(golden: Path, tmp_path: Path) -> None:
    """A run that found out that it has to halve its parts does not begin with whole batches again."""
    made, objective = learner(golden / "models" / "tiny-bert", "cotbert", batch_size=4)
    home = tmp_path / "run"
    home.mkdir()
    first = loop.Loop(made, objective, examples(), schedule.Schedule(3, 4, 0, 0), home)
    first.state = state.RunState(step=1, grad_cache_size=2, losses=(0.5, 0.25))
    state.save(home, first.state, first.average, first.parameters, first.optimiser)
    for planned, then in ((0, 2), (1, 1), (3, 2)):
        again = loop.Loop(made, objective, examples(), schedule.Schedule(3, 4, planned, 0), home)
        again.resume()
        assert (again.state.grad_cache_size, again.state.losses) == (then, (0.5, 0.25))


def test_the_optimiser_comes_back_bit_for_bit(tmp_path: Path) -> None:
    def fresh() -> tuple[dict[str, Any], Any]:
        torch.manual_seed(2)
        learned = {name: torch.nn.Parameter(torch.randn(3, 4)) for name in ("a", "b", "never")}
        return learned, torch.optim.AdamW(learned.values(), lr=0.01, weight_decay=0.1, fused=True)

    def stepped(learned: dict[str, Any], optimiser: Any, *names: str) -> None:
        for name, value in learned.items():
            value.grad = torch.randn(3, 4) if name in names else None
        optimiser.step()

    learned, optimiser = fresh()
    stepped(learned, optimiser, "a", "b")
    stepped(learned, optimiser, "a")
    state.save(tmp_path, state.RunState(step=2), WeightAverage(learned, 0.9), learned, optimiser)
    again, restored = fresh()
    found = state.load(tmp_path, WeightAverage(again, 0.9), again, restored)
    assert found == state.RunState(step=2)
    assert [float(restored.state[again[name]]["step"]) for name in ("a", "b")] == [2.0, 1.0]
    for one, other in ((learned, optimiser), (again, restored)):
        torch.manual_seed(3)
        stepped(one, other, "a", "b", "never")
    for name in learned:
        assert torch.equal(learned[name], again[name])
        for key, value in optimiser.state[learned[name]].items():
            assert torch.equal(value, restored.state[again[name]][key]) and value.dtype == torch.float32


def test_a_state_is_tensors_and_json(tmp_path: Path) -> None:
    learned = {"a": torch.nn.Parameter(torch.ones(2))}
    optimiser = torch.optim.AdamW(learned.values(), fused=True)
    at = state.RunState(3, 81.25, 2, 9.5, 80.1, (0.1, 0.2), 4, 1)
    state.save(tmp_path, at, WeightAverage(learned, 0.0), learned, optimiser)
    assert [each.name for each in tmp_path.iterdir()] == ["state.safetensors"]
    assert state.load(tmp_path, WeightAverage(learned, 0.0), learned, optimiser) == at


@pytest.mark.parametrize("damage", ["cut", "other", "text"])
def test_a_state_that_does_not_fit_is_told(tmp_path: Path, damage: str) -> None:
    learned = {"a": torch.nn.Parameter(torch.ones(2))}
    optimiser = torch.optim.AdamW(learned.values(), fused=True)
    state.save(tmp_path, state.RunState(1), WeightAverage(learned, 0.0), learned, optimiser)
    file = tmp_path / "state.safetensors"
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    elif damage == "text":
        file.write_text("a diary")
    else:
        learned = {"b": torch.nn.Parameter(torch.ones(2))}
    with pytest.raises(Corrupt, match=r"does not fit this run.*force=True"):
        state.load(tmp_path, WeightAverage(learned, 0.0), learned, optimiser)


def test_metrics_that_were_cut_short_are_said_again(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        runs.append_metrics(tmp_path, {"step": step, "loss": 0.1 + 0.2})
    with (tmp_path / "metrics.jsonl").open("a") as lines:
        lines.write('\0\0\0\n{"step": 4, "lo')
    assert [line["step"] for line in runs.read_metrics(tmp_path)] == [1, 2, 3]
    runs.truncate_metrics(tmp_path, 2)
    assert (tmp_path / "metrics.jsonl").read_text().splitlines() == [
        '{"step": 1, "loss": 0.30000000000000004}',
        '{"step": 2, "loss": 0.30000000000000004}',
    ]


def test_what_may_differ_is_told_and_not_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = RunFolder(tmp_path)
    told = {"steps": 4, "threads": 1, "recipe": {"rate": 0.1}, "versions": {"torch": "2.12"}}
    assert not folder.begin(told)
    (folder.home / "state.safetensors").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        assert folder.result({**told, "threads": 2, "versions": {"torch": "2.13"}, "newer": True}) is None
    assert "was started with threads 1 and continues with 2: not bit for bit" in caplog.text
    assert "versions.torch '2.12'" in caplog.text
    with pytest.raises(UsageError, match=r"with recipe\.rate 0\.1, and now it is 0\.2"):
        folder.result({**told, "recipe": {"rate": 0.2}})
    (folder.home / "settings.json").write_text("{")
    with pytest.raises(Corrupt, match=r"settings\.json cannot be read.*force=True"):
        folder.result(told)


FILES = ("config.json", "encoder.json", "model.safetensors", "vocab.txt", "2_Dense/config.json")


def written(generation: str) -> Callable[[Path], None]:
    """An encoder of files that say which one they belong to."""

    def write(new: Path) -> None:
        for name in FILES:
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(generation)

    return write


def holds(folder: Path) -> str:
    """Which encoder `folder` would be read as: "" for none."""
    if not (folder / "config.json").is_file():
        return ""
    found = {(folder / name).read_text() if (folder / name).is_file() else "lacking" for name in FILES}
    if "lacking" in found and not (folder / "encoder.json").is_file():
        pytest.fail("it would be read as a model without a manifest")
    return found.pop() if len(found) == 1 else pytest.fail(f"it is half of each: {found}")


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Have the nth change of a file from here on raise CutOff in place of being made; 0: none."""
    left = [0]

    def counting(real: Any) -> Any:
        def change(*arguments: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise CutOff
            return real(*arguments, **more)

        return change

    for name in ("replace", "rename", "unlink", "mkdir", "rmdir", "write_text"):
        monkeypatch.setattr(Path, name, counting(getattr(Path, name)))
    monkeypatch.setattr(shutil, "rmtree", counting(shutil.rmtree))
    for name in ("sync_file", "sync_folder"):  # a disk that is slow proves nothing here
        monkeypatch.setattr(atomic_write, name, counting(lambda *_: None))

    def at(number: int) -> None:
        left[0] = number

    yield at
    at(0)


def test_a_new_best_encoder_is_there_as_a_whole_wherever_the_keeping_is_cut_off(
    tmp_path: Path, cut: Callable[[int], None]
) -> None:
    seen = set()
    for number in range(1, 60):
        folder = RunFolder(tmp_path / str(number))
        folder.begin({})
        folder.save_best(written("old"))
        cut(number)
        try:
            folder.save_best(written("new"))
        except CutOff:
            cut(0)
            seen.add(holds(folder.path))
            cut(1 + number % 5)  # and once more, as it is brought to its end
            try:
                folder.begin({})
            except CutOff:
                holds(folder.path)
            cut(0)
            folder.begin({})
            seen.add(f"then {holds(folder.path)}")
            folder.save_best(written("next"))
        else:
            cut(0)
            break
        assert holds(folder.path) == "next"
    assert number > 30
    assert seen == {"old", "", "new", "then old", "then new"} or seen == {"old", "", "then old", "then new"}


def test_two_runs_never_write_into_one_folder(golden: Path, tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").locked(), pytest.raises(Locked, match="run is being written to by"):
        run(golden, tmp_path / "run", "cotbert")
    run(golden, tmp_path / "run", "cotbert", steps=1)


def test_a_folder_that_was_only_begun_is_begun_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.begin({"seed": 0})
    runs.append_metrics(folder.home, {"step": 1, "loss": 1.0})
    folder.save_best(written("best"))  # and cut off before where it stands was kept
    assert folder.result({"seed": 0}) is None
    assert not folder.begin({"seed": 0})
    assert runs.read_metrics(folder.home) == []


@pytest.mark.long
def test_a_run_killed_at_any_moment_comes_to_the_same(golden: Path, tmp_path: Path) -> None:
    """SIGKILL before one file operation after the other, and SIGTERM in a step; see killing.py."""
    if sys.platform == "win32":
        pytest.skip("Windows has no fork")
    done = subprocess.run(
        [sys.executable, HERE / "killing.py", golden / "models" / "tiny-bert", tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["operations"] > 40 and len(found["killed"]) >= 10
    for each in found["killed"]:
        assert each["signal"] == 9, each["at"]
        assert len(each["left"]) == 16 or "no " in each["left"], each
        assert each["then"] == found["whole"], each["at"]
    assert found["ended"]["signal"] == 15
    assert found["ended"]["then"].pop("steps") == [4]
    assert found["ended"]["then"] == found["whole"]


def test_the_folder_of_a_run_that_was_cut_off_is_an_encoder(golden: Path, tmp_path: Path) -> None:
    with pytest.raises(CutOff):
        run(golden, tmp_path / "run", "cotbert", at=3)
    assert Encoder.load(tmp_path / "run", device="cpu").info["method"] == "cot_bert"
