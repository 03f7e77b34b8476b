"""The tables of the papers: all of them are there, their figures are the printed ones, and their rows run."""

from __future__ import annotations

import copy
import importlib
import json
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip("torch")

WANTED = {
    *(f"cot-bert-{number}" for number in (2, 3, 4, 5, 6)),
    *(f"promptbert-{number}" for number in (*range(1, 11), 12, 13)),  # 11 is a list of words
    *(f"prompts-{number}" for number in (1, 2, 4, 5, 6, 7)),
    *(f"cosent-{number}" for number in (1, 2)),
    *(f"sg-{number}" for number in (1, 2, 3, 4, "figure-4", 5, 6, 7, 10, 11)),  # 8 and 9 are settings
}
# read off the papers by eye, one figure or more of each table: (table, row, column, figure)
PRINTED = [
    ("cot-bert-2", "RoBERTa base: CoT-RoBERTa", "Avg.", 80.62),
    ("cot-bert-2", "BERT base: CoT-BERT", "STS12", 72.56),
    ("cot-bert-2", "Non-BERT: GloVe(avg.)", "SICK-R", 53.76),
    ("cot-bert-3", "only suffix", "BERT base", 78.83),
    ("cot-bert-4", "CoT-BERT (without a_{i+j-})", "RoBERTa base", 80.30),
    ("cot-bert-5", "PromptBERT", "Uniformity", -1.2033),
    ("cot-bert-6", "CoT-BERT (position denoise)", "BERT base", 78.89),
    ("promptbert-1", "Last layer avg.: roberta-base", "Sentence anisotropy", 0.9554),
    ("promptbert-2", "bert-base-cased", "average cosine similarity", 0.1465),
    ("promptbert-3", "– Freq. & Sub. & Case & Pun.", "roberta", 67.64),
    ("promptbert-4", "Searching for prefix tokens: This sentence : “[X]” means [MASK] .", "STS-B dev.", 73.44),
    ("promptbert-5", "Prompt based BERT (manual&OptiPrompt)", "STS13", 79.96),
    ("promptbert-6", "Supervised models: PromptRoBERTa base", "STS14", 82.28),
    ("promptbert-7", "i am sad.", "Top-5 tokens", "sad,sadness,happy,love,happiness"),
    ("promptbert-8", "different templates", "RoBERTa base", 78.17),
    ("promptbert-9", "avg. Top-200 tokens", "denoising", 60.39),
    ("promptbert-10", "SimCSE-BERT base", "Min", 73.50),
    ("promptbert-12", "Static token embeddings of untying model", "Avg.", 49.41),
    ("promptbert-13", "Supervised models: PromptRoBERTa", "SST-2", 92.53),
    ("prompts-5", "Knowledge Enhancement, LLaMA2 7B, Direct Inference", "Memory Usage", 39),
    ("prompts-1", "3 [MASK], EOS ????", "STS-B dev", 75.37),
    ("prompts-2", "Mistral 7b: PromptSUM", "Direct Inference", 61.91),
    ("prompts-4", "LLaMA2 7b: Knowledge Enhancement", "Avg.", 77.14),
    ("prompts-6", "OPT 13b: Knowledge Enhancement", "Spearman", 75.58),
    ("prompts-7", "Pretended CoT, layer -2", "Uniformity", -1.5817),
    ("cosent-1", "Sentence-RoBERTa", "PAWSX", 44.10),
    ("cosent-2", "BERT+CoSENT", "STS-B", 73.91),
    ("sg-1", "SBERT-large: + Contrastive (SG), CLS", "SICK-R", 76.44),
    ("sg-2", "MBERT: + Contrastive (SG-OPT)", "Spanish", 82.74),
    ("sg-3", "MBERT: + Contrastive (SG)", "English (Track 5)", 78.24),
    ("sg-4", "BERT-large: + SG-OPT", "TREC", 94.65),
    ("sg-figure-4", "SG-OPT, NLI", "STS-B", 75.40),
    ("sg-5", "- Projection head (f)", "STS Tasks (Avg.)", 72.78),
    ("sg-6", "+ Contrastive (SG-OPT)", "Inference (sec.)", 10.51),
    ("sg-7", "BERT-base: + Contrastive (BT + SG-OPT), CLS", "Avg.", 75.10),
    ("sg-10", "BERT-base", "COLA", 56.63),
    ("sg-11", "RoBERTa-large: + Contrastive (SG), CLS", "STS12", 64.77),
]
# averages that the papers print otherwise than their rows say
KNOWN_OFF = {
    ("cot-bert-2", "BERT base: PromptBERT", 78.54),
    ("promptbert-6", "Unsupervised models: PromptBERT base", 78.54),
    ("promptbert-13", "Unsupervised models: Avg. BERT embedding", 84.94),
    ("promptbert-6", "Supervised models: SBERT base", 74.89),
    ("sg-1", "BERT-large: + Flow, Mean-2", 70.07),
}


@pytest.fixture(scope="module")
def modules() -> Iterator[SimpleNamespace]:
    """The script and its modules, as it imports them."""
    names = ("tables", "jobs", "measures", "running", "report", "claims", "data")
    found: dict[str, ModuleType] = {name: importlib.import_module(f"scripts.papers.{name}") for name in names}
    yield SimpleNamespace(script=importlib.import_module("scripts.papers.reproduce"), **found)
    for name in [each for each in sys.modules if each.startswith("scripts.")]:
        del sys.modules[name]


@pytest.fixture
def tiny(
    modules: SimpleNamespace, golden: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SimpleNamespace:
    """The small setting with two steps on a tiny BERT of random weights, and the script to run it by."""
    content = copy.deepcopy(modules.jobs.content())
    for module in (modules.jobs, modules.running):
        monkeypatch.setattr(module, "content", lambda: content)
    content["small"] |= {
        "settings": {"steps": 2, "batch_size": 4, "max_length": 8},
        "texts": 50,
        "pairs": 10,
        "labelled": 20,
        "anisotropy": 20,
    }
    for run in content["runs"].values():
        if "small" in run:
            run["small"] = {key: value for key, value in run["small"].items() if key == "data"}
    base, out = str(golden / "models" / "tiny-bert"), tmp_path / "out"

    def run(*told: str) -> int:
        given = ["--setting", "small", "--base", base, "--data", str(data), "--out", str(out), "--device", "cpu"]
        result: int = modules.script.main([*told, *given])
        return result

    return SimpleNamespace(run=run, out=out, base=base, **vars(modules))


def test_every_table_is_there(modules: SimpleNamespace) -> None:
    assert modules.tables.tables().keys() == WANTED


def test_the_published_figures_are_those_of_the_paper(modules: SimpleNamespace) -> None:
    tables = modules.tables.tables()
    for name, title, column, figure in PRINTED:
        (row,) = (one for one in tables[name].rows if one.title == title)
        assert row.published[tables[name].columns.index(column)] == figure, (name, title, column)


def test_a_printed_average_is_the_mean_of_its_row(modules: SimpleNamespace) -> None:
    # a slip in a digit would show here; averages are printed of unrounded figures, so a hundredth may be off
    off = set()
    for table in modules.tables.tables().values():
        for row in table.rows:
            *parts, mean = row.published
            averaged = row.cells[-1].measure in {*modules.tables.MEANS, "row-mean"} and len(parts) >= 5
            if averaged and abs(mean - sum(parts) / len(parts)) > 0.0101:
                off.add((table.name, row.title, mean))
    assert off == KNOWN_OFF


def test_every_run_is_made_of_what_the_package_has(modules: SimpleNamespace, golden: Path) -> None:
    from semsearch.prompts import library
    from semsearch.training import objectives

    jobs = modules.jobs
    models = dict.fromkeys(jobs.content()["bases"], "model")
    for table in modules.tables.tables().values():
        for cell in table.cells:
            job = jobs.job(cell, "full", models)
            assert set(job.options) <= set(objectives.default_options(job.method) if job.method else ())
            for name in (job.training_template, job.inference_template):
                text = jobs.template(name).partition("template=")[2] or jobs.template(name)
                assert not text or library.resolve(text).text, f"{table.name}: {cell}"


def test_the_full_setting_is_the_recipe_of_the_method(modules: SimpleNamespace) -> None:
    from semsearch.training import objectives

    for name in ("promptbert", "cot-bert", "optiprompt", "sg-opt", "cosent", "simcse", "simcse-sup"):
        run = modules.jobs.content()["runs"][name]
        paper = objectives.load(run["method"]).hyperparameters
        told = {key: value["bert"] if isinstance(value, dict) else value for key, value in run["settings"].items()}
        assert {key: getattr(paper, key) for key in told} == told, name


@pytest.mark.parametrize(
    "table", ["sg-7", *(pytest.param(name, marks=pytest.mark.long) for name in ("cot-bert-3", "promptbert-8"))]
)
def test_a_table_of_trained_rows_runs(tiny: SimpleNamespace, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tiny.run(table, "--seeds", "0") == 0
    shown = capsys.readouterr().out
    told = tiny.tables.tables()[table]
    ours = [line.split("|")[3].strip() for line in shown.splitlines() if line.startswith("| | ours |")]
    assert [figure != "–" for figure in ours] == [bool(row.cells[0].run) for row in told.rows], shown
    assert all(f"{row.published[0]:.2f}" in shown for row in told.rows)


def test_a_run_that_is_there_is_read_and_not_run_again(
    tiny: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.run("cot-bert-4", "--seeds", "0,1")
    first = capsys.readouterr().out
    records = sorted((tiny.out / "small").glob("*.json"))
    assert [path.name for path in records] == [
        f"cot-bert{loss}--bert--seed-{seed}.json" for loss in ("", "-two-blocks") for seed in (0, 1)
    ]
    monkeypatch.setattr(tiny.running.Workshop, "_measured", lambda *_: pytest.fail("it was run again"))
    tiny.run("cot-bert-4", "--seeds", "0,1")
    assert capsys.readouterr().out == first
    told = json.loads(records[0].read_text())
    assert told["seed"] == 0 and told["machine"] and told["settings"]["settings"]["steps"] == 2


def test_other_settings_are_another_run(tiny: SimpleNamespace) -> None:
    tiny.run("cot-bert-4", "--seeds", "0")
    path = tiny.out / "small" / "cot-bert--bert--seed-0.json"
    before = json.loads(path.read_text())
    tiny.jobs.content()["small"]["settings"]["steps"] = 1
    tiny.run("cot-bert-4", "--seeds", "0")
    after = json.loads(path.read_text())
    assert (before["settings"]["settings"]["steps"], after["settings"]["settings"]["steps"]) == (2, 1)


def test_what_cannot_be_run_says_why(tiny: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    for table, reason in (
        ("cosent-1", "the small setting has one model, a BERT, and this is bert-base-chinese"),
        ("sg-2", "the Spanish and Arabic tasks of SemEval are not here"),
        ("prompts-6", "facebook/opt-350m"),
        ("promptbert-12", "the authors did not publish the two models"),
        ("promptbert-13", "the small setting leaves out the transfer tasks"),
    ):
        assert tiny.run(table, "--seeds", "0") == 0
        assert reason in capsys.readouterr().out


def test_the_mlm_head_is_measured_beside_the_static_vectors(
    tiny: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.run("promptbert-12", "--seeds", "0", "--base", f"bert-untied={tiny.base}")
    rows = [
        line.split("|")[3].strip() for line in capsys.readouterr().out.splitlines() if line.startswith("| | ours |")
    ]
    assert math.isfinite(float(rows[0])) and math.isfinite(float(rows[1])) and rows[2] == "–"


def test_memory_is_that_of_a_gpu(tiny: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    assert tiny.run("prompts-5", "--seeds", "0") == 0
    shown = capsys.readouterr().out
    assert torch.cuda.is_available() or "this is the memory of a GPU, and there is none" in shown


def test_the_chinese_data_are_missed_by_name(tiny: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.run("cosent-1", "--seeds", "0", "--base", f"bert-chinese={tiny.base}")
    assert "the Chinese data are not here: senteval_cn/ATEC/ATEC.train.data" in capsys.readouterr().out


def test_the_full_setting_asks_for_a_gpu(
    modules: SimpleNamespace, golden: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one")
    told = ["--base", str(golden / "models" / "tiny-bert"), "--base", "roberta=nowhere/at-all", "--data", str(data)]
    modules.script.main(["cot-bert-4", *told, "--out", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "needs a GPU" in shown and "79.11" in shown


def test_list_names_every_table_and_what_it_needs(modules: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    modules.script.main(["list"])
    shown = capsys.readouterr().out
    assert all(f"| {name} |" in shown for name in WANTED)
    assert "hf:bert-base-uncased, hf:roberta-base; wiki1m" in shown


@pytest.mark.parametrize(
    ("differences", "margins", "trained", "verdict"),
    [
        ([2.0, 2.0, 3.0], [1.0, 1.9, 0.1], True, "holds"),
        ([-2.0, -2.0, -3.0], [1.0, 1.0, 1.0], True, "does not hold"),
        ([2.0, 2.0, 3.0], [1.0, 2.1, 1.0], True, "undecided"),  # in one seed it may be chance
        ([2.0, -2.0, 3.0], [1.0, 1.0, 1.0], True, "undecided"),  # one seed disagrees
        ([9.0, 9.0], [1.0, 1.0], True, "undecided"),  # two seeds are not enough
        ([9.0, 9.0, 9.0], [1.0, math.nan, 1.0], True, "undecided"),  # the cosines of one were not kept
        ([2.0], [1.0], False, "holds"),
        ([2.0], [3.0], False, "undecided"),
        ([], [], True, "not measured"),
    ],
)
def test_a_verdict_on_trained_runs_needs_three_seeds_that_agree_beyond_chance(
    modules: SimpleNamespace, differences: list[float], margins: list[float], trained: bool, verdict: str
) -> None:
    seeds = tuple(modules.claims.Seed(70 + one, 70, margin) for one, margin in zip(differences, margins, strict=True))
    assert modules.claims.Comparison(seeds, trained).verdict == verdict


def test_a_comparison_tells_means_the_largest_margin_and_seeds(modules: SimpleNamespace) -> None:
    seed = modules.claims.Seed
    one = modules.claims.Comparison((seed(72, 73, 0.5), seed(73, 72, 0.7), seed(74, 71, 0.6)))
    assert (one.means, one.difference, one.margin, one.above) == ((73, 72), 1, 0.7, 2)


def test_the_figure_of_an_untrained_model_goes_with_every_seed_of_another(modules: SimpleNamespace) -> None:
    shared, as_is = modules.script._shared, modules.running.AS_IS
    assert shared({0: 70.0, 1: 71.0, 2: 72.0}, {as_is: 60.0}) == [0, 1, 2]
    assert shared({0: 70.0, 2: 72.0}, {1: 60.0, 2: 61.0}) == [2]
    assert shared({as_is: 70.0}, {as_is: 60.0}) == [as_is]
    assert shared({}, {as_is: 60.0}) == [] == shared({}, {0: 1.0})


def test_the_claims_name_runs_that_there_are(modules: SimpleNamespace) -> None:
    known = {*modules.jobs.content()["runs"], "cls"}
    claims = modules.claims.claims("small")
    assert {run for claim in claims for pair in claim.pairs for run in pair} <= known and len(claims) >= 6


def test_a_mean_over_tasks_is_that_of_their_printed_figures(modules: SimpleNamespace) -> None:
    tasks = modules.tables.MEANS["sts"]
    scores = dict.fromkeys(tasks, 70.004) | {"stsb": 77.006}
    assert modules.running.whole(scores)["sts"] == pytest.approx((6 * 70.00 + 77.01) / 7)
    assert "sts" not in modules.running.whole({"stsb": 77.0})


@pytest.fixture
def real(tiny: SimpleNamespace, golden: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The real setting on tiny models of random weights, with two claims, and the script to run it by."""
    tiny.jobs.content()["real"] |= {
        "settings": {"steps": 2, "batch_size": 4, "max_length": 8},
        "texts": 50,
        "pairs": 12,
        "labelled": 10,
    }
    kept = ("Pretended CoT and Knowledge Enhancement against PromptEOL", "Tuning without labels against none")
    claims = [claim for claim in tiny.claims.claims("real") if claim.name in kept]
    chosen = [replace(claim, pairs=claim.pairs[-2:-1], published=claim.published[-2:-1]) for claim in claims]
    monkeypatch.setattr(tiny.claims, "claims", lambda setting: chosen)
    models = golden / "models"
    given = ["--base", f"smollm2={models / 'tiny-opt'}", "--base", f"minilm={models / 'tiny-bert'}"]

    def run(*told: str) -> int:
        usual = ["--setting", "real", *given, "--data", str(data), "--out", str(tiny.out), "--device", "cpu"]
        result: int = tiny.script.main([*told, *usual])
        return result

    return SimpleNamespace(**{**vars(tiny), "run": run})


def test_the_claims_on_real_weights_have_the_published_figures_and_go_on_where_they_stopped(
    real: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert real.run("claims", "--seeds", "0,1") == 0
    first, told = capsys.readouterr()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in first.splitlines() if line.startswith("| ")]
    untrained = next(row for row in rows if row[:3] == ["smollm2", "Pretended CoT", "PromptEOL"])
    assert "66.16 / 65.03 (OPT 350m)" in untrained[3] and untrained[7] == "–" and float(untrained[6]) > 0
    trained = next(row for row in rows if row[:3] == ["minilm", "SimCSE", "[CLS], untrained"])
    assert trained[7].endswith("of 2") and trained[8] in ("**holds**", "**does not hold**", "**undecided**")
    assert "Comparisons not measured: 1, of these claims: Tuning without labels against none (bge-small)." in first
    assert "the real setting has smollm2, minilm, and this is bge-small-en-v1.5" in told
    monkeypatch.setattr(real.running.Workshop, "_measured", lambda *_: pytest.fail("it was run again"))
    page = real.out / "page.md"
    page.write_text("before\n<!-- claims --setting real -->\nold\n<!-- end of claims --setting real -->\nafter\n")
    assert real.run("claims", "--known", "--write", str(real.out / "claims-real.md")) == 1
    capsys.readouterr()
    real.run("claims", "--seeds", "0,1", "--known", "--write", str(page))
    assert capsys.readouterr().out == first
    assert page.read_text().startswith("before\n") and page.read_text().endswith(" -->\nafter\n")
    assert "old" not in page.read_text() and first.strip() in page.read_text()
    (real.out / "real" / "simcse--minilm--seed-1.json").unlink()
    real.run("claims", "--seeds", "0,1", "--known")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    seeds, verdict = next(row for row in rows if row[:2] == ["minilm", "SimCSE"])[7:]
    assert seeds in ("0 of 1", "1 of 1") and verdict == "**undecided**"


def test_the_margin_of_a_difference_is_that_of_its_pairs(modules: SimpleNamespace) -> None:
    gold = [at / 40 for at in range(40)]
    exact, noisy = gold, [gold[(7 * at) % 40] for at in range(40)]
    margin = modules.claims.margin_of([(exact, noisy, gold)])
    assert modules.claims.margin_of([(exact, exact, gold)]) == 0 and 10 < margin < 100
    assert modules.claims.margin_of([(exact, noisy, gold)] * 4) == pytest.approx(margin / 2, rel=0.2)  # of their mean
    one = modules.claims.Comparison((modules.claims.Seed(100.0, 0.0, margin),), trained=False)
    assert (one.verdict, one.margin) == ("holds", margin)


def test_every_claim_about_real_weights_names_runs_and_models_that_there_are(modules: SimpleNamespace) -> None:
    from semsearch.prompts import library

    content, told = modules.jobs.content(), modules.tables.read("real")
    for claim in modules.claims.claims("real"):
        assert set(claim.bases) <= set(content["bases"]) and len(claim.published) == len(claim.pairs)
        for cell in claim.cells:
            job = modules.jobs.job(cell, "real", dict.fromkeys(claim.bases, "model"))
            name = job.inference_template.partition("template=")[2] or job.inference_template
            assert job.method or library.resolve(modules.jobs.template(name)).text
            assert cell.run in told["titles"]


def test_an_interrupted_run_ends_without_a_traceback(
    real: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(real.running.Workshop, "_measured", interrupted)
    assert real.run("claims", "--seeds", "0") == 130
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.splitlines()[-1] == "interrupted: the same command goes on from here"


def test_the_threads_of_a_run_can_be_limited(tiny: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    limited: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", limited.append)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setattr(tiny.script, "_claims", lambda *_, known: os.environ["OMP_NUM_THREADS"])
    assert tiny.run("claims", "--threads", "2") == 0
    assert limited == [2] and (tiny.out / "claims-small.md").read_text() == "2"


def test_the_real_setting_is_for_the_claims(real: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert real.run("cot-bert-4") == 1
    assert "claims --setting real" in capsys.readouterr().err
