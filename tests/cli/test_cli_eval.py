"""`eval` and its tasks, and `sts --task`, through the command line, on a toy of every kind of data."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.commandline import CommandLine

import semsearch.evaluation.papers
from semsearch.cli.commands import EVAL
from semsearch.cli.evaluate import eval_command
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import UsageError
from semsearch.evaluation import geometry, report, sts_pairs, sts_task
from semsearch.evaluation.sts_benchmarks import SUBSETS

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = (CHECKOUT / "docs" / "evaluation.md").read_text(encoding="utf-8")
NOUNS = ("kettle", "garden", "engine", "violin", "planet", "harbour", "pencil", "tunnel", "basket", "glacier")


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """STS-B, SICK-R, STS13, CR, MRPC and a collection in BEIR's layout, a few lines of each."""
    root = tmp_path / "data"
    pairs = [(f"the {a} is here", f"the {b} is here", 5.0 - at % 6 if a == b else at % 3 / 2)
             for at, (a, b) in enumerate((a, b) for a in NOUNS[:4] for b in NOUNS[:4])]  # fmt: skip
    scored = "".join(f"main\tx\ty\t{at}\t{score}\t{a}\t{b}\n" for at, (a, b, score) in enumerate(pairs))
    sick = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n"
    sick += "".join(f"{at}\t{a}\t{b}\t{score}\n" for at, (a, b, score) in enumerate(pairs[::2]))
    files = {
        "sts/senteval/STS/STSBenchmark/sts-test.csv": scored,
        "sts/senteval/STS/STSBenchmark/sts-dev.csv": scored.replace("here", "there"),
        "sts/senteval/SICK/SICK_test_annotated.txt": sick,
        "CR/custrev.pos": "".join(f"a good {noun} {at}\n" for noun in NOUNS for at in range(5)),
        "CR/custrev.neg": "".join(f"a bad {noun} {at}\n" for noun in NOUNS for at in range(5)),
        "MRPC/msr_paraphrase_train.txt": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
                                         + "".join(f"{int(a == b)}\t1\t2\tthe {a}\tone {b}\n"
                                                   for a in NOUNS for b in NOUNS),
        "MRPC/msr_paraphrase_test.txt": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
                                        "1\t1\t2\tthe sea\tthat sea\n0\t1\t2\tthe sea\tthat hill\n",
        "tiny/beir/corpus.jsonl": "".join(json.dumps({"_id": noun, "text": f"About the {noun}."}) + "\n"
                                          for noun in NOUNS),
        "tiny/beir/queries.jsonl": "".join(json.dumps({"_id": f"q{noun}", "text": noun}) + "\n" for noun in NOUNS),
        "tiny/beir/qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
                                    + "".join(f"q{noun}\t{noun}\t1\n" for noun in NOUNS),
    }  # fmt: skip
    for at, name in enumerate(SUBSETS["sts13"]):
        some = pairs[at::3]
        files[f"sts/senteval/STS/STS13-en-test/STS.input.{name}.txt"] = "".join(f"{a}\t{b}\n" for a, b, _ in some)
        files[f"sts/senteval/STS/STS13-en-test/STS.gs.{name}.txt"] = "".join(f"{score}\n" for *_, score in some)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("SEMSEARCH_DATA", str(root))
    return root


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> Path:
    """An index called transfer, as the task is, and judgements of it."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for noun in NOUNS:
        (folder / f"{noun}.md").write_text(f"Everything about the {noun}.\n", encoding="utf-8")
    cli.ok("index", folder, "-n", "transfer")
    (tmp_path / "q.tsv").write_text("q1\tkettle\n")
    (tmp_path / "qrels").write_text("q1 0 kettle.md 1\n")
    return tmp_path


def test_an_index_is_measured_as_ever_even_one_that_is_called_as_a_task(cli: CommandLine, notes: Path) -> None:
    asked = ["--queries", notes / "q.tsv", "--qrels", notes / "qrels", "--json"]
    found = cli.ok("eval", "-n", "transfer", *asked).json
    assert found["index"] == "transfer" and found["modes"]["keyword"]["nDCG@10"] == 1
    assert cli.ok("eval", *asked).json == found
    (notes / "home" / "transfer").rename(notes / "home" / "mine")
    assert cli.ok("eval", "mine", *asked).json["index"] == "mine"
    refused = cli("eval", *asked[:-1], "transfer")
    assert refused.code == 2 and "has to follow eval directly" in refused.err


def test_a_copy_that_was_folded_into_a_hit_counts_as_found(cli: CommandLine, notes: Path) -> None:
    (notes / "notes" / "copy.md").write_text((notes / "notes" / "kettle.md").read_text())
    cli.ok("index", notes / "notes", "-n", "transfer")
    (notes / "qrels").write_text("q1 0 kettle.md 1\nq1 0 copy.md 1\n")
    found = cli.ok("eval", "--queries", notes / "q.tsv", "--qrels", notes / "qrels", "--json").json
    assert {mode: one["recall@100"] for mode, one in found["modes"].items()} == dict.fromkeys(found["modes"], 1)


def test_what_is_measured_of_an_index_can_be_written_down(cli: CommandLine, notes: Path) -> None:
    asked = ["eval", "--queries", notes / "q.tsv", "--qrels", notes / "qrels", "--report", notes / "runs"]
    told = cli.ok(*asked, "--json").json["modes"]
    runs = cli.ok("eval", "table", notes / "runs", "--json").json["runs"]
    assert {run["row"]["mode"]: run["scores"] for run in runs} == told
    assert {run["encoder"]["fingerprint"] for run in runs} == {HashingEncoder().fingerprint}
    assert all(len(run["data"]) == 2 and run["settings"]["k"] == 100 for run in runs)


def test_every_task_is_named_by_eval_completed_and_explains_itself(cli: CommandLine, notes: Path) -> None:
    told = cli.ok("eval", "--help").out
    for name, (_, summary) in EVAL.items():
        assert f"  eval {name} " in told
        shown = cli.ok("eval", name, "--help").out
        assert shown.startswith(f"Usage: semsearch eval {name} ")
        assert " ".join(shown.split("\n\n")[1].split()) == summary
        assert f"semsearch eval {name} " in DOCS, f"docs/evaluation.md has no example of eval {name}"
    context = SimpleNamespace(params={}, find_root=lambda: SimpleNamespace(params={}))
    named = eval_command.complete_first(context, "t")  # type: ignore[arg-type]
    assert named == ["transfer", "tokens", "table", "transfer"]  # the last is the index


def test_several_tasks_have_the_average_of_two_decimals(cli: CommandLine, toys: Path) -> None:
    found = cli.ok("sts", "--task", "stsb", "--task", "sickr", "--json").json
    assert found["tasks"] == ["stsb", "sickr"]
    whole = found["models"]["hashing"]
    scores = [round(whole["tasks"][task]["spearman"], 2) for task in found["tasks"]]
    assert whole["average"] == round(sum(scores) / 2, 2)
    assert whole["tasks"]["stsb"] == cli.ok("sts", "--task", "stsb", "--json").json["models"]["hashing"]
    head, row = cli.ok("sts", "--task", "stsb", "--task", "sickr").lines
    assert head.split() == ["model", "STS-B", "SICK-R", "Avg.", "of", "2"]
    assert row.split()[1:3] == [f"{score:.2f}" for score in scores]


def test_where_no_correlation_is_it_is_null_and_not_a_crash(cli: CommandLine, toys: Path, tmp_path: Path) -> None:
    """As where all gold scores of a task or of one subset are the same: its mean over subsets is none either."""
    gold = toys / "sts/senteval/STS/STS13-en-test/STS.gs.FNWN.txt"
    gold.write_text("3\n" * len(gold.read_text().splitlines()))
    found = cli.ok("sts", "--task", "sts13", "--json").json["models"]["hashing"]
    assert found["spearman"] is not None and found["subsets"]["FNWN"] == {"spearman": None, "pearson": None}
    assert found["aggregates"]["spearman"]["mean"] is None
    both = ["sts", "--task", "sts13", "--task", "stsb", "--aggregate", "mean"]
    assert cli.ok(*both, "--json").json["models"]["hashing"]["average"] is None
    assert cli.ok(*both, "--report", tmp_path / "run.json").lines[1].split()[1::2] == ["-", "-"]
    assert json.loads((tmp_path / "run.json").read_text())["table"]["STS13"] is None


def test_subsets_make_one_score_in_the_way_that_was_asked_for(cli: CommandLine, toys: Path) -> None:
    wanted = sts_task("sts13", HashingEncoder(), toys).spearman
    assert len({round(value, 4) for value in (wanted.all, wanted.mean, wanted.wmean)}) > 1
    for how in ("all", "mean", "wmean"):
        found = cli.ok("sts", "--task", "sts13", "--aggregate", how, "--json").json["models"]["hashing"]
        assert found["spearman"] == pytest.approx(getattr(wanted, how), abs=1e-4)
    plain = cli.ok("sts", "--task", "sts13", "--json").json["models"]["hashing"]
    assert plain["spearman"] == pytest.approx(wanted.all, abs=1e-4)


def test_a_split_is_another_file(cli: CommandLine, toys: Path) -> None:
    (toys / "sts/senteval/STS/STSBenchmark/sts-test.csv").unlink()
    assert cli.ok("sts", "--task", "stsb", "--split", "dev", "--json").json["models"]["hashing"]["pairs"] == 16
    missing = cli("sts", "--task", "stsb")
    assert missing.code == 3 and "sts-test.csv does not exist" in missing.err
    assert cli("sts", "--task", "sts13", "--split", "dev").code == 2


def test_a_run_holds_all_that_it_takes_to_repeat_it(cli: CommandLine, toys: Path, tmp_path: Path) -> None:
    cli.ok("sts", "--task", "stsb", "--report", tmp_path / "deep" / "run.json")
    run = json.loads((tmp_path / "deep" / "run.json").read_text(encoding="utf-8"))
    assert (run["schema"], run["run"]) == (1, "sts")
    assert run["encoder"]["fingerprint"] == HashingEncoder().fingerprint
    assert run["encoder"]["asked"] == run["encoder"]["reference"] == "hashing"
    content = (toys / "sts/senteval/STS/STSBenchmark/sts-test.csv").read_bytes()
    assert run["data"] == {"STSBenchmark/sts-test.csv": hashlib.sha256(content).hexdigest()}
    assert run["settings"] == {"tasks": ["stsb"], "split": "test", "aggregate": "all"}
    assert {"processor", "cores", "memory", "system", "libraries"} == set(run["machine"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", run["date"])
    assert "numpy " in run["machine"]["libraries"] and run["semsearch"]
    again = cli.ok("sts", "--task", "stsb", "--json").json["models"]["hashing"]
    assert run["scores"]["stsb"] == again
    assert str(tmp_path) not in json.dumps(run)  # whose machine it was is nobody's business


def test_a_folder_of_runs_keeps_each_and_shows_all(cli: CommandLine, toys: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    cli.ok("sts", "--task", "stsb", "--report", runs)
    cli.ok("sts", "--task", "stsb", "--report", runs)  # the same again takes its place
    cli.ok("sts", "--task", "sickr", "--task", "stsb", "--report", runs)
    cli.ok("sts", "--task", "sts13", "--aggregate", "mean", "--report", runs)
    assert len(list(runs.glob("*.json"))) == 3
    shown = (runs / "report.md").read_text(encoding="utf-8")
    assert shown == cli.ok("eval", "table", runs).out
    tables = shown.split("### sts")[1:]
    assert len(tables) == 2  # 'all' and 'mean' are not to be compared
    assert "| STS-B" in tables[0] and "SICK-R" in tables[0] and "STS13" in tables[1]
    assert len(re.findall(r"^\| hashing", tables[0], re.MULTILINE)) == 2
    cli.ok("eval", "table", runs, "-o", tmp_path / "all.md")
    assert (tmp_path / "all.md").read_text(encoding="utf-8") == shown
    assert len(cli.ok("eval", "table", runs, "--json").json["runs"]) == 3


def test_what_is_no_run_is_named(cli: CommandLine, tmp_path: Path) -> None:
    whole = {"run": "sts", "protocol": "", "date": "", "table": {}, "machine": {}, "encoder": {"name": "a"}}
    wrong = {
        "a.json": ('{"run": "sts"}', "is not a run: it has no date"),
        "b.json": ("{", "cannot be read as JSON"),
        "d.json": ("[]", "is not a run"),
        "e.json": (json.dumps(whole), "is not a run: it has no encoder.fingerprint"),
    }
    for name, (content, told) in wrong.items():
        (tmp_path / name).write_text(content)
        ran = cli("eval", "table", tmp_path / name)
        assert ran.code == 2 and told in ran.err
    assert cli("eval", "table", tmp_path / "c.json").code == 3
    (tmp_path / "empty").mkdir()
    assert cli("eval", "table", tmp_path / "empty").code == 3
    with pytest.raises(UsageError, match="2 runs do not go into one file"):
        report.write([{}, {}], tmp_path / "x.json")


def test_what_cannot_be_written_is_told_before_anything_is_measured(
    cli: CommandLine, toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_: object, **__: object) -> None:
        raise AssertionError("it was measured first")

    for module in ("lookup", "evaluate.sts_command"):
        monkeypatch.setattr(f"semsearch.cli.{module}.load_encoder", measured)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "package.json").write_text("{}")
    (tmp_path / "file").write_text("")
    two = ["-m", "hashing", "-m", "default"]
    commands = [["sts", "--task", "stsb"], ["eval", "geometry"], ["eval", "transfer", "--task", "CR"],
                ["eval", "retrieval", "--data", "tiny", "--mode", "keyword"]]  # fmt: skip
    for command in commands:
        assert "2 runs do not go into one file" in cli(*command, *two, "--report", tmp_path / "x.json").err
        assert "is not a run" in cli(*command, "--report", tmp_path / "other").err
        assert "is not a folder" in cli(*command, "--report", tmp_path / "file").err
    pytest.importorskip("matplotlib")
    drawing = (["sts", "--task", "stsb"], ["eval", "grid"], ["eval", "tokens", "tea"])
    for command in drawing:
        ran = cli(*command, "--figure", tmp_path / "x.pdf")
        assert ran.code == 2 and "x.pdf is not a PNG" in ran.err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in drawing:
        ran = cli(*command, "--figure", tmp_path / "x.png")
        assert ran.code == 1 and "which is not installed" in ran.err and "[train]'" in ran.err


def test_transfer_is_solved_from_vectors_alone(cli: CommandLine, toys: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    asked = ["eval", "transfer", "--task", "cr", "--fast"]
    (run,) = cli.ok(*asked, "--json", "--report", tmp_path / "runs").json["runs"]
    assert run["table"]["CR"] > 85  # good and bad are words of their own
    assert run["scores"]["CR"]["tested"] == 100
    assert (
        run["settings"] | {"folds": 5, "optimiser": "rmsprop", "batch": 128, "vectors": "of length 1"}
        == run["settings"]
    )
    assert set(run["data"]) == {"CR/custrev.pos", "CR/custrev.neg"}
    assert "| CR " in cli.ok(*asked, "--format", "md").out
    hidden = cli.ok(*asked, "--hidden", 5, "--json").json["runs"][0]
    assert "5 hidden units" in hidden["protocol"] and hidden["settings"]["hidden"] == 5
    for arguments, told in ((["--task", "SST"], "no transfer task"), (["--task", "MR"], "no MR/rt-polarity.pos")):
        assert told in cli("eval", "transfer", *arguments).err


def test_without_torch_the_extra_that_has_it_is_named(
    cli: CommandLine, toys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("classifier", "transfer", "layer_scores", "attribution")
    for name in names:  # which imports what is not there yet, as the package is lazy
        monkeypatch.delattr(semsearch.evaluation.papers, name, raising=False)
    for name in names:
        monkeypatch.delitem(sys.modules, f"semsearch.evaluation.papers.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    for arguments in (["transfer", "--task", "CR"], ["grid"], ["tokens", "tea"]):
        ran = cli("eval", *arguments)
        assert ran.code == 1 and "which is not installed" in ran.err and "[train]'" in ran.err


def test_retrieval_measures_a_collection_by_folder_or_by_name(cli: CommandLine, toys: Path) -> None:
    runs = cli.ok("eval", "retrieval", "--data", toys / "tiny" / "beir", "--json").json["runs"]
    assert [run["row"]["mode"] for run in runs] == ["hybrid", "semantic", "keyword"]
    for run in runs:
        assert run["table"] == {"nDCG@10": 1, "recall@100": 1, "MRR@10": 1, "MAP@100": 1}
        assert run["scores"]["tiny"]["documents"] == run["scores"]["tiny"]["queries"] == len(NOUNS)
        assert set(run["data"]) == {"beir/corpus.jsonl", "beir/queries.jsonl", "qrels/test.tsv"}
    (one,) = cli.ok("eval", "retrieval", "--data", "tiny", "--mode", "keyword", "--whole", "--json").json["runs"]
    assert one["table"] == runs[2]["table"] and "whole documents" in one["protocol"]
    assert not list((toys.parent / "home").glob("*"))  # nothing is left among the user's indexes


def test_several_collections_have_a_mean(cli: CommandLine, toys: Path, tmp_path: Path) -> None:
    shutil.copytree(toys / "tiny", toys / "other")
    qrels = toys / "other" / "beir" / "qrels" / "test.tsv"
    qrels.write_text("".join(f"q{noun}\tabsent\t1\n" for noun in NOUNS))
    (run,) = cli.ok(
        "eval", "retrieval", "--data", "tiny", "--data", "other", "--mode", "keyword", "--json"
    ).json["runs"]  # fmt: skip
    files = {f"{name}/beir/{file}" for name in ("tiny", "other") for file in ("corpus.jsonl", "queries.jsonl")}
    assert set(run["data"]) == files | {f"{name}/beir/qrels/test.tsv" for name in ("tiny", "other")}
    assert (run["table"]["tiny nDCG@10"], run["table"]["other nDCG@10"], run["table"]["mean nDCG@10"]) == (1, 0, 0.5)


def test_a_collection_may_be_called_anything_but_as_another(cli: CommandLine, toys: Path) -> None:
    shutil.copytree(toys / "tiny" / "beir", toys / "more" / ".tiny ü")
    cli.ok("eval", "retrieval", "--data", toys / "more" / ".tiny ü", "--mode", "keyword")
    shutil.copytree(toys / "tiny" / "beir", toys / "more" / "tiny")
    refused = cli("eval", "retrieval", "--data", "tiny", "--data", toys / "more" / "tiny")
    assert refused.code == 2 and "two collections are called tiny" in refused.err


def test_a_collection_that_is_not_there_names_those_that_are(cli: CommandLine, toys: Path) -> None:
    ran = cli("eval", "retrieval", "--data", "tinny")
    assert ran.code == 3 and "Available collections: tiny." in ran.err
    assert cli("eval", "retrieval").code == 2
    split = cli("eval", "retrieval", "--data", "tiny", "--split", "train")
    assert split.code == 3 and "Splits that exist: test." in split.err


def test_geometry_of_pairs_texts_and_an_index_is_that_of_their_vectors(
    cli: CommandLine, toys: Path, notes: Path
) -> None:
    (run,) = cli.ok("eval", "geometry", "--json").json["runs"]
    (subset,) = sts_pairs("stsb", toys).values()
    encoder = HashingEncoder()
    left, right = (encoder.encode([pair[side] for pair in subset.pairs]) for side in (0, 1))
    wanted = geometry.alignments(left, right, subset.gold)
    assert run["scores"]["alignment"]["> 4.0"] == {
        "value": pytest.approx(wanted["> 4.0"][0]),
        "pairs": wanted["> 4.0"][1],
    }
    both = geometry.unit(np.concatenate([left, right]))
    assert run["scores"]["uniformity"] == pytest.approx(geometry.uniformity(both))
    texts = [f"Everything about the {noun}." for noun in NOUNS]
    (notes / "texts.txt").write_text("\n".join([*texts, texts[0], ""]), encoding="utf-8")  # one twice: it counts once
    (own,) = cli.ok("eval", "geometry", "--texts", notes / "texts.txt", "--json").json["runs"]
    described = geometry.describe(encoder.encode(texts), [len(text.split()) for text in texts])
    assert own["scores"] == pytest.approx({key: None if np.isnan(value) else value for key, value in described.items()})
    (stored,) = cli.ok("eval", "geometry", "-n", "transfer", "--json").json["runs"]
    assert stored["encoder"]["fingerprint"] == encoder.fingerprint
    assert stored["scores"]["anisotropy"] == pytest.approx(own["scores"]["anisotropy"], abs=1e-3)
    assert stored["scores"]["effective_rank"] == pytest.approx(own["scores"]["effective_rank"], rel=1e-2)
    drawn = cli.ok("eval", "geometry", "-n", "transfer", "--sample", 4, "--json").json["runs"][0]
    assert "4 of 10 stored vectors" in drawn["protocol"]
    for other in (["-m", "hashing"], ["--layer", 0], ["--template", "cls"], ["--data", toys]):
        assert cli("eval", "geometry", "-n", "transfer", *other).code == 2


@pytest.mark.slow
def test_grid_and_tokens_tell_and_draw(cli: CommandLine, toys: Path, golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    model = golden / "models" / "tiny-bert"
    (run,) = cli.ok("eval", "grid", "-m", model, "--json", "--figure", tmp_path / "grid.png").json["runs"]
    assert run["scores"]["poolings"] == ["cls", "mean", "max"] and len(run["scores"]["layers"]) == 4
    assert run["scores"]["layers"][0][0] is None  # [CLS] is one vector before the first layer
    assert run["settings"]["split"] == "dev"
    assert (tmp_path / "grid.png").stat().st_size > 5000
    told = cli.ok("eval", "grid", "-m", model).lines
    assert told[0].split() == ["layer", "cls", "mean", "max"] and told[-1].startswith("best: layer ")
    asked = ["eval", "tokens", "a man is driving a car", "-m", f"{model}#promptbert", "-m", f"{model}#mean"]
    found = cli.ok(*asked, "--core", "car", "--figure", tmp_path / "tokens.png", "--json").json["models"]
    assert list(found) == [f"{model}#promptbert", f"{model}#mean"]
    for one in found.values():
        core = [part for part in one["tokens"] if part["core"]]
        assert one["core_share"] == pytest.approx(sum(part["share"] for part in core)) and core
    assert "core words contribute" in cli.ok(*asked, "--report", tmp_path / "runs").out
    runs = report.read([tmp_path / "runs"])
    assert {run["encoder"]["asked"] for run in runs} == set(found)
    assert all(run["settings"] == {"sentence": asked[2], "core": []} and run["table"]["core"] > 0 for run in runs)
    assert (tmp_path / "tokens.png").stat().st_size > 5000
    assert cli("eval", "tokens", "tea", "-m", "hashing").code == 2


def test_predictions_by_gold_score_are_drawn(cli: CommandLine, toys: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cli.ok("sts", "--task", "stsb", "--figure", tmp_path / "gold.png")
    assert (tmp_path / "gold.png").stat().st_size > 5000
    for arguments in (["--task", "stsb", "--task", "sickr"], ["a", "b"]):
        assert cli("sts", *arguments, "--figure", tmp_path / "no.png").code == 2
    assert cli("sts", "--task", "stsb", "--figure", tmp_path / "gold.svg").code == 2


def test_nobody_said_where_the_test_sets_are(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEMSEARCH_DATA", raising=False)
    for arguments in (["sts", "--task", "stsb"], ["eval", "transfer"], ["eval", "geometry"], ["eval", "grid"]):
        ran = cli(*arguments)
        assert ran.code == 2 and "SEMSEARCH_DATA" in ran.err


@pytest.mark.slow
def test_every_command_of_the_documentation_runs(cli: CommandLine, toys: Path, golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    shutil.copytree(toys / "tiny", toys / "cranfield")
    blocks: list[str] = re.findall(r"^```console\n(.*?)^```$", DOCS, flags=re.DOTALL | re.MULTILINE)
    commands = re.findall(r"^\$ semsearch (.*)$", "\n".join(blocks), flags=re.MULTILINE)
    models = golden / "models"
    places = {"BERT": models / "tiny-bert", "OPT": models / "tiny-opt", "OUT": tmp_path / "out", "CHECKOUT": CHECKOUT}
    assert len(commands) >= 12 and not re.search(r"@[A-Z_]+@", DOCS)  # every figure was filled in
    for command in commands:
        words = [re.sub(r"\$(\w+)", lambda found: str(places[found[1]]), word) for word in shlex.split(command)]
        assert cli.ok(*words).out.strip(), command
    assert {file.suffix for file in (tmp_path / "out").rglob("*.*")} == {".json", ".md", ".png"}
