"""`semsearch templates`: list, show, lint and search, as a user meets them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers.commandline import CommandLine
from helpers.models import minilm

from semsearch.prompts.library import resolve, templates

T2 = 'This sentence : "[X]" means [MASK] .'
PAIRS = (
    "a man is playing a guitar\ta man plays guitar\t5\na cat\tthe dog said\t1\na kid\ta kid is here\t3\nsnow\ta\t0\n"
)


@pytest.fixture(scope="module")
def bert(golden: Path) -> Path:
    return golden / "models" / "tiny-bert"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "dev.tsv"
    path.write_text(PAIRS, encoding="utf-8")
    return path


def test_the_whole_library_is_listed(cli: CommandLine) -> None:
    found = cli.ok("templates", "list", "--json").json["templates"]
    assert [one["name"] for one in found] == list(templates())
    by_name = {one["name"]: one for one in found}
    assert by_name["promptbert"]["text"] == templates()["promptbert"].text["query"]
    lines = cli.ok("templates", "list").lines
    assert lines[0].split() == ["name", "method", "models", "text"] and len(lines) == len(found) + 1


def test_the_list_can_be_narrowed(cli: CommandLine) -> None:
    causal = cli.ok("templates", "list", "--kind", "causal", "--json").json["templates"]
    assert {"prompteol", "mean"} <= {one["name"] for one in causal} and "promptbert" not in str(causal)
    several = cli.ok("templates", "list", "--method", "n_mask", "--json").json["templates"]
    assert len(several) == 20
    assert cli("templates", "list", "--method", "n_maks").code == 2


def test_show_tells_source_rules_and_what_a_sentence_becomes(cli: CommandLine) -> None:
    found = cli.ok("templates", "show", "prompteol", "--sentence", 'Is it "new"?', "--json").json["template"]
    assert "https://arxiv.org/abs/2307.16645" in found["source"] and found["rules"]["overwrite"] == "?"
    assert found["sample"]["text"] == 'This sentence : "Is it \'new\'." means in one word:"'
    assert "example " in cli.ok("templates", "show", "prompteol").out


def test_show_with_a_model_tells_tokens_and_cost(cli: CommandLine, bert: Path) -> None:
    found = cli.ok("templates", "show", "cot-bert", "-m", bert, "--json").json["template"]["sample"]
    inside = [each["token"] for each in found["tokens"] if each["part"] == "sentence"]
    assert inside == ["a", "man", "is", "playing", "a", "guitar", "."]
    assert found["cost"] == len(found["tokens"]) - len(inside) == 18
    assert found["left"] == found["max_tokens"] - 18
    assert "18 of" in cli.ok("templates", "show", "cot-bert", "-m", bert).out


def test_an_unknown_name_is_a_usage_error_with_the_nearest(cli: CommandLine) -> None:
    ran = cli("templates", "show", "prompt-bert")
    assert ran.code == 2 and "Did you mean 'promptbert'" in ran.err


def test_a_clean_template_ends_with_0_and_an_error_with_5(cli: CommandLine) -> None:
    assert "ok" in cli.ok("templates", "lint", "masks-1").lines[1]
    assert cli("templates", "lint", "[X] means [MASK]").code == 0  # a warning alone
    ran = cli("templates", "lint", T2, "This sentence means [MASK] .", "[X] means <mask> .")
    assert ran.code == 5 and "2 templates have an error" in ran.err
    assert "error: there is no slot" in ran.out and "Write [MASK]" in ran.out


def test_lint_as_json_has_a_code_for_each_finding(cli: CommandLine) -> None:
    ran = cli("templates", "lint", "[X] means", "--method", "promptbert", "--json")
    assert ran.code == 5
    (one,) = ran.json["templates"]
    assert one["method"] == "promptbert" and ran.json["faulty"] == 1
    assert set(one["findings"][0]) == {"severity", "code", "message", "fix"}
    assert (one["findings"][0]["severity"], one["findings"][0]["code"]) == ("error", "masks")


def test_lint_reads_every_template_of_a_file(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[templates.good]\ntext = '[X] is [MASK] .'\n[templates.bad]\ntext = 'no slot'\n", encoding="utf-8")
    ran = cli("templates", "lint", path, "--json")
    assert ran.code == 5
    assert {one["name"]: len(one["findings"]) for one in ran.json["templates"]} == {"good": 0, "bad": 1}
    assert cli("templates", "lint", f"{path}:good").code == 0


def test_lint_with_a_model_knows_what_fits_it(cli: CommandLine, bert: Path) -> None:
    ran = cli("templates", "lint", "promptroberta", "-m", bert, "--json")
    found = {each["code"]: each for each in ran.json["templates"][0]["findings"]}
    assert ran.code == 0 and found["kind"]["severity"] == "warning"
    assert "10 of 320 tokens" in found["cost"]["message"]
    opt = bert.parent / "tiny-opt"
    assert cli("templates", "lint", "promptbert", "-m", opt).code == 5
    assert cli("templates", "lint", "prompteol", "-m", opt).code == 0


def test_an_encoder_whose_tokenizer_has_no_mask_is_no_decoder(cli: CommandLine, bert: Path, tmp_path: Path) -> None:
    shutil.copytree(bert, tmp_path / "bert", copy_function=shutil.copyfile)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        path = tmp_path / "bert" / file
        without = path.read_text("utf-8").replace("[MASK]", "[MOSK]").replace("mask_token", "other_token")
        path.write_text(without, "utf-8")
    ran = cli("templates", "lint", "promptbert", "-m", tmp_path / "bert", "--json")
    found = {each["code"]: each["message"] for each in ran.json["templates"][0]["findings"]}
    assert ran.code == 5 and "[MASK]" in found["no-token"] and "masks" not in found


def test_several_templates_without_their_table_are_told_how_to_write_them(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text("[a]\ntext = '[X]'\n[b]\ntext = '[X] .'\n", "utf-8")
    ran = cli("templates", "show", f"{tmp_path / 'two.toml'}:b")
    assert ran.code == 2 and "[templates.a]" in ran.err


def test_search_wants_a_model_whose_template_is_free(cli: CommandLine, pairs: Path) -> None:
    ran = cli("templates", "search", "-m", "default", "--data", pairs)
    assert ran.code == 2 and "-m MODEL" in ran.err and "default" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("lint",), 2),
        (("lint", "x.toml"), 3),
        (("lint", T2, "--method", "prompt"), 2),
        (("lint", T2, "-m", "nowhere"), 3),
        (("search", "-m", "hashing"), 2),
        (("show", "[X] [X]"), 2),
    ],
)
def test_bad_usage_has_its_exit_code_and_one_line(cli: CommandLine, arguments: tuple[str, ...], code: int) -> None:
    ran = cli("templates", *arguments)
    assert ran.code == code and ran.err.startswith("error: ") and "Traceback" not in ran.err


def test_search_ranks_the_grid_and_prints_the_best(cli: CommandLine, bert: Path, pairs: Path) -> None:
    pytest.importorskip("torch")
    asked = ("templates", "search", "-m", bert, "--data", pairs, "--device", "cpu")
    lists = ("--prefixes", "[X]", "--prefixes", '"[X]"', "--relations", "means", "--endings", ".", "--endings", "!")
    found = cli.ok(*asked, *lists, "--full", "--json").json
    scores = [one["spearman"] for one in found["candidates"]]
    assert len(scores) == 4 and scores == sorted(scores, reverse=True)
    assert found["best"] == found["candidates"][0]["template"] and found["pairs"] == 4
    lines = cli.ok(*asked, *lists).lines
    assert lines[0].split() == ["rank", "spearman", "stage", "template"]
    assert lines[-1].startswith("--template '")


def test_the_best_template_is_written_and_can_be_used(
    cli: CommandLine, bert: Path, pairs: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    relations, out = tmp_path / "relations", tmp_path / "best.toml"
    relations.write_text("means\n\nis\n", encoding="utf-8")
    asked = ("templates", "search", "-m", f"{bert}#denoise=position,template=promptbert", "--data", pairs)
    found = cli.ok(*asked, "--relations", relations, "--prefixes", "[X]", "--endings", ".", "-o", out, "--json").json
    tried = {one["template"] for one in found["candidates"]}
    assert tried == {"[X] means [MASK] .", "[X] [MASK] .", "[X] is [MASK] ."}
    best = resolve(str(out))
    assert best.text["query"] == found["best"] and best.rules == templates()["promptbert"].rules
    assert cli("templates", "lint", out).code == 0
    assert cli.ok("sts", "a man", "a kid", "-m", f"{bert}#{out}", "--device", "cpu").out


def test_search_without_labels_ranks_by_alignment_and_uniformity(cli: CommandLine, bert: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    texts, out = tmp_path / "texts.txt", tmp_path / "best.toml"
    texts.write_text("a man plays\nthe cat is here\n\na kid said\nthe dog is a man\nguitar\n", encoding="utf-8")
    asked = ("templates", "search", "-m", bert, "--texts", texts, "--device", "cpu", "--seeds", "0,1", "--full")
    lists = ("--prefixes", "[X]", "--prefixes", '"[X]"', "--relations", "means", "--endings", ".")
    found = cli.ok(*asked, *lists, "-o", out, "--json").json
    scores = [-(one["alignment"] + one["uniformity"]) for one in found["candidates"]]
    assert (found["texts"], found["seeds"], len(scores)) == (5, [0, 1], 2) and scores == sorted(scores, reverse=True)
    for one, score in zip(found["candidates"], scores, strict=True):
        assert sum(one["by_seed"]) / 2 == pytest.approx(score, abs=1e-3)
    assert "alignment" in cli.ok(*asked, *lists).lines[0]
    assert resolve(str(out)).text["query"] == found["best"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ((), "there are no pairs"),
        (("--texts", "t.txt", "--data", "p.tsv"), "both passed"),
        (("--texts", "test.txt"), "test set"),
        (("--data", "p.tsv", "--seeds", "one"), "no list of seeds"),
    ],
)
def test_what_a_search_is_judged_by_is_checked(cli: CommandLine, bert: Path, told: tuple[str, ...], said: str) -> None:
    ran = cli("templates", "search", "-m", bert, *told)
    assert ran.code == 2 and said in ran.err


def test_templates_with_other_masks_than_the_method_reads_are_refused(
    cli: CommandLine, bert: Path, pairs: Path
) -> None:
    asked = ("templates", "search", "-m", bert, "--data", pairs, "--relations", "is", "--relations", "[MASK] [MASK]")
    ran = cli(*asked)
    assert ran.code == 2 and "reads 1 [MASK]" in ran.err


def test_a_test_set_is_refused_until_one_says_so(cli: CommandLine, bert: Path, pairs: Path) -> None:
    pytest.importorskip("torch")
    test = pairs.with_name("sts-test.tsv")
    test.write_text(PAIRS, encoding="utf-8")
    asked = ("templates", "search", "-m", bert, "--relations", "is", "--prefixes", "[X]", "--endings", ".", "--data")
    ran = cli(*asked, test)
    assert ran.code == 2 and "test set" in ran.err
    assert "test set" in cli.ok(*asked, test, "-y").err
    latest = pairs.with_name("latest.tsv")
    latest.write_text(PAIRS, encoding="utf-8")
    assert "test set" not in cli.ok(*asked, latest).err


@pytest.mark.parametrize(("content", "told"), [("x\ty\n", "1 of 1 pairs"), ("x\ty\t1\n", "two pairs"), ("", "no pair")])
def test_pairs_without_scores_are_refused(cli: CommandLine, pairs: Path, content: str, told: str) -> None:
    pairs.write_text(content, encoding="utf-8")
    ran = cli("templates", "search", "-m", "default", "--data", pairs)
    assert ran.code == 2 and told in ran.err


@pytest.mark.slow
def test_search_reads_sentevals_dev_set_and_real_weights(cli: CommandLine, data: Path) -> None:
    pytest.importorskip("torch")
    asked = ("templates", "search", "-m", minilm(), "--max-samples", "24", "--relations", "means", "--endings", ".",
             "--prefixes", "[X]", "--prefixes", 'This sentence : "[X]"', "--device", "cpu", "--json")  # fmt: skip
    by_folder = cli.ok(*asked, "--data", data).json
    by_file = cli.ok(*asked, "--data", data / "sts" / "senteval" / "STS" / "STSBenchmark" / "sts-dev.csv").json
    assert by_folder["candidates"] == by_file["candidates"] and by_file["pairs"] == 24
    assert all(20 < one["spearman"] < 100 for one in by_file["candidates"])
