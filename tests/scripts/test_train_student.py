"""scripts/encoders/train_student.py: targets, losses, the rounding of int8, and a run that goes on where it stopped."""

from __future__ import annotations

import importlib
import random
import signal
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from semsearch import Encoder
from semsearch.errors import NotFound
from semsearch.evaluation.papers import whitening

torch = pytest.importorskip("torch")
ort = pytest.importorskip("onnxruntime")
WORDS = ("red", "green", "blue", "cat", "dog", "house", "tree", "runs", "sleeps", "small", "large", "old")


def module(name: str) -> ModuleType:
    return importlib.import_module(f"scripts.encoders.{name}")


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_every_cluster_gives_a_sentence_before_one_gives_two() -> None:
    labels = np.array([7, 7, 7, 1, 1, 4])
    assert module("corpus").evenly(labels, 4) == [0, 3, 5, 1]


def test_the_cosine_of_targets_is_the_weighted_mean_of_the_teachers() -> None:
    targets, chance = module("targets"), np.random.default_rng(0)
    vectors = {"one": unit(chance.normal(size=(50, 12))), "other": unit(chance.normal(size=(50, 8)))}
    texts = [module("corpus").Text("", "query" if at < 20 else "passage") for at in range(50)]
    parts = {"one": targets.Part(0.7, 0, 0.4), "other": targets.Part(0.3, 0, 0.6)}
    target = targets.Target(parts, texts, vectors)(texts, vectors)
    cosines = {name: each @ each.T for name, each in vectors.items()}
    expected = 0.7 * cosines["one"] + 0.3 * cosines["other"]
    expected[:20, :20] = (0.4 * cosines["one"] + 0.6 * cosines["other"])[:20, :20]
    across = np.sqrt(0.7 * 0.4) * cosines["one"] + np.sqrt(0.3 * 0.6) * cosines["other"]
    expected[:20, 20:], expected[20:, :20] = across[:20, 20:], across[20:, :20]
    np.testing.assert_allclose(target @ target.T, expected, atol=1e-5)


def test_neighbours_are_the_nearest_without_the_text_itself() -> None:
    vectors = unit(np.random.default_rng(1).normal(size=(30, 4)))
    found = module("targets").neighbours(vectors, 5)
    cosines = vectors @ vectors.T - 2 * np.eye(30)
    np.testing.assert_array_equal(found, np.argsort(-cosines, axis=1)[:, :5])


def test_vectors_are_computed_once(tmp_path: Path) -> None:
    asked: list[int] = []

    def teacher(texts: Any) -> Any:
        asked.append(len(texts))
        return np.full((len(texts), 3), 0.5, np.float32)

    shard = tmp_path / "000.jsonl"
    shard.write_text('["a", "query"]\n["b", "passage"]\n', encoding="utf-8")
    for _ in range(2):
        found = module("targets").Vectors(tmp_path / "vectors", {"some": teacher}).of(shard)
    assert asked == [2]
    np.testing.assert_array_equal(found["some"], np.full((2, 3), 0.5))


def test_a_perfect_student_has_no_loss_and_a_wrong_order_has_one() -> None:
    distillation, chance = module("distillation"), np.random.default_rng(2)
    wanted, bank = (torch.from_numpy(unit(chance.normal(size=(size, 6)))) for size in (4, 9))
    own = torch.zeros(4, 9, dtype=torch.bool)
    wrong = torch.from_numpy(unit(chance.normal(size=(4, 6))))
    assert [float(each) for each in distillation.losses(wanted, wanted, bank, own, 0.05)] == pytest.approx([0, 0, 0])
    assert all(float(each) > 0.1 for each in distillation.losses(wrong, wanted, bank, own, 0.05))


def test_the_learning_rate_falls_at_the_end_alone() -> None:
    found = module("distillation").Settings(steps=100, warmup=10, decay=0.5, learning_rate=1.0)
    rates = [found.rate(step, found.share(step, 1e6)) for step in (0, 9, 10, 50, 75, 99)]
    assert rates == pytest.approx([0.1, 1, 1, 1, 0.5, 0.02])


def test_a_run_of_so_many_seconds_is_over_when_they_are() -> None:
    found = replace(module("distillation").Settings(), seconds=60.0, steps=1)
    assert [found.share(10, seconds) for seconds in (0.0, 30.0, 60.0, 61.0)] == [0.0, 0.5, 1.0, 1.0]


def test_rounding_in_training_is_that_of_the_exported_graph(tmp_path: Path) -> None:
    onnx, quantization = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime.quantization")
    from semsearch.export.precision import QUANTIZATION

    torch.manual_seed(0)
    linear, inputs = torch.nn.Linear(16, 8, bias=False), torch.randn(1, 5, 16)
    torch.onnx.export(linear, (inputs,), tmp_path / "full.onnx", input_names=["x"], dynamo=False)
    quantization.quantize_dynamic(
        tmp_path / "full.onnx",
        tmp_path / "int8.onnx",
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        **QUANTIZATION,
    )
    assert "MatMulInteger" in {node.op_type for node in onnx.load(tmp_path / "int8.onnx").graph.node}
    (graph,) = ort.InferenceSession(tmp_path / "int8.onnx").run(None, {"x": inputs.numpy()})
    rounded = module("rounding").RoundedLinear(linear)(inputs).detach().numpy()
    np.testing.assert_allclose(rounded, graph, atol=1e-5)
    assert np.abs(linear(inputs).detach().numpy() - graph).max() > 1e-3  # so that the comparison can fail


class Tiny:
    """A student of a golden BERT, and shards of random texts, all in a folder."""

    def __init__(self, model: Path, folder: Path) -> None:
        self.model, self.folder, chance = model, folder, np.random.default_rng(3)
        module("corpus").SHARD = 24
        for name in ("a", "b"):
            roles = ("query", "passage")
            rows = (f'["{" ".join(chance.choice(WORDS, 5))}", "{roles[at % 2]}"]\n' for at in range(24))
            (folder / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
        self.table = chance.normal(size=(256, 32)).astype(np.float32)

    def encode(self, texts: Any) -> Any:
        return np.stack([np.sum([self.table[ord(letter) % 256] for letter in each.text], axis=0) for each in texts])

    def run(self, name: str, steps: int, stop: int | None = None, **more: Any) -> Any:
        made = self.made(name, steps, **more)
        for _, _ in zip(range((stop or steps) - made.at.step), made._steps(), strict=False):
            pass
        made.save()
        return made

    def made(self, name: str, steps: int, measure: Any = lambda it: {"stsb_dev": 0.0}, **more: Any) -> Any:
        targets, distillation, student = (module(each) for each in ("targets", "distillation", "student"))
        targets.WIDTH = 32
        torch.manual_seed(0)
        learner = student.Student(self.model, module("train_student").TEMPLATES.as_posix() + ":back", 32)
        vectors = targets.Vectors(self.folder / "vectors", {"some": self.encode})
        shards = sorted(self.folder.glob("*.jsonl"))
        first = module("corpus").read(shards[0])
        target = targets.Target({"some": targets.Part(1, 0)}, first, vectors.of(shards[0]))
        settings = distillation.Settings(steps=steps, anchors=4, warmup=2, ema=0.5, learning_rate=1e-3, **more)
        order = distillation.Shards(shards, vectors, target, settings)
        return distillation.Distillation(learner, order, settings, self.folder / name, measure)


@pytest.fixture(scope="module")
def tiny(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return Tiny(golden / "models" / "tiny-bert", tmp_path_factory.mktemp("student"))


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tiny: Tiny) -> None:
    whole = tiny.run("whole", 8)
    tiny.run("parts", 8, stop=3)
    parts = tiny.run("parts", 8)
    assert parts.at.step == 8
    for name, value in whole.student.trained.items():
        torch.testing.assert_close(parts.student.trained[name], value)


def test_a_run_that_a_signal_stops_is_saved_at_its_last_step(tiny: Tiny) -> None:
    def interrupt(student: Any) -> dict[str, float]:
        signal.raise_signal(signal.SIGINT)
        return {"stsb_dev": 0.0}

    with pytest.raises(KeyboardInterrupt):
        tiny.made("signal", 8, interrupt, eval_every=3).run()
    assert tiny.made("signal", 8).at.step == 3


def test_a_run_can_start_from_the_averaged_weights_of_another(tiny: Tiny) -> None:
    before = tiny.run("before", 4)
    with before.average.applied():
        expected = {name: value.detach().clone() for name, value in before.student.trained.items()}
    fresh = tiny.made("fresh", 4)
    script = module("train_student")
    assert not all(torch.equal(value, expected[name]) for name, value in fresh.student.trained.items())
    script.take_average(tiny.folder / "before", fresh.student, fresh.shards, fresh.settings)
    for name, value in fresh.student.trained.items():
        torch.testing.assert_close(value, expected[name])
    with pytest.raises(NotFound, match="no run was saved"):
        script.take_average(tiny.folder / "nothing", fresh.student, fresh.shards, fresh.settings)


def test_a_saved_student_gives_its_own_vectors(tiny: Tiny, tmp_path: Path) -> None:
    student = tiny.run("saved", 3).student
    texts = ["red cat", "a small house runs", "tree"]
    student.save(tmp_path / "out", "tiny", {"method": "distil", "steps": 3})
    encoder = Encoder.load(tmp_path / "out", device="cpu")
    for role in ("query", "passage"):
        np.testing.assert_allclose(encoder.encode(texts, role=role), student.encode(texts, role), atol=1e-4)
    assert np.abs(student.encode(texts, "query") - student.encode(texts, "passage")).max() > 0.01
    assert encoder.backend is not None and encoder.backend.bundle.method == "cot_bert"


def test_a_whitened_student_gives_the_whitened_vectors_of_its_map_saved_or_not(tiny: Tiny, tmp_path: Path) -> None:
    student = tiny.run("whitened", 3).student
    texts = [" ".join(np.random.default_rng(at).choice(WORDS, 4)) for at in range(120)]
    passages = [module("corpus").Text(each, "passage") for each in texts]
    with torch.no_grad():
        mapped = student.head(student.read(student.rows(passages))).numpy()
    student.whiten(passages, 0.5)
    found = student.encode(texts, "passage")
    np.testing.assert_allclose(found, unit(whitening.fit([mapped], power=0.5)(mapped)), atol=1e-3)
    assert np.abs(found - unit(mapped)).max() > 0.01  # so that the comparison can fail
    student.save(tmp_path / "out", "tiny", {"method": "distil", "steps": 3})
    np.testing.assert_allclose(Encoder.load(tmp_path / "out", device="cpu").encode(texts), found, atol=1e-3)


def test_the_texts_of_a_document_stay_together_with_their_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, body = module("corpus"), "Water boils at a lower temperature on high mountains. " * 20
    monkeypatch.setattr(corpus, "documents", lambda chance: [(f"Title number {at}", body) for at in range(50)])
    for name in ("balanced", "short"):
        monkeypatch.setattr(corpus, name, lambda *_: [])
    monkeypatch.setattr(corpus.texts, "wiki", lambda count: [])

    def allowed(text: str) -> bool:
        return True

    together = corpus.groups(None, allowed, random.Random(0))
    shared = ["query", "passage", "passage", "query", "query"]
    assert all(group[0].text.startswith("Title number") for group in together)
    assert all([each.role for each in group[:5]] == shared for group in together)
    asked = [group[5] for group in together if len(group) == 6]
    assert 5 < len(asked) < 25 and {each.role for each in asked} == {"query"}  # one of four
    under = [group[1].text.startswith(group[0].text + "\n") for group in together]
    assert 25 < sum(under) < 50  # three of four
    monkeypatch.setattr(corpus, "forbidden", lambda: {"Title number 3"})
    kept = corpus.collected(together, allowed, random.Random(0))
    assert "Title number 3" not in {each.text for each in kept} and len(kept) == len(set(kept))
    titles = [each.text for each in kept if each in {group[0] for group in together}]
    assert titles != sorted(titles, key=lambda text: int(text.rpartition(" ")[2]))  # shuffled


def test_telling_words_are_the_rare_ones_in_their_order_and_in_another_text_too() -> None:
    corpus = ["the zebra grazes the plain", "the plain zebra sleeps", "the cat sleeps", "the cat hides quickly"]
    words = module("texts").telling(corpus)("the zebra grazes the plain", random.Random(0)).split()
    assert words in (["zebra", "plain"], ["the", "zebra"], ["the", "plain"], ["the", "zebra", "plain"])
    assert "grazes" not in words


def test_the_best_passage_of_a_document_counts_and_each_role_is_asked_for(data: Path) -> None:
    choice = module("choice")
    vectors = {"near": [1.0, 0.0], "far": [0.0, 1.0], "half": [0.6, 0.8]}
    roles = []

    def encode(texts: Any, role: str) -> Any:
        roles.append(role)
        return np.array([vectors[text] for text in texts], np.float32)

    passages, owners = ["far", "near", "half"], [0, 0, 1]
    assert choice.Ranking(["near"], passages, [frozenset([0])], owners).ndcg(encode) == 100
    assert choice.Ranking(["near"], passages, [frozenset([1])], owners).ndcg(encode) == pytest.approx(63.09, abs=0.01)
    assert roles[:2] == ["query", "passage"]


def test_what_choices_are_made_on_is_not_trained_on(data: Path) -> None:
    corpus, rankings = module("corpus"), module("choice").rankings()
    pairs = corpus.documents(random.Random(0))
    trained = {text.removeprefix(title).strip() for title, text in pairs} | {text for _, text in pairs}
    for name, ranking in rankings.items():
        assert not trained.intersection(ranking.passages), name
    assert not {title for title, _ in pairs}.intersection(rankings["questions"].queries)
    assert set(rankings["claims"].queries) <= corpus.forbidden()  # which `collected` leaves out
    assert all(len(ranking.queries) == len(ranking.relevant) >= 30 for ranking in rankings.values())


def test_cot_berts_objective_is_a_term_of_the_loss_where_it_has_a_weight(tiny: Tiny) -> None:
    """Eq. 3 of CoT-BERT with its three views, each denoised by [PAD]s, written out on the library's encoders."""
    made = tiny.made("contrast", 2, contrast=0.5)
    shard, anchors = made.shards.anchors(0)
    texts = [shard.texts[at] for at in anchors]
    assert {each.role for each in texts} == {"query", "passage"}
    file = module("train_student").TEMPLATES
    views = []
    for name in ("back", "back-positive", "back-negative"):
        encoder: Any = Encoder.load(f"{tiny.model}#denoise=pad,template={file}:{name}", device="cpu", cache=None)
        encoder.backend.network = made.student.network  # whose word vectors are rounded
        encoder.backend.clear_cache()
        rows = [encoder.backend.vectors([text], encoder.backend.prompts[role])[0] for text, role in texts]
        views.append(unit(np.stack(rows)))
    logits = (
        np.hstack(
            [left @ right.T for left, right in ((views[0], views[1]), (views[0], views[2]), (views[1], views[2]))]
        )
        / 0.05
    )
    wanted = -np.mean([row[at] - np.log(np.exp(row).sum()) for at, row in enumerate(logits)])
    parts = made.step(0)
    assert parts["contrast"] == pytest.approx(wanted, rel=1e-4)
    assert "contrast" not in tiny.made("no contrast", 2).step(0)


def test_a_run_with_cot_berts_objective_ends_as_one_that_was_not_stopped(tiny: Tiny) -> None:
    whole = tiny.run("whole contrast", 4, contrast=0.5)
    tiny.run("contrast parts", 4, stop=2, contrast=0.5)
    parts = tiny.run("contrast parts", 4, contrast=0.5)
    for name, value in whole.student.trained.items():
        torch.testing.assert_close(parts.student.trained[name], value)
    plain = tiny.run("without", 4)
    assert any(not torch.equal(value, plain.student.trained[name]) for name, value in whole.student.trained.items())


def test_settings_of_an_earlier_run_stay_as_they_are() -> None:
    """A run that was begun before a term was added goes on without it."""
    settings = module("distillation").Settings
    before = {"steps": 6000, "anchors": 32, "learning_rate": 1.5e-4, "vectors": 1.0, "ranking": 1.0, "pairs": 1.0}
    assert settings(**before).contrast == 0
