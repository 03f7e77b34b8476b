"""Models on the command line: named anywhere, remembered by an index, refused in one line that says what to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.checkpoints import copied, pickled, rewrite

from semsearch import settings
from semsearch.errors import UsageError
from semsearch.models import local_models, model_folders

if TYPE_CHECKING:
    from helpers.commandline import CommandLine, Ran

TEMPLATE = "text = 'This sentence : \"[X]\" means [MASK] .'\n"


@pytest.fixture
def bert(cli: CommandLine, golden: Path) -> Path:
    """./bert in the current folder."""
    pytest.importorskip("torch")
    return copied(golden, "tiny-bert", Path("bert"))


@pytest.fixture
def notes() -> Path:
    Path("notes").mkdir()
    Path("notes/a.txt").write_text("A man is playing a guitar.\n")
    Path("notes/b.txt").write_text("A dog said nothing at all.\n")
    return Path("notes")


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


def refused(ran: Ran, code: int, *said: str) -> None:
    """One line on stderr, with the code and the words."""
    error = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert (ran.code, ran.out, len(error)) == (code, "", 1), ran.err
    assert "Traceback" not in ran.err
    assert all(word in error[0] for word in said), error[0]


# An index remembers


@pytest.mark.parametrize("how", [["-m", "./bert#cot-bert"], ["-m", "bert", "--template", "cot-bert"]], ids=" ".join)
def test_an_index_finds_its_model_from_another_folder(
    cli: CommandLine, bert: Path, notes: Path, how: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absolute = bert.resolve()
    cli.ok("index", notes, "-n", "notes", *how)
    elsewhere(tmp_path, monkeypatch)
    hits = cli.ok("query", "a man is playing a guitar", "-n", "notes", "--mode", "semantic", "--json").json["hits"]
    assert hits[0]["path"].endswith("a.txt") and hits[0]["strength"] is not None
    assert cli.ok("info", "notes", "--json").json["recipe"]["encoder"] == f"{absolute}#cot-bert"
    cli.ok("index", "-n", "notes")  # the update too


def test_a_template_file_is_found_again_and_its_change_is_noticed(
    cli: CommandLine, bert: Path, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path("mine.toml")
    file.write_text(TEMPLATE)
    absolute = file.resolve()
    cli.ok("index", notes, "-n", "notes", "-m", "bert", "--template", "mine.toml", "--dtype", "fp32")
    elsewhere(tmp_path, monkeypatch)
    cli.ok("query", "a guitar", "-n", "notes", "--mode", "semantic")
    absolute.write_text(TEMPLATE.replace(" .'", ".'"))  # one blank less
    ran = cli("query", "a guitar", "-n", "notes", "--mode", "semantic")
    refused(ran, 4, "mine.toml", "was built with encoder", "has changed since")
    absolute.unlink()
    refused(cli("query", "a guitar", "-n", "notes", "--mode", "semantic"), 3, "mine.toml")


def test_an_index_in_python_remembers_the_same(bert: Path, cli: CommandLine) -> None:
    from semsearch import Document, Index

    with Index.create("indexed", encoder="bert#max_tokens=64,template=cot-bert", home=Path.cwd()) as index:
        index.add([Document("a", "A man is playing a guitar.")])
        assert index.info()["recipe"]["encoder"] == f"{bert.resolve()}#max_tokens=64,template=cot-bert"
    with Index.open(Path.cwd() / "indexed") as index:
        assert index.search("a guitar", mode="semantic")[0].document == "a"


def test_another_template_than_that_of_an_index_is_a_mismatch(cli: CommandLine, bert: Path, notes: Path) -> None:
    cli.ok("index", notes, "-n", "notes", "-m", "bert#cot-bert")
    cli.ok("index", notes, "-n", "notes", "--template", "cot-bert")
    refused(cli("index", notes, "-n", "notes", "--template", "mean"), 4, "cot-bert", "mean")
    refused(cli("index", notes, "-n", "notes", "-m", "hashing"), 4, "hashing")


# Compare and embed


def test_several_models_and_templates_are_compared(cli: CommandLine, bert: Path) -> None:
    ran = cli.ok("sts", "a man", "a woman", "-m", "hashing", "-m", "bert#cot-bert", "-m", "bert#mean", "--json")
    models = ran.json["pairs"][0]["models"]
    assert list(models) == ["hashing", "bert#cot-bert", "bert#mean"]
    assert models["bert#cot-bert"] != models["bert#mean"]
    assert models["bert#mean"]["strength"] is not None and models["hashing"]["strength"] is None
    one = cli.ok("sts", "a man", "a woman", "-m", "bert", "--template", "cot-bert", "--json").json["pairs"][0]["models"]
    assert one["bert"]["cosine"] == models["bert#cot-bert"]["cosine"]


def test_a_template_that_the_model_was_not_tuned_for_is_no_broken_installation(cli: CommandLine, bert: Path) -> None:
    checks = cli.ok("doctor", "-m", "bert#cls", "--json").json["checks"]  # random weights: what is alike is not near
    assert [check["state"] for check in checks if check["check"] == "vectors"] == ["note"]


def test_a_model_without_a_name_is_shown_as_such(cli: CommandLine) -> None:
    refused(cli("embed", "a", "-m", ""), 2, "'' is not a valid value for --model")


def test_encoders_of_ones_own_are_listed_by_the_name_that_loads_them(cli: CommandLine, tmp_path: Path) -> None:
    home, shipped = tmp_path / "indexes", model_folders.ASSETS / model_folders.catalogue()["default"]["folder"]
    folder = local_models.models_dir(home) / "mine"
    shutil.copytree(shipped, folder)
    (entry,) = [
        one
        for one in cli.ok("--home", str(home), "models", "list", "--json").json["models"]
        if one["name"] == str(folder)
    ]
    assert entry["local"] and entry["kind"] == "encoder" and entry["dim"] == 384
    assert cli.ok("embed", "a", "-m", entry["name"]).out == cli.ok("embed", "a", "-m", "default").out
    (folder / "model.onnx").unlink()
    (folder / "encoder.json").write_text("{")
    assert str(folder) in cli.ok("--home", str(home), "models", "list").out


def test_embed_takes_a_template_of_ones_own(cli: CommandLine, bert: Path) -> None:
    own = 'This sentence : "[X]" means [MASK] .'
    first = cli.ok("embed", "a man", "-m", "bert", "--template", own).json["vector"]
    assert first == cli.ok("embed", "a man", "-m", f"bert#{own}").json["vector"]
    assert first != cli.ok("embed", "a man", "-m", "bert", "--template", own, "--layer", "1").json["vector"]


def test_the_model_and_its_template_can_be_a_setting(cli: CommandLine, bert: Path) -> None:
    told = cli.ok("models", "info", "--json", SEMSEARCH_MODEL="bert#cot-bert").json["model"]
    assert (told["method"], told["reference"]) == ("cot_bert", f"{bert.resolve()}#cot-bert")


def test_quiet_leaves_out_what_is_worth_knowing(cli: CommandLine, bert: Path) -> None:
    assert "no template was named" in cli.ok("embed", "a man", "-m", "bert").err
    assert cli.ok("embed", "a man", "-m", "bert", "-q").err == ""


# What is refused


def test_a_model_that_is_not_there_offers_near_names(cli: CommandLine, bert: Path) -> None:
    refused(cli("embed", "a", "-m", "./bret"), 3, "there is no folder ./bret", "Did you mean 'bert'?")
    refused(cli("embed", "a", "-m", "all-MiniLM-L6"), 3, "Did you mean 'all-MiniLM-L6-v2'?")
    refused(cli("embed", "a", "-m", "nowhere/at/all"), 3, "models list")
    Path("empty").mkdir()
    refused(cli("embed", "a", "-m", "./empty"), 3, "is no model", "encoder.json")


def test_what_is_wrong_with_a_folder_is_one_line(cli: CommandLine, bert: Path, golden: Path) -> None:
    refused(cli("embed", "a", "-m", "bert#prompteol"), 2, "is for decoders", "--template")
    opt = str(golden / "models" / "tiny-opt")
    refused(cli("embed", "a", "-m", f"{opt}#promptbert"), 2, "is a decoder", "--template prompteol")
    refused(
        cli("embed", "a", "-m", "default", "--template", "mean"), 2, "an exported encoder has its template built in"
    )
    refused(cli("embed", "a", "-m", "bert", "--dtype", "fp8"), 2, "dtype cannot be 'fp8'")
    refused(cli("embed", "a", "-m", "bert#mean", "--layer", "9"), 2, "layer 9", "the model has 3")
    (bert / "tokenizer.json").write_text("{}")
    refused(cli("embed", "a", "-m", "bert#mean"), 1, "is not a tokenizer")
    (bert / "tokenizer.json").unlink()
    (bert / "vocab.txt").unlink()
    refused(cli("embed", "a", "-m", "bert#mean"), 3, "has no tokenizer")
    file = bert / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    refused(cli("embed", "a", "-m", "bert#mean"), 1, "is truncated")
    pickled(bert)
    refused(cli("embed", "a", "-m", "bert#mean"), 3, "pickled weights only", "safetensors")


def test_code_runs_by_a_flag_only(cli: CommandLine, bert: Path, notes: Path) -> None:
    rewrite(bert / "config.json", auto_map={"AutoModel": "modeling_mine.Mine"})
    refused(cli("embed", "a", "-m", "bert#mean"), 2, "contains code of its own", "--trust-remote-code")
    refused(cli("index", notes, "-n", "notes", "-m", "bert#mean"), 2, "--trust-remote-code")
    (bert / "modeling_mine.py").write_text("from transformers import BertModel\nclass Mine(BertModel):\n    pass\n")
    trusting = "--trust-remote-code"
    cli.ok("index", notes, "-n", "notes", "-m", "bert#mean", trusting)
    refused(cli("query", "a man", "-n", "notes", "--mode", "semantic"), 2, trusting)
    cli.ok("query", "a man", "-n", "notes", "--mode", "semantic", trusting)


def test_offline_names_what_is_missing(cli: CommandLine) -> None:
    refused(cli("embed", "a", "-m", "hf:owner/name", "--offline"), 3, "is not on this machine", "models pull")
    refused(cli("embed", "a", "-m", "opt-125m", "--offline"), 3, "facebook/opt-125m", "models pull")


@pytest.mark.parametrize("model", ["bert#cot-bert", "opt-125m", "default#masks-1"])
def test_a_project_may_name_a_model_and_a_template_of_the_library(cli: CommandLine, model: str) -> None:
    Path("semsearch.toml").write_text(f"model = '{model}'\n")
    assert settings.resolve()["model"].value == "hashing"  # the environment of these tests wins
    assert dict(settings._from_file(Path("semsearch.toml"), safe=True)) == {"model": model}


@pytest.mark.parametrize(
    "model",
    [
        "./bert", "bert/inner#mean", "hf:owner/name", "bert#mine.toml", "bert#dtype=fp16", "bert#[X]",
        "bert#trust=true", "bert#a,b", "bert#template=mean", "bert#", "/abs#mean",
    ],
)  # fmt: skip
def test_a_project_may_name_nothing_else(cli: CommandLine, model: str) -> None:
    Path("semsearch.toml").write_text(f"model = {json.dumps(model)}\n")
    with pytest.raises(UsageError, match="a project may not set model"):
        settings.load()


def test_a_folder_of_a_model_loads_nothing_that_the_default_does_not_need(cli: CommandLine, tmp_path: Path) -> None:
    """The default encoder's path is as short as it was."""
    code = (
        "import sys; from semsearch import Encoder; Encoder.load().encode_query('soup');"
        "print([m for m in ('semsearch.models.hf_config', 'semsearch.prompts.library',"
        " 'platformdirs', 'huggingface_hub') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_index_whose_model_went_away_says_so(
    cli: CommandLine, bert: Path, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("index", notes, "-n", "notes", "-m", "bert#cot-bert")
    shutil.move(bert, "moved")
    refused(cli("query", "a man", "-n", "notes", "--mode", "semantic"), 3, "there is no folder")
    assert cli.ok("query", "guitar", "-n", "notes", "--mode", "keyword", "--json").json["hits"]
    cli.ok("index", notes, "-n", "notes", "-m", "moved#cot-bert")  # it is the same encoder


def test_info_of_a_model_is_words_for_a_person(cli: CommandLine) -> None:
    lines = cli.ok("models", "info", "default").lines
    assert not [line for line in lines if line.endswith(("{}", "[]")) or "{" in line or '["' in line]
    assert all(len(line.split()) > 1 for line in lines)  # no empty field
    assert any(" prompt " in line and "[X]" in line for line in lines)
    assert isinstance(cli.ok("models", "info", "cot-small", "--json").json["model"]["prompts"], dict)
