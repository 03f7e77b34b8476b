"""Transfer tasks: classifiers of torch, folds of scikit-learn, and tasks in SentEval's files."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.evaluation.papers import transfer_tasks
from semsearch.evaluation.papers.transfer_tasks import LabelledTexts, TransferTask

torch = pytest.importorskip("torch")

from semsearch.evaluation.papers import classifier, transfer  # noqa: E402  (torch may be absent)
from semsearch.evaluation.papers.classifier import ClassifierSettings, LabelledRows, fit  # noqa: E402

SIZES = {
    "MR": {"all": 10662},
    "CR": {"all": 3775},
    "SUBJ": {"all": 10000},
    "MPQA": {"all": 10606},
    "SST2": {"train": 67349, "dev": 872, "test": 1821},
    "SST5": {"train": 8544, "dev": 1101, "test": 2210},
    "TREC": {"train": 5452, "test": 500},
    "MRPC": {"train": 4076, "test": 1725},
}
QUICK = ClassifierSettings(batch=16, tenacity=2, passes=2, most_passes=12)


def clouds(size: int, classes: int = 3, apart: float = 1.5, seed: int = 0) -> tuple[Any, Any]:
    """Features (size, 6) around one centre a class, and the classes."""
    draw = np.random.default_rng(seed)
    labels = np.arange(size) % classes
    centres = draw.normal(size=(classes, 6)) * apart
    return (centres[labels] + draw.normal(size=(size, 6))).astype(np.float32), labels


def alone(
    learning: ClassifierSettings, penalty: float, features: Any, labels: Any, dev: Any, wanted: Any
) -> tuple[Any, float]:
    """One classifier by torch.nn and torch.optim, under SentEval's rules: its classes on `dev`, and their accuracy."""
    torch.manual_seed(learning.seed)
    draw = np.random.RandomState(learning.seed)
    sizes = [features.shape[1], *([learning.hidden] if learning.hidden else []), int(labels.max()) + 1]
    linear = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    model = torch.nn.Sequential(linear[0], *(part for one in linear[1:] for part in (torch.nn.Sigmoid(), one)))
    kinds = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}
    optimiser = kinds[learning.optimiser](model.parameters(), weight_decay=penalty)
    x, y, held = torch.from_numpy(features), torch.from_numpy(labels), torch.from_numpy(dev)
    best, choice, misses, done = -1.0, None, 0, 0
    while done <= learning.most_passes:
        for _ in range(learning.passes):
            order = draw.permutation(len(x))
            for start in range(0, len(x), learning.batch):
                places = order[start : start + learning.batch]
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(x[places]), y[places]).backward()
                optimiser.step()
        done += learning.passes
        with torch.no_grad():
            found = model(held).argmax(1).numpy()
        if (score := (found == wanted).mean()) > best:
            best, choice = score, found
        elif misses >= learning.tenacity:
            break
        else:
            misses += 1
    return choice, best


@pytest.mark.parametrize("learning", [QUICK, replace(QUICK, optimiser="rmsprop"), replace(QUICK, hidden=5)], ids=str)
def test_classifiers_trained_side_by_side_equal_those_trained_alone(learning: ClassifierSettings) -> None:
    features, labels = clouds(100)
    dev, wanted = clouds(40, seed=0)
    dev = dev + np.random.default_rng(9).normal(size=dev.shape).astype(np.float32)  # hard enough for early stopping
    penalties = (1e-5, 1e-2, 1.0)
    made, reached = fit(LabelledRows.of(features, labels), LabelledRows.of(dev, wanted), 3, penalties, learning)
    choices = made.choices(LabelledRows.of(dev, wanted)).numpy()
    for at, penalty in enumerate(penalties):
        choice, best = alone(learning, penalty, features, labels, dev, wanted)
        assert reached[at] == pytest.approx(best)
        assert (choices[:, at] == choice).all()
    assert len({tuple(column) for column in choices.T}) > 1  # the penalties do make a difference


@pytest.mark.parametrize("hidden", [0, 4])
def test_gradients_equal_those_of_autograd(hidden: int) -> None:
    features, labels = clouds(20)
    rows = LabelledRows.of(features, labels)
    penalties = [0.0, 0.5]
    made = classifier.Classifiers(6, 3, penalties, ClassifierSettings(hidden=hidden), "cpu")
    targets = torch.nn.functional.one_hot(rows.classes, 3).float()
    found = [each.clone() for each in made.gradients(rows.features, targets)]
    for weights in made.weights:
        weights.requires_grad_()
    losses = [torch.nn.functional.cross_entropy(made.scores(rows.features)[:, at], rows.classes) for at in (0, 1)]
    decay = 0.25 * sum((made.of_each(weights)[1] ** 2).sum() for weights in made.weights)
    (losses[0] + losses[1] + decay).backward()
    for weights, gradient in zip(made.weights, found, strict=True):
        assert torch.allclose(weights.grad, gradient, atol=1e-6)


def test_the_random_state_of_the_caller_is_unchanged() -> None:
    features, labels = clouds(30)
    torch.manual_seed(3)
    np.random.seed(3)
    wanted = torch.rand(1).item(), np.random.rand()
    torch.manual_seed(3)
    np.random.seed(3)
    fit(LabelledRows.of(features, labels), 0.2, 3, [0.1], QUICK)
    assert (torch.rand(1).item(), np.random.rand()) == wanted


@pytest.mark.parametrize(("size", "classes", "folds"), [(37, 2, 5), (90, 6, 10), (200, 3, 10)])
def test_folds_equal_those_of_scikit_learn(size: int, classes: int, folds: int) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    labels = np.random.default_rng(size).integers(classes, size=size) * 7 % 5
    theirs = selection.StratifiedKFold(folds, shuffle=True, random_state=1111).split(labels, labels)
    for ours, (_, test) in zip(transfer.stratified(labels, folds, 1111), theirs, strict=True):
        assert ours.tolist() == test.tolist()


def test_every_row_is_tested_once_and_never_trained_on_in_the_same_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels = clouds(60)
    marked = np.concatenate([features, np.arange(60, dtype=np.float32)[:, None]], axis=1)
    seen: list[set[float]] = []

    def watched(rows: LabelledRows, held_out: Any, *rest: Any) -> Any:
        seen.append(set(rows.features[:, 6].tolist()))
        if isinstance(held_out, LabelledRows):
            judges = set(held_out.features[:, 6].tolist())
            assert seen[-1].isdisjoint(judges)
            seen[-1] |= judges
        return fit(rows, held_out, *rest)

    monkeypatch.setattr(transfer, "fit", watched)
    result, total = solved(marked, labels)
    assert result.tested == 60 and total == len(seen) == 4 * 5
    left_out = [set(range(60)) - seen[at] for at in range(4, 20, 5)]  # by each fold's last classifier …
    for at, fold in enumerate(left_out):
        assert all(seen[5 * at + inner].isdisjoint(fold) for inner in range(4))  # … and by what chose its penalty
    assert sorted(place for fold in left_out for place in fold) == sorted(range(60))


def solved(features: Any, labels: Any) -> tuple[transfer.TransferResult, int]:
    texts = tuple(f"text {at}" for at in range(len(labels)))
    task = TransferTask("toy", {"all": LabelledTexts((texts,), tuple(labels.tolist()))}, ())
    calls: list[tuple[int, int]] = []
    settings = replace(QUICK, folds=4, penalties=(1e-4, 1e-2))
    result = transfer.run(task, lambda asked: features[: len(asked)], settings, report=lambda *at: calls.append(at))
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    return result, calls[-1][1]


def test_scores_are_near_those_of_scikit_learns_logistic_regression() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    features, labels = clouds(2500, apart=0.6)
    texts = tuple(f"text {at}" for at in range(2500))
    parts = {"train": LabelledTexts((texts[:1500],), tuple(labels[:1500].tolist())),
             "test": LabelledTexts((texts[1500:],), tuple(labels[1500:].tolist()))}  # fmt: skip
    by_text = dict(zip(texts, features, strict=True))
    found = transfer.run(TransferTask("toy", parts, ()), lambda asked: np.stack([by_text[text] for text in asked]))
    theirs = linear.LogisticRegression().fit(features[:1500], labels[:1500]).score(features[1500:], labels[1500:])
    assert 40 < found.accuracy < 95
    assert found.accuracy == pytest.approx(100 * theirs, abs=2)


def test_pairs_are_compared_by_difference_and_product_and_each_text_is_embedded_once() -> None:
    asked: list[str] = []

    def embed(texts: Any) -> Any:
        asked.extend(texts)
        return np.array([[float(text), 2 * float(text)] for text in texts], dtype=np.float32)

    found = transfer._features(LabelledTexts((("1", "3"), ("3", "0")), (0, 1)), embed)
    assert found.tolist() == [[2, 4, 3, 12], [3, 6, 0, 0]]
    assert asked == ["1", "3", "0"]


def test_f1_is_that_of_the_positive_class() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(1)
    found, wanted = draw.integers(2, size=(2, 50))
    assert transfer._f1(found, wanted) == pytest.approx(100 * metrics.f1_score(wanted, found), abs=0.005)
    assert math.isclose(transfer._f1(np.zeros(3), np.zeros(3)), 0)


def test_the_settings_are_sentevals() -> None:
    penalties = (1e-5, 1e-4, 1e-3, 1e-2)
    assert ClassifierSettings(0, "adam", 64, 5, 4, 200, 1111, 10, penalties) == transfer.FULL
    assert ClassifierSettings(0, "rmsprop", 128, 3, 2, 200, 1111, 5, penalties) == transfer.FAST


@pytest.mark.parametrize("name", SIZES)
def test_tasks_have_the_rows_of_senteval(data: Path, name: str) -> None:
    task = transfer_tasks.read(name, data)
    assert {part: len(rows) for part, rows in task.parts.items()} == SIZES[name]
    assert task.classes == {"TREC": 6, "SST5": 5}.get(name, 2)
    assert all(path.is_file() for path in task.files)
    for rows in task.parts.values():
        lengths = [len(text.split()) for text in rows.columns[0]]
        assert lengths == sorted(lengths)


def test_lines_are_read_in_the_format_of_each_task(tmp_path: Path) -> None:
    files = {
        "SST/fine/sentiment-train": "3 a good film\n0 no\n",
        "SST/fine/sentiment-dev": "1 so  so\n",
        "SST/fine/sentiment-test": "4 great\n",
        "TREC/train_5500.label": "NUM:dist How far is it : 3 ?\n",
        "TREC/TREC_10.label": "HUM:ind Who ?\n",
        "MRPC/msr_paraphrase_train.txt": "\ufeffQuality\t#1 ID\t#2 ID\t#1\t#2\n1\t7\t8\tOne .\tTwo .\n",
        "MRPC/msr_paraphrase_test.txt": "\ufeffQuality\t#1 ID\t#2 ID\t#1\t#2\n0\t7\t8\tThree\tFour\n",
        "CR/custrev.pos": "good\n",
        "CR/custrev.neg": "bad thing\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert transfer_tasks.read("SST5", tmp_path).parts["train"] == LabelledTexts((("no", "a good film"),), (0, 3))
    assert transfer_tasks.read("SST5", tmp_path).parts["dev"].columns == (("so so",),)
    assert transfer_tasks.read("TREC", tmp_path).parts["train"] == LabelledTexts((("How far is it : 3 ?",),), (5,))
    assert transfer_tasks.read("MRPC", tmp_path).parts["train"] == LabelledTexts((("One .",), ("Two .",)), (1,))
    assert transfer_tasks.read("CR", tmp_path).parts["all"] == LabelledTexts((("good", "bad thing"),), (1, 0))
    (tmp_path / "TREC/TREC_10.label").write_text("HUM:ind Who ?\nWHO:x Me\n")
    with pytest.raises(UsageError, match=r"TREC_10\.label:2: not a line of TREC"):
        transfer_tasks.read("TREC", tmp_path)
    (tmp_path / "SST/fine/sentiment-test").write_text("-1 great\n")
    with pytest.raises(UsageError, match=r"sentiment-test:1: not a line of SST/fine"):
        transfer_tasks.read("SST5", tmp_path)
    (tmp_path / "SST/fine/sentiment-test").write_bytes(b"1 gr\xffeat\n")
    with pytest.raises(UsageError, match="sentiment-test is not UTF-8"):
        transfer_tasks.read("SST5", tmp_path)


def test_unknown_tasks_absent_files_and_too_few_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'SST2'"):
        transfer_tasks.read("SST-2", tmp_path)
    with pytest.raises(NotFound, match=r"there is no MR/rt-polarity\.pos in"):
        transfer_tasks.read("MR", tmp_path)
    with pytest.raises(UsageError, match="3 rows cannot be split into 10 folds"):
        transfer.stratified([0, 1, 0], 10, 1111)
