"""A run: its steps, what it judges, keeps and says, and what it refuses before anything is trained."""

from __future__ import annotations

import json
import logging
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.arithmetic import ROUNDING, error
from helpers.checkpoints import copied, rewrite
from helpers.training import TEXTS, Near, Rising, examples, learner, outcome, said

from semsearch.encoders.encoder import Encoder
from semsearch.errors import SemsearchError, UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from semsearch.training import TrainingConfig, TrainingOptions, loop, runs, trainer  # noqa: E402
from semsearch.training.hyperparameters import Hyperparameters  # noqa: E402
from semsearch.training.optimisation import gradients, schedule  # noqa: E402
from semsearch.training.optimisation.averaging import WeightAverage  # noqa: E402
from semsearch.training.run_folder import plot  # noqa: E402


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "plot", SimpleNamespace(draw=lambda *_: None))


@pytest.fixture
def bert(golden: Path) -> str:
    return str(golden / "models" / "tiny-bert")


def settings(base: str, method: str = "cotbert", **told: Any) -> TrainingConfig:
    usual = {"batch_size": 4, "steps": 4, "eval_every": 2, "max_length": 8, "learning_rate": 1e-3, "device": "cpu"}
    return TrainingConfig(method, base, **{**usual, **told})


def test_the_best_encoder_on_dev_is_what_is_kept(bert: str, tmp_path: Path) -> None:
    dev = Rising([3.0, 5.0, 4.0])
    result = trainer.train(settings(bert, steps=5), examples(), tmp_path / "run", TrainingOptions(validation=dev))
    assert (result.score, result.step, result.steps, result.measure) == (5.0, 4, 5, dev.measure)
    encoder = Encoder.load(result.folder, device="cpu")
    assert error(encoder.encode(TEXTS[:3]), dev.vectors[1]) < ROUNDING
    assert np.abs(encoder.encode(TEXTS[:3]) - dev.vectors[2]).max() > 1e-4
    assert encoder.name == "run"
    lines = said(result.folder)
    assert [line["dev"] for line in lines if "dev" in line] == dev.scores
    assert [line["step"] for line in lines if "loss" in line] == [2, 4, 5]
    assert not (result.folder / "run" / "state.safetensors").exists()


def test_a_run_says_what_it_prepares_and_every_step_with_the_time_that_is_left(bert: str, tmp_path: Path) -> None:
    prepared: list[str] = []
    seen = []

    def look(step: loop.TrainingStep) -> None:
        run = runs.training_run(tmp_path / "run")
        seen.append((run.step, run.moment.doing, run.losses[-1][0]))
        assert run.moment.seconds_left == pytest.approx(step.seconds_left, abs=0.01)

    dev = Rising([3.0, 5.0])
    train = trainer.train(
        settings(bert),
        examples(),
        tmp_path / "run",
        TrainingOptions(validation=dev, report=look, preparing=prepared.append),
    )
    assert train.steps == 4
    assert seen == [(1, "training", 1), (2, "validating", 2), (3, "training", 3), (4, "validating", 4)]
    assert prepared[0].startswith("loading the base model") and prepared[-1] == "the first step"


def test_without_a_dev_the_last_encoder_is_kept(bert: str, tmp_path: Path) -> None:
    result = trainer.train(settings(bert, steps=3), examples(), tmp_path / "run")
    assert (result.score, result.step, result.measure) == (None, 3, "")
    assert Encoder.load(result.folder, device="cpu").dim == 32


def test_a_run_that_is_done_is_not_done_again(bert: str, tmp_path: Path) -> None:
    told = settings(bert, steps=2)
    first = trainer.train(told, examples(), tmp_path / "run", TrainingOptions(validation=Rising()))
    before = outcome(first.folder)
    assert (
        trainer.train(told, examples(), tmp_path / "run", TrainingOptions(validation=Rising([]), report=_never))
        == first
    )
    assert outcome(first.folder) == before


def _never(_: Any) -> None:
    pytest.fail("a step was made")


def test_another_setting_is_refused_with_both_sides_until_a_run_is_started_anew(bert: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    trainer.train(settings(bert, steps=2), examples(), folder)
    with pytest.raises(UsageError, match=r"recipe\.rate 0\.001, and now it is 0\.002.*force=True"):
        trainer.train(settings(bert, steps=2, learning_rate=2e-3), examples(), folder)
    with pytest.raises(UsageError, match=r"has a run with examples\.count 12, and now it is 13"):
        trainer.train(settings(bert, steps=2), examples(13), folder)
    with pytest.raises(UsageError, match=r"with method 'cotbert', and now it is 'simcse'"):
        trainer.train(settings(bert, "simcse", steps=2), examples(), folder)
    (folder / "prompt.safetensors").write_bytes(b"of an earlier encoder")
    anew = trainer.train(settings(bert, steps=2, learning_rate=2e-3), examples(), folder, TrainingOptions(force=True))
    assert [line["step"] for line in said(anew.folder)] == [2]
    assert not (folder / "prompt.safetensors").exists()


def test_a_folder_that_holds_something_else_is_left_alone(bert: str, golden: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(UsageError, match=r"notes is not empty, and is not the folder of a run"):
            trainer.train(settings(bert), examples(), tmp_path / "notes", TrainingOptions(force=force))
    with pytest.raises(UsageError, match=r"diary\.txt is a file"):
        trainer.train(settings(bert), examples(), tmp_path / "notes" / "diary.txt")
    base = copied(golden, "tiny-bert", tmp_path / "base")
    with pytest.raises(UsageError, match="contains the base model itself"):
        trainer.train(settings(str(base)), examples(), base, TrainingOptions(force=True))
    assert sorted(each.name for each in (tmp_path / "notes").iterdir()) == ["diary.txt"]


@pytest.mark.parametrize("warmup", [0, 0.25, 3.0])
def test_the_rate_is_the_linear_schedule_of_transformers(warmup: float) -> None:
    recipe = Hyperparameters(batch_size=1, learning_rate=1.0, warmup=warmup)
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    warm = int(warmup) if warmup > 1 else round(warmup * 8)
    theirs = transformers.get_linear_schedule_with_warmup(optimiser, warm, 8)
    for step in range(8):
        assert schedule.learning_rate(recipe, step, 8) == pytest.approx(theirs.get_last_lr()[0])
        optimiser.step()
        theirs.step()


def test_the_rate_of_every_step_is_the_schedules(bert: str, tmp_path: Path) -> None:
    steps: list[Any] = []
    trainer.train(
        settings(bert, steps=4, learning_rate=0.01, warmup=2),
        examples(),
        tmp_path / "run",
        TrainingOptions(report=steps.append),
    )
    assert [each.learning_rate for each in steps] == pytest.approx([0.0, 0.005, 0.01, 0.005])
    assert [each.step for each in steps] == [1, 2, 3, 4]
    assert steps[-1].seconds_left == 0


def test_every_text_is_read_once_an_epoch_in_another_order_each_time() -> None:
    first, second, other = (schedule.order(30, *seeds) for seeds in ((0, 0), (0, 1), (1, 0)))
    assert sorted(first) == sorted(second) == list(range(30))
    assert first != second and first != other
    assert first == schedule.order(30, 0, 0)
    planned = schedule.plan(examples(24), Hyperparameters(batch_size=5, learning_rate=1.0, epochs=2))
    assert (planned.steps, planned.batch_size) == (8, 5)
    with pytest.raises(UsageError, match="1 usable examples"):
        schedule.plan(examples(1), Hyperparameters(batch_size=5, learning_rate=1.0))


def a_loop(bert: str, home: Path, **recipe: Any) -> Any:
    """A loop over 12 texts in batches of 4, without dropout."""
    made, objective = learner(
        bert, "cotbert", **{"max_length": 8, "learning_rate": 1e-3, "batch_size": 4, "epsilon": 1.0, **recipe}
    )
    for module in made.network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for layer in made.network.model.encoder.layer:
        layer.attention.self.dropout.p = 0.0
    home.mkdir(exist_ok=True)
    return loop.Loop(made, objective, examples(), schedule.Schedule(3, 4, 0, 0), home)


def weights(run: Any) -> Any:
    return torch.cat([each.detach().flatten().clone() for each in run.parameters.values()])


def test_gradients_are_clipped_to_the_length_of_the_recipe(
    bert: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[float] = []
    for clip, expected in ((0.5, True), (0.0, False)):
        run = a_loop(bert, tmp_path, max_grad_norm=clip)
        monkeypatch.setattr(run.optimiser, "step", lambda run=run: lengths.append(_length(run)))
        run.step()
        assert (lengths[-1] <= 0.5 + 1e-5) == expected


def _length(run: Any) -> float:
    return float(torch.stack([each.grad.norm() for each in run.parameters.values() if each.grad is not None]).norm())


def test_where_memory_is_full_the_parts_are_halved_and_the_step_is_the_same(
    bert: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    want = a_loop(bert, tmp_path / "one", max_grad_norm=0.0)
    loss = want.step()
    run = a_loop(bert, tmp_path / "other", max_grad_norm=0.0)
    micros: list[int] = []
    drawn: list[Any] = []

    def full(learner: Any, objective: Any, rows: Any, labels: Any, micro: int) -> float:
        micros.append(micro)
        drawn.append(float(torch.rand(1)))
        found = gradients.add_gradients(learner, objective, rows, labels, micro)
        if len(micros) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return found

    monkeypatch.setattr(loop, "add_gradients", full)
    with caplog.at_level(logging.WARNING):
        assert run.step() == pytest.approx(loss, rel=1e-5)
    assert micros == [0, 2] and drawn[0] == drawn[1]
    assert (weights(run) - weights(want)).abs().max() < 1e-6  # with such an epsilon a step is as long as its gradient
    assert (weights(run) - weights(a_loop(bert, tmp_path / "begun"))).abs().max() > 1e-5
    assert "parts of 2 texts from now on" in caplog.text
    run.step()
    assert micros == [0, 2, 2]


def test_one_text_that_memory_does_not_hold_is_told(bert: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> float:
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 4 bytes.")

    monkeypatch.setattr(loop, "add_gradients", full)
    run = a_loop(bert, tmp_path)
    with pytest.raises(SemsearchError, match="does not hold one text of"):
        run.step()
    monkeypatch.setattr(loop, "add_gradients", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.step()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_the_run_before_it_is_learned(bert: str, tmp_path: Path, bad: float) -> None:
    run = a_loop(bert, tmp_path)
    before, plain = weights(run), run.objective.loss
    run.objective.loss = lambda vectors, labels=None: plain(vectors, labels) * bad
    with pytest.raises(SemsearchError, match=r"loss is (nan|inf) at step 1.*lower learning rate: 0\.0005"):
        run.step()
    assert torch.equal(before, weights(run))


def test_gradients_that_are_no_numbers_end_the_run_too(bert: str, tmp_path: Path) -> None:
    run = a_loop(bert, tmp_path)
    before = weights(run)
    run.objective.loss = lambda vectors, labels=None: (vectors[0] * 0).clamp(min=0).sqrt().sum()
    with pytest.raises(SemsearchError, match="gradient norm is nan at step 1"):
        run.step()
    assert torch.equal(before, weights(run))


def test_bf16_computes_the_network_alone(bert: str, tmp_path: Path) -> None:
    made, objective = learner(bert, "cotbert")
    rows = [made.rows(view, TEXTS[:6]) for view in objective.views]
    made.network.train(False)
    with torch.no_grad():
        full = made.vectors(objective.views[0], rows[0])
        made.precision = "bf16"
        half = made.vectors(objective.views[0], rows[0])
    assert half.dtype == torch.float32 and objective.loss([half] * 3).dtype == torch.float32
    assert 0 < float((full - half).abs().max()) < 0.2
    result = trainer.train(settings(bert, precision="bf16", steps=2, grad_cache_size=2), examples(), tmp_path / "run")
    assert np.isfinite(Encoder.load(result.folder, device="cpu").encode(TEXTS)).all()


def test_the_mean_of_the_weights_is_what_is_judged_and_saved(bert: str, tmp_path: Path) -> None:
    """One run without a mean says what the weights were after each step, and so what their mean is."""
    plain = Rising()
    trainer.train(
        settings(bert, steps=3, eval_every=1), examples(), tmp_path / "plain", TrainingOptions(validation=plain)
    )
    mean = Rising()
    told = settings(bert, steps=3, eval_every=1, ema_decay=0.5)
    result = trainer.train(told, examples(), tmp_path / "mean", TrainingOptions(validation=mean))
    assert [each["loss"] for each in said(result.folder) if "loss" in each] == [
        each["loss"] for each in said(tmp_path / "plain") if "loss" in each
    ]
    assert np.abs(mean.vectors[2] - plain.vectors[2]).max() > 1e-4
    saved = Encoder.load(result.folder, device="cpu").encode(TEXTS[:3])
    assert error(saved, mean.vectors[2]) < ROUNDING


def test_a_mean_forgets_what_it_began_with() -> None:
    """min(decay, (1 + t) / (10 + t)) of it is kept in step t."""
    value = torch.nn.Parameter(torch.tensor([8.0]))
    average = WeightAverage({"w": value}, 0.15)
    want = 8.0
    for step, kept in enumerate((0.1, 0.15, 0.15)):
        with torch.no_grad():
            value.fill_(float(step))
        average.update(step)
        want = kept * want + (1 - kept) * step
        assert float(average.values["w"]) == pytest.approx(want)
        with average.applied():
            assert float(value.detach()) == pytest.approx(want)
        assert float(value.detach()) == step


def test_several_seeds_have_a_mean_and_a_deviation(bert: str, tmp_path: Path) -> None:
    told = settings(bert, steps=2)
    summary = trainer.train_seeds(told, [1, 2, 3], examples(), tmp_path / "runs", TrainingOptions(validation=Near()))
    scores = [each.score for each in summary.results]
    assert len(set(scores)) == 3
    assert summary.mean == pytest.approx(statistics.fmean(s for s in scores if s is not None))
    assert summary.deviation == pytest.approx(statistics.stdev(s for s in scores if s is not None))
    assert summary.best.score == max(s for s in scores if s is not None)
    content = json.loads((tmp_path / "runs" / "summary.json").read_text())
    assert content["best"] == f"seed-{summary.best.seed}" and content["mean"] == summary.mean
    assert content["seeds"]["2"] == {"score": scores[1], "step": summary.results[1].step}
    again = trainer.train_seeds(
        told, [1, 2, 3], examples(), tmp_path / "runs", TrainingOptions(validation=Near(), report=_never)
    )
    assert again == summary
    with pytest.raises(UsageError, match=r"seeds are \[1, 1\]"):
        trainer.train_seeds(told, [1, 1], examples(), tmp_path / "runs")


def test_the_callers_random_numbers_go_on(bert: str, tmp_path: Path) -> None:
    torch.manual_seed(9)
    want = torch.rand(2)
    torch.manual_seed(9)
    trainer.train(settings(bert, steps=1), examples(), tmp_path / "run")
    assert torch.equal(torch.rand(2), want)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"batch_size": 0}, "batch size cannot be 0"),
        ({"learning_rate": float("nan")}, "learning rate cannot be nan"),
        ({"steps": 0}, "steps cannot be 0"),
        ({"warmup": -1.0}, "warmup cannot be -1"),
        ({"warmup": float("inf")}, "warmup cannot be inf.*finite"),
        ({"epochs": float("inf")}, "epochs cannot be inf.*finite"),
        ({"epochs": 0}, r"epochs cannot be 0\. It has to be above 0"),
        ({"seed": 2**64}, "seed cannot be 18446744073709551616.*below"),
        ({"ema_decay": 1.0}, r"EMA decay cannot be 1\.0.*0\.999"),
        ({"grad_cache_size": -1}, "grad cache size cannot be -1"),
        ({"precision": "fp16"}, "cannot compute in fp16.*fp32, bf16"),
        ({"device": "gpu"}, "no device is called 'gpu'"),
        ({"options": {"temprature": 1.0}}, "Did you mean 'temperature'"),
        ({"options": {"temperature": 0.0}}, r"temperature of cotbert cannot be 0\.0.*above 0"),
        ({"options": {"temperature": float("nan")}}, "temperature of cotbert cannot be nan"),
        ({"method": "sg", "options": {"hidden": -1}}, "hidden of sg cannot be -1.*0 or more"),
        ({"method": "supervised", "options": {"hard_weight": float("inf")}}, "hard_weight.*cannot be inf.*finite"),
        ({"method": "qlora", "options": {"rank": 0}}, "rank of qlora cannot be 0"),
        ({"method": "cotbart"}, "Did you mean 'cotbert'"),
    ],
)
def test_a_setting_that_cannot_be_is_told_before_anything_is_done(
    bert: str, tmp_path: Path, told: dict[str, Any], said: str
) -> None:
    whole = {"method": "cotbert", "base": bert, "device": "cpu", **told}
    with pytest.raises(UsageError, match=said):
        trainer.train(TrainingConfig(**whole), examples(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("method", "base", "said"),
    [
        ("cotbert", "minilm", r"minilm is an exported encoder.*hf:sentence-transformers/all-MiniLM-L6-v2"),
        ("cotbert", "hashing", "hashing has no weights to train"),
        ("cotbert", "nowhere/at/all", "there is no folder nowhere/at/all"),
        ("cotbert", "tiny-llama", r"no template for .*tiny-llama, a model of the kind causal.*bert or roberta"),
        ("cotbert", "tiny-llama#cot-bert", r"has a \[MASK\], and .*tiny-llama \(llama\) is a decoder"),
        ("qlora", "tiny-bert", "a model of the kind bert.*of the kind causal"),
        ("cosent", "tiny-bert#prompteol", "is for decoders, and .*tiny-bert"),
        ("cotbert", "tiny-bert#mean", "needs a prompt without"),
        ("cotbert", "tiny-bert#dim=8,template=cot-bert", r"matryoshka_dims=\(8,\)"),
    ],
)
def test_a_base_that_does_not_fit_is_told_in_one_line(
    golden: Path, tmp_path: Path, method: str, base: str, said: str
) -> None:
    name = f"{golden / 'models' / base}" if base.startswith("tiny") else base
    data = examples(columns=("anchor", "positive"), labels=True)
    with pytest.raises(SemsearchError, match=said):
        trainer.train(settings(name, method), data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_base_without_a_mask_token_is_told(golden: Path, tmp_path: Path) -> None:
    folder = copied(golden, "tiny-bert", tmp_path / "base")
    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(text.replace("[MASK]", "[HIDE]"), encoding="utf-8")
    rewrite(folder / "tokenizer_config.json", mask_token=None)
    with pytest.raises(UsageError, match=r"has a \[MASK\], and the tokenizer of .*base has no such token"):
        trainer.train(settings(str(folder)), examples(), tmp_path / "run")


@pytest.mark.parametrize(
    ("method", "template", "columns", "labels", "said"),
    [
        ("supervised", "mean", ("anchor",), False, "needs a column positive, and a few texts has anchor"),
        ("cosent", "mean", ("anchor", "positive"), False, "needs labels, and a few texts has none"),
        ("distil", "mean", ("anchor",), False, "distil needs a teacher.*teacher="),
    ],
)
def test_data_that_do_not_fit_are_told(
    bert: str, tmp_path: Path, method: str, template: str, columns: tuple[str, ...], labels: bool, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        trainer.train(
            settings(f"{bert}#{template}", method), examples(columns=columns, labels=labels), tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_a_batch_of_one_is_refused_where_nothing_can_be_told_from_it(bert: str, tmp_path: Path) -> None:
    """Its loss would be 0. CoT-BERT has a third view of the text, which denies it."""
    with pytest.raises(UsageError, match=r"simcse contrasts a text with the others of its batch.*batch size of 2"):
        trainer.train(settings(bert, "simcse", batch_size=1), examples(), tmp_path / "run")
    steps: list[Any] = []
    trainer.train(
        settings(bert, batch_size=1, steps=1),
        examples(),
        tmp_path / "run",
        TrainingOptions(report=steps.append),
    )
    assert steps[0].loss > 0


def test_batches_of_one_label_are_counted(bert: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = examples(columns=("anchor", "positive"), labels=True)
    same = type(data)(data.columns, [1.0] * len(data))
    with caplog.at_level(logging.WARNING):
        trainer.train(settings(f"{bert}#mean", "cosent", steps=3), same, tmp_path / "run")
    assert "3 of 3 batches had a single label" in caplog.text


def test_a_teacher_is_asked_for_the_texts_of_the_batch(bert: str, tmp_path: Path) -> None:
    asked: list[list[str]] = []
    own = Encoder.load(bert, template="mean", device="cpu")

    def teacher(texts: Any) -> Any:
        asked.append(list(texts))
        return own.encode(texts)

    data = examples(columns=("anchor", "positive"))
    told = settings(f"{bert}#cot-bert", "distil", steps=2)
    trainer.train(told, data, tmp_path / "run", TrainingOptions(teacher=teacher, teacher_name="mean"))
    rows = list(zip(data.columns["anchor"], data.columns["positive"], strict=True))
    assert all(pair in rows for texts in asked for pair in zip(texts[:4], texts[4:], strict=True))
    assert json.loads((tmp_path / "run" / "run" / "settings.json").read_text())["teacher"] == "mean"


def test_an_encoder_does_not_say_where_base_data_and_teacher_lay(bert: str, tmp_path: Path) -> None:
    data = replace(examples(), source=f"{tmp_path}/mine.txt")
    told = {"teacher": lambda texts: np.ones((len(texts), 32), np.float32), "teacher_name": f"{tmp_path}/big#mean"}
    trainer.train(settings(f"{bert}#mean", "distil", steps=1), data, tmp_path / "run", TrainingOptions(**told))  # type: ignore[arg-type]
    manifest = (tmp_path / "run" / "encoder.json").read_text()
    found = json.loads(manifest)["origin"]["trained"]
    assert (found["examples"]["source"], found["teacher"]) == ("mine.txt", "big#mean")
    assert str(tmp_path) not in manifest and bert not in manifest


def test_a_signal_is_heeded_when_the_block_is_done() -> None:
    import signal

    done = []
    with pytest.raises(KeyboardInterrupt), loop.deferred_signals() as stop:
        signal.raise_signal(signal.SIGINT)
        done.append(bool(stop))
    assert done == [True]
    with pytest.raises(KeyboardInterrupt), loop.deferred_signals():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # who asks twice does not wait
        pytest.fail("it went on")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_that_was_stopped_is_never_taken_for_done(
    bert: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even in a program that does nothing about the signal."""
    import signal

    def report(step: Any) -> None:
        if step.step == 2:
            signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with pytest.raises(KeyboardInterrupt):
            trainer.train(settings(bert, eval_every=9), examples(), tmp_path / "run", TrainingOptions(report=report))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "stopped at step 2 of 4" in caplog.text
    assert runs.training_run(tmp_path / "run").step == 2  # though the metrics have a line every ten steps
    steps: list[int] = []
    result = trainer.train(
        settings(bert, eval_every=9),
        examples(),
        tmp_path / "run",
        TrainingOptions(report=lambda step: steps.append(step.step)),
    )
    assert steps == [3, 4] and result.steps == 4


def test_a_signal_at_the_last_step_finds_nothing_to_stop(bert: str, tmp_path: Path) -> None:
    import signal

    def report(step: Any) -> None:
        if step.step == 4:
            signal.raise_signal(signal.SIGINT)

    trainer.train(settings(bert, eval_every=9), examples(), tmp_path / "run", TrainingOptions(report=report))
    found = runs.training_run(tmp_path / "run")
    assert (found.state, found.step) == ("done", 4)


def test_the_picture_shows_loss_and_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)  # of another test
    for step in (10, 20):
        runs.append_metrics(tmp_path, {"step": step, "loss": 3.0 / step, "rate": 1e-5, "seconds": 1.0})
        runs.append_metrics(tmp_path, {"step": step, "dev": 60.0 + step, "measure": "Spearman on STS-B dev"})
    from matplotlib.figure import Figure

    figure = Figure()
    plot._fill(figure, runs.read_metrics(tmp_path), "cotbert on a model, seed 0")
    left, right = figure.axes
    assert left.get_title(loc="left") == "cotbert on a model, seed 0"
    assert (left.get_xlabel(), left.get_ylabel()) == ("step", "loss")
    assert right.get_ylabel() == "Spearman on STS-B dev, percent"
    assert left.lines[0].get_xydata().tolist() == [[10, 0.3], [20, 0.15]]
    assert right.lines[0].get_xydata().tolist() == [[10, 70.0], [20, 80.0]]
    plot.draw(tmp_path, "cotbert on a model, seed 0")
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules
    assert not caplog.records


def test_a_run_goes_on_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs.append_metrics(tmp_path, {"step": 10, "loss": 3.0, "rate": 1e-5, "seconds": 1.0})
    monkeypatch.setattr(plot, "_warned", set())
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with caplog.at_level(logging.WARNING):
        plot.draw(tmp_path, "a run")
        plot.draw(tmp_path, "a run")
    assert len(caplog.records) == 1 and "the loss is not plotted" in caplog.text
    assert not (tmp_path / "loss.png").exists()


def test_run_folders_keep_the_keys_that_earlier_versions_wrote() -> None:
    keys = set(Hyperparameters(batch_size=1, learning_rate=1.0).as_json())
    assert {"batch", "rate", "tokens", "clip", "average", "trains", "serves", "learns", "fresh"} <= keys
    assert not keys & {"batch_size", "learning_rate", "max_length", "ema_decay"}
