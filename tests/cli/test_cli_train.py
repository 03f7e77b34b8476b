"""`semsearch train`: what it reads, what it says, what it leaves, and what it refuses before anything is loaded."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from helpers.checkpoints import shallow

from semsearch.encoders.encoder import Encoder
from semsearch.models import bundle as bundles

if TYPE_CHECKING:
    from helpers.commandline import CommandLine, Ran

QUICK = ("--steps", 2, "--batch-size", 8, "--eval-every", 2, "--device", "cpu")
THINGS = ("bridge", "river", "winter", "repair", "car", "house", "music", "cat", "dog", "bread", "salt", "knot")


def sentence(at: int) -> str:
    return " ".join(THINGS[(at * 7 + each * (1 + at % 5)) % len(THINGS)] for each in range(8)) + f" number {at}"


@pytest.fixture
def bert(cli: CommandLine, golden: Path) -> Path:
    """./bert in the current folder."""
    pytest.importorskip("torch")
    return shallow(golden, "tiny-bert", Path("bert"), layers=1)


@pytest.fixture
def texts() -> Path:
    Path("texts.txt").write_text("".join(f"{sentence(at)}\n" for at in range(40)))
    return Path("texts.txt")


@pytest.fixture
def nli() -> Path:
    words = ("entailment", "neutral", "contradiction")
    rows = [f"{sentence(at)}\t{sentence(at + 50 * (1 + each))}\t{words[each]}" for at in range(12) for each in range(3)]
    Path("nli.tsv").write_text("\n".join(["premise\thypothesis\tlabel", *rows]) + "\n")
    return Path("nli.tsv")


def told(cli: CommandLine, *args: object, **how: Any) -> tuple[dict[str, Any], str]:
    """The object on stdout under "train", and stderr."""
    ran = cli.ok("train", *args, *QUICK, "--json", **how)
    assert ran.json["schema"] == 1
    return ran.json["train"], ran.err


def refused(ran: Ran, code: int, *said: str) -> None:
    error = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert (ran.code, ran.out, len(error)) == (code, "", 1), ran.err
    assert "Traceback" not in ran.err
    assert all(word in error[0] for word in said), error[0]


# What it trains


def test_a_text_file_trains_an_encoder_that_can_be_named_anywhere(cli: CommandLine, bert: Path, texts: Path) -> None:
    found, err = told(cli, "--method", "cotbert", "--base", bert, "--data", texts, "-o", "out")
    assert (found["folder"], found["method"], found["base"], found["steps"]) == ("out", "cotbert", "bert", 2)
    assert [each["seed"] for each in found["seeds"]] == [0]
    assert found["score"] == found["seeds"][0]["score"] and found["deviation"] is None
    assert (found["export"], found["index"]) == (None, None)
    assert "data: texts.txt, 40 texts" in err
    assert "validation: MRR@10 on halves of held-out texts: 10 of 40 examples\n" in err
    assert cli.ok("models", "info", "out", "--json").json["model"]["method"] == "cot_bert"
    assert cli.ok("embed", "a cat", "-m", "out", "--format", "jsonl").out


def test_no_dev_text_is_trained_on(cli: CommandLine, bert: Path, texts: Path) -> None:
    told(cli, "--method", "cotbert", "--base", bert, "--data", texts, "-o", "out")
    assert json.loads(Path("out/run/settings.json").read_text())["examples"]["count"] == 30


def test_several_seeds_have_a_mean_and_the_best_goes_on(cli: CommandLine, bert: Path, texts: Path) -> None:
    how = ("--method", "cotbert", "--base", bert, "--data", texts, "-o", "out", "--learning-rate", "1e-2")
    found, err = told(cli, *how, "--seeds", "1,2,3", "-v")
    assert [f"cotbert seed {seed}: step 2 of 2" in err for seed in (1, 2, 3)] == [True] * 3
    scores = {each["seed"]: each["score"] for each in found["seeds"]}
    best = max(scores, key=lambda seed: scores[seed])
    assert min(scores.values()) < max(scores.values()) and found["folder"] == f"out/seed-{best}"
    assert found["score"] == pytest.approx(sum(scores.values()) / 3, abs=1e-3) and found["deviation"] > 0
    assert json.loads(Path("out/summary.json").read_text())["mean"] == pytest.approx(found["score"], abs=1e-4)
    others = [str(seed) for seed in scores if seed != best]
    again, err = told(cli, *how, "--seeds", ",".join([*others, str(best)]), "-v", "--index", texts)
    assert again["fingerprint"] == found["fingerprint"] and "step" not in err  # what is done is not done again
    assert cli.ok("info", "texts", "--json").json["recipe"]["encoder"] == str(Path(found["folder"]).resolve())


def test_an_index_of_another_encoder_is_refused_before_anything_is_trained(
    cli: CommandLine, bert: Path, texts: Path
) -> None:
    cli.ok("index", texts)
    ran = cli("train", "--method", "cotbert", "--base", bert, "--data", texts, "-o", "out", *QUICK, "--index", texts)
    refused(ran, 2, "an index called texts exists", "another encoder", "-n")
    assert not Path("out").exists()


def test_an_export_and_an_index_come_in_the_same_command(cli: CommandLine, bert: Path, texts: Path) -> None:
    Path("notes").mkdir()
    Path("notes/a.txt").write_text("The bridge needs repair in winter.\n")
    how: tuple[object, ...] = ("--method", "cotbert", "--base", bert, "--data", texts, "-o", "out")
    trained, _ = told(cli, *how)
    how = (*how, "--export", "onnx", "--index", "notes")
    found, err = told(cli, *how)
    assert found["seconds"] == trained["seconds"] and found["fingerprint"] == trained["fingerprint"]  # not done again
    assert found["export"] == {"folder": "out/onnx", "fingerprint": found["fingerprint"], "dtype": "fp32"}
    assert bundles.read(Path("out/onnx")).origin["trained"]["method"] == "cotbert"
    trained, exported = (Encoder.load(folder, device="cpu").encode(["A bridge."]) for folder in ("out", "out/onnx"))
    assert np.abs(trained - exported).max() < 1e-4
    assert found["index"]["name"] == "notes" and found["index"]["documents"]["added"] == 1
    assert "new index notes" in err
    assert cli.ok("query", "a bridge", "-n", "notes", "--json").json["encoder"]["fingerprint"] == found["fingerprint"]
    assert cli.ok("info", "notes", "--json").json["recipe"]["encoder"] == str(Path("out/onnx").resolve())
    again, err = told(cli, *how)
    assert again["index"]["documents"]["unchanged"] == 1 and "tracing" not in err
    ran = cli("train", *how, *QUICK, "--force")
    refused(ran, 2, "an index called notes", "semsearch rm notes")


def test_the_passages_of_an_index_are_data(cli: CommandLine, bert: Path) -> None:
    Path("notes").mkdir()
    for at in range(12):
        Path(f"notes/{at}.txt").write_text(f"{sentence(at).capitalize()}. {sentence(at + 20).capitalize()}.\n")
    cli.ok("index", "notes")
    how = ("--method", "cotbert", "--base", bert, "--from-index", "notes", "--validation", "none")
    _, err = told(cli, *how, "-o", "whole")
    assert "data: index notes, 12 texts" in err and "validation: none" in err
    _, err = told(cli, *how, "-o", "parts", "--granularity", "sentences")
    assert "data: index notes, 24 texts" in err


def test_labelled_pairs_suit_each_method_in_its_way(cli: CommandLine, bert: Path, nli: Path) -> None:
    def trained(method: str, *more: object) -> tuple[dict[str, Any], str]:
        return told(cli, "--method", method, "--base", f"{bert}#cls", "--data", nli, "-o", method, *more)

    found, err = trained("supervised")
    assert "data: nli.tsv (premise, hypothesis, label), 36 pairs with labels" in err
    assert "read as 12 triplets" in err and found["measure"].startswith("MRR@10")
    found, err = trained("cosent")
    assert "read as" not in err and found["measure"].startswith("Spearman")
    found, err = trained("simcse", "--validation", "none")
    assert "read as 48 texts" in err and (found["measure"], found["score"]) == ("", None)


def test_a_column_of_classes_is_found_beside_one_of_scores(cli: CommandLine, bert: Path) -> None:
    words = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")
    rows = [f"{at}\t{sentence(at)}\t{sentence(at + 40)}\t{at / 10:.1f}\t{words[at % 3]}" for at in range(30)]
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    Path("SICK.txt").write_text("\n".join([head, *rows]) + "\n")
    told(
        cli, "--method", "softmax", "--base", f"{bert}#mean", "--data", "SICK.txt", "-o", "out", "--validation", "none"
    )
    assert "entailment_judgment" in json.loads(Path("out/run/settings.json").read_text())["examples"]["source"]


def test_distillation_has_the_base_for_a_teacher_or_another(cli: CommandLine, bert: Path, texts: Path) -> None:
    how = ("--method", "distil", "--data", texts, "--validation", "none")
    found, err = told(cli, *how, "--base", f"{bert}#cot-bert", "-o", "one")
    assert "teacher: bert#mean" in err
    _, err = told(cli, *how, "--base", "one#mean", "-o", "two")
    assert "teacher: one\n" in err
    _, err = told(cli, *how, "--base", bert, "--template", "cls", "-o", "three", "--teacher", "hashing")
    assert "teacher: hashing" in err
    assert found["base"] == "bert#cot-bert"


def test_settings_and_options_reach_the_run(cli: CommandLine, bert: Path, texts: Path) -> None:
    told(
        cli,
        "--method",
        "cotbert",
        "--base",
        bert,
        "--data",
        texts,
        "-o",
        "out",
        "--validation",
        "held-out:4",
        "--seed",
        7,
        "--learning-rate",
        "1e-3",
        "--max-length",
        9,
        "--warmup",
        0.5,
        "--grad-cache-size",
        2,
        "--matryoshka-dims",
        "8,16",
        "--ema-decay",
        0.9,
        "--set",
        "temperature=0.1",
        "--set",
        "third=no",
        "--max-samples",
        30,
        "--precision",
        "bf16",
    )
    found = json.loads(Path("out/run/settings.json").read_text())
    assert (found["seed"], found["micro"], found["dims"], found["precision"]) == (7, 2, [8, 16], "bf16")
    assert (found["options"]["temperature"], found["options"]["third"]) == (0.1, False)
    recipe = {key: found["recipe"][key] for key in ("rate", "tokens", "warmup", "average", "batch", "eval_every")}
    assert recipe == {"rate": 1e-3, "tokens": 9, "warmup": 0.5, "average": 0.9, "batch": 8, "eval_every": 2}
    assert found["examples"]["count"] == 26


# What chooses the checkpoint


def test_stsb_dev_chooses_where_it_is_known(cli: CommandLine, bert: Path, texts: Path, data: Path) -> None:
    how = ("--method", "cotbert", "--base", bert, "--data", texts)
    found, err = told(cli, *how, "-o", "one", SEMSEARCH_DATA=str(data))
    assert found["measure"] == "Spearman on STS-B dev" and "validation: STS-B dev" in err
    found, err = told(cli, *how, "-o", "two", "--validation", "held-out", SEMSEARCH_DATA=str(data))
    assert "halves" in found["measure"]
    assert json.loads(Path("one/run/settings.json").read_text())["examples"]["count"] == 40


def test_a_file_can_choose(cli: CommandLine, bert: Path, texts: Path) -> None:
    Path("dev.tsv").write_text("".join(f"{sentence(at)}\t{sentence(at + 1)}\t{at}\n" for at in range(6)))
    found, _ = told(cli, "--method", "cotbert", "--base", bert, "--data", texts, "-o", "out", "--validation", "dev.tsv")
    assert found["measure"] == "Spearman on dev.tsv"


def test_a_test_set_chooses_nothing_unless_the_user_says_yes(cli: CommandLine, bert: Path, texts: Path) -> None:
    Path("sts-test.tsv").write_text("".join(f"{sentence(at)}\t{sentence(at + 1)}\t{at}\n" for at in range(6)))
    how = ("--method", "cotbert", "--base", bert, "--data", texts, "-o", "out", "--validation", "sts-test.tsv")
    refused(cli("train", *how, *QUICK), 2, "sts-test.tsv looks like a test set", "-y")
    _, err = told(cli, *how, "-y")
    assert "warning: sts-test.tsv looks like a test set" in err


def test_training_on_a_test_set_is_pointed_out(cli: CommandLine, bert: Path, texts: Path) -> None:
    texts.rename("my-test.txt")
    how = ("--method", "cotbert", "--base", bert, "--data", "my-test.txt", "-o", "out", "--validation", "none")
    assert "warning: my-test.txt looks like a test set" in told(cli, *how)[1]


def test_texts_that_are_shared_are_on_one_side_alone(cli: CommandLine, bert: Path) -> None:
    rows = [f"{sentence(at // 3)}\t{sentence(at + 40)}" for at in range(30)]
    Path("pairs.tsv").write_text("\n".join(["query\tpassage", *rows]) + "\n")
    how = ("--method", "supervised", "--base", f"{bert}#mean", "--data", "pairs.tsv", "-o", "out")
    _, err = told(cli, *how, "--validation", "held-out:3")
    kept = json.loads(Path("out/run/settings.json").read_text())["examples"]["count"]
    assert f"3 of 30 examples; {27 - kept} more are skipped, since they share a text" in err and 21 <= kept < 27


def test_texts_too_short_to_choose_by_are_said_to_be(cli: CommandLine, bert: Path) -> None:
    Path("short.txt").write_text("".join(f"word {at}\n" for at in range(20)))
    how = ("--method", "cotbert", "--base", bert, "--data", "short.txt", "-o", "out")
    found, err = told(cli, *how)
    assert found["score"] is None and "validation: none, because" in err
    refused(cli("train", *how, *QUICK, "--force", "--validation", "held-out"), 2, "6 words")


def test_where_stsb_is_not_the_flag_of_train_is_named(cli: CommandLine, bert: Path, texts: Path) -> None:
    """--data is what is trained on."""
    how = ("--method", "cotbert", "--base", bert, "--data", texts, "-o", "out", "--validation", "stsb")
    refused(cli("train", *how, *QUICK, "--data-dir", "nowhere"), 3, "nowhere", "--data-dir DIR")


# What it says


def test_stdout_has_the_result_and_stderr_the_rest(cli: CommandLine, bert: Path, texts: Path) -> None:
    how = ("train", "--method", "cotbert", "--base", bert, "--data", texts, *QUICK)
    ran = cli.ok(*how, "-o", "one", "-v")
    assert [line.split()[0] for line in ran.lines] == ["folder", "method", "base", "score", "step", "fingerprint"]
    assert "cotbert: step 2 of 2, loss " in ran.err and " left" in ran.err
    quiet = cli.ok(*how, "-o", "two", "-q")
    assert quiet.err == "" and quiet.lines
    usual = cli.ok(*how, "-o", "three")
    assert "preparing: the first step" in usual.err and "data:" in usual.err
    assert " of 2, loss " not in usual.err


def test_long_texts_of_which_little_is_read_are_pointed_out(cli: CommandLine, bert: Path) -> None:
    Path("long.txt").write_text("".join(" ".join(sentence(at + each) for each in range(8)) + "\n" for at in range(12)))
    how = ("--method", "cotbert", "--base", bert, "--data", "long.txt", "--validation", "none")
    assert "training reads only 32 tokens" in told(cli, *how, "-o", "one")[1]
    assert "training reads" not in told(cli, *how, "-o", "two", "--max-length", 120)[1]


# What it refuses


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--method", "simsce"], 2, ["no training method is called 'simsce'", "'simcse'", "sg-opt"]),
        (["--base", "./nothing"], 3, ["nothing"]),
        (["--base", "default"], 2, ["ONNX weights cannot be trained"]),
        (["--base", "hashing"], 2, ["no weights to train"]),
        (["--data", "nothing.txt"], 3, ["nothing.txt does not exist"]),
        (["--from-index", "notes"], 2, ["--data and --from-index exclude each other"]),
        (["--columns", "anchor=x"], 2, ["no column 'x'"]),
        (["--columns", "ancor=x"], 2, ["'anchor'"]),
        (["--teacher", "x"], 2, ["cotbert has no teacher"]),
        (["--seeds", "0,x"], 2, ["--seeds"]),
        (["--seeds", "1,1"], 2, ["repeats"]),
        (["--seed", "1", "--seeds", "1,2"], 2, ["exclude each other"]),
        (["--matryoshka-dims", "a"], 2, ["--matryoshka-dims"]),
        (["--seeds", "²"], 2, ["not a list of whole numbers"]),
        (["--validation", "held-out:²"], 2, ["held-out:200"]),
        (["--validation", "nothing.tsv"], 3, ["nothing.tsv", "held-out"]),
        (["--validation", "held-out:x"], 2, ["held-out:200"]),
        (["--set", "third"], 2, ["KEY=VALUE"]),
        (["-n", "notes"], 2, ["--index PATH"]),
        (["--index", "nothing"], 3, ["nothing does not exist"]),
        (["-o", "texts.txt"], 2, ["texts.txt is a file"]),
        (["-o", "full"], 2, ["full is not empty"]),
        (["--template", "nothing-like-it"], 2, ["nothing-like-it"]),
        (["--labels", "a,b"], 2, ["no labels"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_one_error_before_torch_is_loaded(
    args: list[str], code: int, said: list[str], cli: CommandLine, bert: Path, texts: Path
) -> None:
    Path("full").mkdir()
    Path("full/a.txt").write_text("mine")
    Path("table.csv").write_text("sentence1,sentence2\na,b\n")
    usual = {"--method": "cotbert", "--base": "bert", "--data": "texts.txt", "-o": "out"}
    if args[0] in ("--columns", "--labels"):
        usual["--data"] = "table.csv"
    whole = [each for pair in ({**usual, args[0]: args[1]}).items() for each in pair] + args[2:]
    refused(cli("train", *whole), code, *said)
    assert not Path("out").exists()


def test_torch_is_not_loaded_for_what_can_be_known_without(bert: Path, texts: Path) -> None:
    told = (["--method", "simsce"], ["--base", "default"], ["--data", "x.txt"], ["--columns", "ancor=x"], ["-h", "-h"])
    usual = {"--method": "cotbert", "--base": "bert", "--data": "texts.txt", "-o": "out"}
    lines = [["train", *(word for pair in {**usual, key: value}.items() for word in pair)] for key, value in told]
    script = "import json, sys; from semsearch.cli.main import main\n"
    script += "for line in json.loads(sys.argv[1]): main(line); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script, json.dumps(lines)], capture_output=True, text=True)
    assert [line for line in ran.stdout.splitlines() if line in ("True", "False")] == ["False"] * len(told), ran.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--method", "supervised"], ["needs a column positive", "texts.txt"]),
        (["--method", "cosent"], ["needs", "texts.txt"]),
        (["--method", "qlora"], ["kind causal"]),
        (["--set", "temprature=1"], ["no option of cotbert is called 'temprature'", "'temperature'"]),
        (["--set", "temperature=warm"], ["has to be a number"]),
        (["--set", "temperature=0"], ["temperature of cotbert cannot be 0.0"]),
        (["--learning-rate", "0"], ["rate"]),
        (["--ema-decay", "2"], ["below 1"]),
    ],
    ids=" ".join,
)
def test_what_the_method_refuses_is_one_error_too(
    args: list[str], said: list[str], cli: CommandLine, bert: Path, texts: Path
) -> None:
    usual = {"--method": "cotbert", "--base": "bert", "--data": "texts.txt", "-o": "out"}
    whole = [each for pair in ({**usual, args[0]: args[1]}).items() for each in pair]
    refused(cli("train", *whole), 2, *said)
    assert not Path("out").exists()


def test_a_missing_package_is_named_with_its_extra(
    cli: CommandLine, bert: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else found(name, *rest)
    )
    ran = cli("train", "--method", "cotbert", "--base", bert, "--data", texts, "-o", "out")
    refused(ran, 1, "train needs PyTorch", "[train]'")


def test_an_error_is_an_object_for_programs(cli: CommandLine, bert: Path) -> None:
    ran = cli("train", "--method", "cotbert", "--base", bert, "--data", "nothing.txt", "-o", "out", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, 3)


def test_another_run_in_the_folder_is_not_overwritten(cli: CommandLine, bert: Path, texts: Path) -> None:
    how = ("--method", "cotbert", "--base", bert, "--data", texts, "-o", "out")
    before, _ = told(cli, *how)
    refused(cli("train", *how, *QUICK, "--learning-rate", "1e-3"), 2, "rate", "--force")
    after, _ = told(cli, *how, "--learning-rate", "1e-3", "--force")
    assert before["fingerprint"] != after["fingerprint"]


# Cut off


def test_a_run_that_was_stopped_goes_on_with_the_same_command(
    cli: CommandLine, bert: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from semsearch.cli import main
    from semsearch.training import runs

    how = ["train", "--method", "simcse", "--base", "bert", "--data", "texts.txt", "-o", "out", "--batch-size", "4",
           "--device", "cpu", "--validation", "none", "--eval-every", "10000", "--steps", "80"]  # fmt: skip
    append = runs.append_metrics

    def append_and_stop(*line: Any) -> None:
        append(*line)
        os.kill(os.getpid(), signal.SIGTERM)

    usual = signal.signal(signal.SIGTERM, main._terminate)  # as `semsearch` does where it starts
    try:
        with monkeypatch.context() as changed:
            changed.setattr(runs, "append_metrics", append_and_stop)
            ran = cli(*how)
    finally:
        signal.signal(signal.SIGTERM, usual)
    assert (ran.code, ran.out) == (128 + signal.SIGTERM, ""), ran.err
    assert "the same command continues the run" in ran.err
    reached = int(ran.err.partition("stopped at step ")[2].split()[0])
    metrics = Path("out/run/metrics.jsonl")
    before = metrics.read_text().splitlines()
    cli.ok(*how)
    after = metrics.read_text().splitlines()
    assert after[: len(before)] == before  # with their seconds: nothing was done again
    steps = [line["step"] for line in map(json.loads, after)]
    assert steps == list(range(10, 81, 10)) and 10 <= reached < 80
