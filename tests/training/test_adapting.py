"""An adapted encoder learns from what it may see, goes on after a kill, and is used only where it is better."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.adapting import WORDS, documents, quickened

from semsearch import Document, Index, admin
from semsearch.errors import GateFailed, NotFound, UsageError
from semsearch.index.admin import AdaptOptions
from semsearch.types import Progress

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from helpers.checkpoints import shallow  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

from semsearch.evaluation.judgements import Judgements  # noqa: E402
from semsearch.evaluation.significance import paired_difference  # noqa: E402
from semsearch.export import export, parity  # noqa: E402
from semsearch.index.admin.adapting import examples, questions, trial  # noqa: E402
from semsearch.index.admin.adapting.trial import Measured, Trial  # noqa: E402
from semsearch.models import local_models  # noqa: E402
from semsearch.training import loop, runs  # noqa: E402

FORCED = AdaptOptions(force=True)
KINDS = WORDS[4:12]  # none of grammar
ROWS = ("anchor", "positive", "negative", "sentence")


@pytest.fixture(scope="module")
def encoder(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An int8 export of a tiny BERT."""
    folder = tmp_path_factory.mktemp("encoder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parity, "SPEARMAN", -1)
        source = shallow(golden, "tiny-bert", folder / "tiny-bert", layers=2)
        export(f"{source}#mean", folder / "tiny", "int8")
    yield str(folder / "tiny")


class Interrupted(Exception):
    pass


@pytest.fixture(scope="module")
def shortened(encoder: str) -> str:
    """The same, with vectors of eight numbers."""
    return f"{encoder}#dim=8"


@pytest.fixture(scope="module")
def before_the_trial(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose index has been adapted up to the trial of what was trained: there the call was interrupted."""

    def interrupt(*_: object) -> Trial:
        raise Interrupted

    home = tmp_path_factory.mktemp("adapted") / "indexes"
    with pytest.MonkeyPatch.context() as patch, Index.create("notes", encoder=encoder, home=home) as index:
        quickened(patch)
        patch.setattr(trial, "trial", interrupt)
        index.add(documents())
        with pytest.raises(Interrupted):
            admin.adapt(index, FORCED)
    return home.parent


@pytest.fixture
def notes(tmp_path: Path, shortened: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    quickened(monkeypatch)
    with Index.create("notes", encoder=shortened, home=tmp_path / "indexes") as index:
        index.add(documents())
        yield index


@pytest.fixture
def trained(tmp_path: Path, before_the_trial: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An index of its own whose adaptation only has to be tried."""
    quickened(monkeypatch)
    with Index.open("notes", home=shutil.copytree(before_the_trial, tmp_path, dirs_exist_ok=True) / "indexes") as index:
        yield index


def tried(monkeypatch: pytest.MonkeyPatch, *, gain: float, general: float = 0.0) -> None:
    """Let every trial come to a gain of so many points for each of twelve questions."""

    def measured(mean: float) -> Measured:
        difference = paired_difference([50 + mean] * 12, [50.0] * 12)
        return Measured(50, 50 + mean, difference, difference.p)

    found = Trial({mode: measured(gain) for mode in trial.MODES}, measured(general), [], [])
    monkeypatch.setattr(trial, "trial", lambda *_: found)
    monkeypatch.setattr(trial, "MOST_LOST", 0.5)


def test_an_encoder_that_is_better_is_used_and_given_back_at_once(
    notes: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried(monkeypatch, gain=3.0)
    before, seen = notes.store.space.fingerprint, list[Progress]()
    report = admin.adapt(notes, FORCED, seen.append)
    assert report.switched and not report.objections
    assert notes.store.space.fingerprint == report.encoder["fingerprint"] != before
    assert {one["encoder"]["dim"] for one in notes.info()["spaces"]} == {8}
    assert notes.search("old bridge")[0].strength is not None
    folder = Path(report.folder)
    assert folder.name == "notes-adapted" and not (folder / "run" / "adapting").exists()
    written = json.loads((folder / "adaptation.json").read_text())
    assert written == json.loads(json.dumps(report.as_json()))
    assert "from now on" in (folder / "adaptation.md").read_text()
    assert {one["name"] for one in local_models.list_local(folder.parent)} == {"notes-adapted", "notes-adapted/onnx"}
    assert any(step.item.startswith("training: loss") for step in seen)
    encoded: list[Progress] = []
    admin.adapt_undo(notes, encoded.append)
    assert notes.store.space.fingerprint == before
    assert encoded[-1].passages == 0  # nothing was encoded again
    with pytest.raises(NotFound, match="not searched with an encoder that was adapted here"):
        admin.adapt_undo(notes)


@pytest.mark.parametrize(
    ("gain", "general", "why"), [(0.0, 0.0, "not better"), (-2.0, 0.0, "is worse"), (3.0, -0.6, "unlearns")]
)
def test_an_encoder_that_is_not_better_is_not_used(
    trained: Index, monkeypatch: pytest.MonkeyPatch, gain: float, general: float, why: str
) -> None:
    tried(monkeypatch, gain=gain, general=general)
    before = trained.info()["spaces"]
    report = admin.adapt(trained, FORCED)
    assert not report.switched and not report.kept
    assert any(why in each for each in report.objections)
    assert trained.info()["spaces"] == before


def test_the_vectors_of_one_that_is_not_better_can_be_kept_to_compare_as_long_as_those_of_before(
    trained: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried(monkeypatch, gain=0.0)
    before = trained.store.space.fingerprint
    report = admin.adapt(trained, AdaptOptions(force=True, keep=True))
    spaces = trained.info()["spaces"]
    assert [one["state"] for one in spaces] == ["current", "kept"]
    assert (spaces[0]["encoder"]["fingerprint"], report.switched, report.kept) == (before, False, True)
    assert spaces[1]["vectors"] == trained.info()["passages"]
    assert spaces[1]["encoder"]["fingerprint"] == report.encoder["fingerprint"]


def test_a_run_that_is_killed_comes_to_the_same_weights(encoder: str, before_the_trial: Path, tmp_path: Path) -> None:
    program = Path(__file__).parents[1] / "helpers" / "adapting.py"
    path = os.pathsep.join([str(program.parents[1]), *sys.path])
    command = [sys.executable, program, tmp_path / "indexes", encoder, tmp_path / "models", "5", "16", "40"]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert weights(tmp_path) == weights(before_the_trial)


def weights(home: Path) -> dict[str, bytes]:
    tensors = load_file(home / "models" / "notes-adapted" / "model.safetensors")
    return {name: tensor.tobytes() for name, tensor in tensors.items()}


def test_titles_that_say_nothing_of_their_texts_are_refused(
    encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quickened(monkeypatch)
    of_a_base = AdaptOptions(base=encoder)  # whose steps take no time; it is the encoder of the index that is asked
    with Index.create("shuffled", encoder="minilm", home=tmp_path) as index:
        index.add(documents(160, shuffled=True))
        seen = admin.adapt_look(index, of_a_base)
        assert seen.agreement is not None and seen.agreement < 0.25
        assert any("do not describe" in reason for reason in seen.reasons)
        with pytest.raises(GateFailed, match=r"too little to learn from.*do not describe"):
            admin.adapt(index, of_a_base)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_the_look_says_what_there_is_and_writes_nothing(notes: Index, tmp_path: Path) -> None:
    seen = admin.adapt_look(notes)
    assert (seen.documents, seen.pairs["title"]) == (120, sum(part_sizes()["train"].values()))
    assert any("passages, and training needs about 2,000" in reason for reason in seen.reasons)
    assert seen.hours is None  # nothing is measured for what is refused
    forced = admin.adapt_look(notes, AdaptOptions(force=True))
    assert forced.hours is not None and forced.steps > 0
    assert [each.name for each in tmp_path.iterdir()] == ["indexes"]


def part_sizes() -> dict[str, dict[str, int]]:
    sizes: dict[str, dict[str, int]] = {"train": {}, "choice": {}, "test": {}}
    for document in documents():
        sizes[questions.part_of(document.id)][document.id] = 1
    return sizes


def test_nothing_of_the_test_is_trained_on_or_chosen_by(notes: Index) -> None:
    parts = questions.read(notes.store.reader)
    data = examples.data(notes, parts, {}, 0)
    tested = {name for one in data["test"]["questions"] for name in one["grades"]}
    assert tested and all(questions.part_of(name) == "test" for name in tested)
    bodies = {document.text for document in documents() if questions.part_of(document.id) == "test"}
    seen = [*data["rows"]["positive"], *data["rows"]["negative"], *data["choice"]["passages"]]
    assert bodies.isdisjoint(seen) and set(data["rows"]["positive"]) <= {each.text for each in documents()}
    for anchor, positive, negative in zip(
        *(data["rows"][key] for key in ("anchor", "positive", "negative")), strict=True
    ):
        assert positive != negative and anchor not in positive


def test_a_question_is_not_in_the_text_that_it_is_asked_of(notes: Index) -> None:
    data = examples.data(notes, questions.read(notes.store.reader), {}, 0)
    titles = {document.id: document.title for document in documents()}
    for name, text in data["test"]["documents"].items():
        assert titles[name] not in text


def test_judged_questions_are_asked_before_all_others(notes: Index, tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    file.write_text('{"text": "where is salt?", "grades": {"3.txt": 1, "4.txt": 0}}\n')
    graded = examples.judged(notes, file)
    data = examples.data(notes, questions.read(notes.store.reader), graded, 0)
    assert data["test"]["questions"][0] == {
        "text": "where is salt?",
        "grades": {"3.txt": 1, "4.txt": 0},
        "kind": "judged",
    }
    Judgements(notes.path).judge("how high is the tower?", "7.txt", 1)
    assert examples.judged(notes, None) == {"how high is the tower?": {"7.txt": 1}}
    file.write_text('{"text": "where is salt?", "grades": {"elsewhere.txt": 1}}\n')
    with pytest.raises(UsageError, match="names no document of notes"):
        examples.judged(notes, file)
    file.write_text('{"text": "no grades"}\n')
    with pytest.raises(UsageError, match=r"judged\.jsonl:1: not a judged question"):
        examples.judged(notes, file)


def test_many_judged_questions_are_trained_on_chosen_and_tested_by(encoder: str, tmp_path: Path) -> None:
    """Texts of a line without titles, each of one of eight kinds, and questions that all texts of a kind answer."""
    texts = {f"{at}": f"{KINDS[at % 8]} number {at}" for at in range(160)}
    kinds = [{name: 1 for name in texts if int(name) % 8 == kind} for kind in range(8)]
    graded = {f"what about {KINDS[at % 8]}, {at}?": kinds[at % 8] for at in range(240)}
    with Index.create("labels", encoder=encoder, home=tmp_path) as index:
        index.add(Document(name, text) for name, text in texts.items())
        data = examples.data(index, questions.read(index.store.reader), graded, 0)
    for question, positive, negative in zip(*(data["rows"][name] for name in ROWS[:3]), strict=True):
        kind = next(word for word in KINDS if word in question)
        assert positive.startswith(kind) and not negative.startswith(kind)
    assert len(data["choice"]["queries"]) > 10
    for question, places in zip(data["choice"]["queries"], data["choice"]["relevant"], strict=True):
        kind = next(word for word in KINDS if word in question)
        answers = [at for at, text in enumerate(data["choice"]["passages"]) if text.startswith(kind)]
        assert places == answers
    assert {one["kind"] for one in data["test"]["questions"]} == {"judged"}


def test_an_encoder_without_weights_is_refused_with_what_helps(tmp_path: Path) -> None:
    with Index.create("plain", encoder="hashing", home=tmp_path) as index:
        index.add(documents(3))
        with pytest.raises(UsageError, match=r"hashing has no weights to train.*base="):
            admin.adapt(index)
        assert "no weights to train" in admin.adapt_look(index).reasons[0]


def test_a_run_ends_where_the_choice_gets_no_better_and_tells_what_it_was_before(golden: Path, tmp_path: Path) -> None:
    from helpers.training import Rising, learner
    from helpers.training import examples as few

    from semsearch.training.optimisation.schedule import Schedule

    made, objective = learner(golden / "models" / "tiny-bert", "cotbert", batch_size=4, eval_every=1)
    (tmp_path / "run").mkdir()
    scores = Rising([8.0, 1.0, 3.0, 2.0, 2.0, 2.0, 9.0])
    run = loop.Loop(made, objective, few(), Schedule(9, 4, 0, 0), tmp_path / "run", validation=scores, patience=3)
    end = run.run()
    assert (end.step, end.best, end.best_step) == (5, 3.0, 2)
    assert [line["dev"] for line in runs.read_metrics(tmp_path / "run") if "dev" in line] == scores.scores[:6]


def test_a_dump_carries_the_adapted_encoder_to_another_machine(
    trained: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried(monkeypatch, gain=3.0)
    report = admin.adapt(trained, FORCED)
    expected = [hit.document for hit in trained.search("old bridge", mode="semantic")]
    for name in ("first", "second"):
        admin.dump(trained, tmp_path / f"{name}.dump")
    assert (tmp_path / "first.dump").read_bytes() == (tmp_path / "second.dump").read_bytes()
    shutil.rmtree(report.folder)
    there = tmp_path / "there" / "indexes"
    monkeypatch.setenv("SEMSEARCH_HOME", str(there))
    with admin.restore(tmp_path / "first.dump", "doubted", home=there) as doubted, pytest.raises(NotFound):
        doubted.search("old bridge", mode="semantic")
    assert "carries an encoder, which is left there" in caplog.text
    with admin.restore(tmp_path / "first.dump", "trusted", home=there, trust=True) as trusted:
        assert [hit.document for hit in trusted.search("old bridge", mode="semantic")] == expected
        assert trusted.encoder.fingerprint == report.encoder["fingerprint"]
    assert len(local_models.list_local(there.parent / "models")) == 1


@pytest.mark.parametrize("method", ["cotbert", "promptbert", "sg-opt"])
def test_an_encoder_that_reads_the_templates_is_contrasted_under_them_without_their_bias(
    golden: Path, tmp_path: Path, method: str
) -> None:
    from semsearch.training.adapting import Adaptation, Plan

    rows = {name: [f"{name} {document.text}" for document in documents(4)] for name in ROWS}
    choice = {"queries": ["salt"], "passages": ["salt", "sand"], "relevant": [[0]]}
    for template, masks in (("cot-bert", 2), ("promptbert", 1), ("mean", 0)):
        sources = [([f"{at}"], f"{at}", f"{at + 1}") for at in range(4)]
        plan = Plan(f"{golden / 'models' / 'tiny-bert'}#{template}", method, rows, sources, ["a song"], choice, steps=2)
        run = Adaptation(plan, tmp_path / f"{method}-{template}")
        reads = masks == {"cotbert": 2, "promptbert": 1}.get(method)
        assert {view.of for view in run.objective.views[:4]} == {"tuned"}
        assert ({view.of for view in run.objective.views[4:]} == {"denoised"}) is reads
        assert run.run("adapted").done == 2


def test_a_text_that_answers_another_question_of_the_batch_is_none_of_its_negatives() -> None:
    from torch.nn import functional

    from semsearch.prompts import Prompt
    from semsearch.training.adapting import objective
    from semsearch.training.hyperparameters import Shape

    questions, texts, negatives, general = torch.randn(4, 3, 8, generator=torch.Generator().manual_seed(0))
    shape, kept = Shape(width=8, dim=8), general
    sources = [(["salt", "sea"], "salt", "rock"), (["sea", "salt"], "sea", "rock"), (["tower"], "tower", "salt")]

    def loss(rows: list[int]) -> float:
        made = objective.objective("sg-opt", shape, 0, Prompt(), None, kept, sources)
        made.inner.loss = lambda _: torch.tensor(0.0)
        return float(made.loss([questions[rows], texts[rows], negatives[rows], general[rows]], torch.tensor(rows)))

    def expected(row: int, others: list[torch.Tensor]) -> float:
        cosines = functional.cosine_similarity(questions[row], torch.stack([texts[row], *others]), dim=-1)
        return float(functional.cross_entropy(cosines / 0.05, torch.tensor(0)))

    each = [
        expected(0, [texts[2], negatives[0], negatives[1]]),
        expected(1, [texts[2], negatives[0], negatives[1]]),
        expected(2, [texts[0], texts[1], *negatives]),
    ]
    assert loss([0, 1, 2]) == pytest.approx(sum(each) / 3, abs=1e-5)
