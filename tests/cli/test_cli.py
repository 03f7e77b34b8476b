"""The command line as a whole: names, errors, exit codes, completion."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from helpers.commandline import CommandLine

import semsearch
from semsearch import errors
from semsearch.cli import main as program
from semsearch.cli.commands import EVAL, MODELS, TEMPLATES
from semsearch.models import local_models
from semsearch.models.bundle import MANIFEST

HEADINGS = {  # what a beginner needs first
    "First steps": "index query ui similar list info",
    "Work on an index": "watch get delete sql cluster dedup label reembed rename rm compact verify salvage "
    "dump restore trust",
    "Compare and measure": "sts embed eval audit bench",
    "Train": "adapt train export templates",
    "Serve": "serve mcp",
    "Look after": "models doctor config",
}
COMMANDS = [name for names in HEADINGS.values() for name in names.split()]
PAGES = [*([name] for name in COMMANDS), *(["eval", name] for name in EVAL)]
PAGES += [*(["models", name] for name in MODELS), *(["templates", name] for name in TEMPLATES)]
CONTRACT = {
    "index": "-n -m --template --include --exclude --no-ignore --max-file-size --from --text-field --id-field "
    "--engine --ray-address --workers "
    "--meta-field --sql --chunk --chunk-size --overlap --device --backend-type --prune --no-prune --force --dry-run "
    "--watch --strict -y --json",
    "query": "-n -k --mode --alpha --where --path --more --less --must --like --min-strength --group --exact --explain "
    "--json --format --batch --fail-empty",
    "similar": "-n -k --json",
    "cluster": "-n -k --threshold --min-size --where --documents --over-time --by --date-field --json",
    "dedup": "-n --threshold --words --exact --keep --where --delete --exclude -y --json",
    "label": "-n --examples --folds --reject --where -m --json",
    "embed": "--role --format -o -m",
    "sts": "--pairs --matrix --task --data -m --json",
    "eval": "-n --queries --qrels --spaces --json",
    "audit": "-n --json",
    "bench": "-n -m --keep --json",
    "info": "-n --json",
    "get": "-n --json",
    "delete": "-n --path --id --where --exclude --dry-run -y --json",
    "rm": "-n -y --json",
    "rename": "--json",
    "compact": "-n --json",
    "reembed": "-n -m --keep-old --template --dtype --layer --device --json",
    "verify": "-n --accept-loss --json",
    "salvage": "-n -o -m --json",
    "dump": "-n -o --json",
    "restore": "-n --trust --json",
    "trust": "-n --json",
    "watch": "-n --json --poll",
    "serve": "--host --port --token-env --allow-host --cors -m --reranker --max-body --max-batch --timeout --most-open "
    "--rate --proxy --device",
    "mcp": "--transport -n --allow-write --max-tokens --timeout --host --port --token-env --allow-host --rate --proxy "
    "--device",
    "sql": "-n --timeout --json --csv --raw",
    "list": "--json",
    "train": "--method --base --data --from-index -o --seeds --export --index --json",
    "export": "-o --dtype --template --data --force --json",
    "doctor": "--json",
    "config": "--json",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(cli: CommandLine, command: str) -> None:
    shown = cli.ok(command, "--help")
    assert shown.out.startswith(f"Usage: semsearch {command}")
    words = shown.out.replace(",", " ").split()
    for flag in CONTRACT.get(command, "").split():
        assert flag in words, f"{command} has no {flag}"


def sections(cli: CommandLine, *command: str) -> dict[str, list[str]]:
    """The lines of a help page under each of its headings."""
    _, *parts = re.split(r"^(\w.*):\n", cli.ok(*command, "--help").out, flags=re.MULTILINE)
    return {heading: text.rstrip().splitlines() for heading, text in batched(parts)}


def batched(parts: list[str]) -> Iterator[tuple[str, str]]:
    return zip(parts[::2], parts[1::2], strict=True)


def test_help_lists_every_command_and_no_other(cli: CommandLine) -> None:
    options, *listed = sections(cli).items()
    assert options[0] == "Options"
    assert {heading: " ".join(line.split()[0] for line in lines) for heading, lines in listed} == HEADINGS


def test_the_list_of_commands_says_what_each_says_itself(cli: CommandLine) -> None:
    groups = {"": HEADINGS, "models": ["Commands"], "templates": ["Commands"]}
    for group, headings in groups.items():
        words = [group] if group else []
        with patch.dict(os.environ, COLUMNS="100"):
            listed = sections(cli, *words)
        for name, summary in (line.split(maxsplit=1) for heading in headings for line in listed[heading]):
            paragraph = cli.ok(*words, name, "--help").out.split("\n\n")[1]
            assert " ".join(paragraph.split()) == summary


@pytest.mark.parametrize("page", [[], *PAGES], ids=" ".join)
def test_help_is_no_longer_than_two_screens(cli: CommandLine, page: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = cli.ok(*page, "--help").out.splitlines()
    assert len(lines) <= 2 * 50
    assert max(map(len, lines)) <= 100


def test_version_and_module_entry_point(cli: CommandLine) -> None:
    assert cli.ok("--version").out == f"semsearch {semsearch.__version__}\n"
    ran = subprocess.run([sys.executable, "-m", "semsearch", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"semsearch {semsearch.__version__}\n"


def test_semsearch_alone_says_what_to_do_next(cli: CommandLine, tmp_path: Path) -> None:
    ran = cli()
    assert (ran.code, ran.out) == (2, "")
    home = Path(os.environ["SEMSEARCH_HOME"])
    assert f"There is no index in {home} yet" in ran.err
    steps = [line.strip() for line in ran.err.splitlines() if line.startswith("  semsearch ")]
    assert steps[0].startswith('semsearch query "how do I descale a kettle?" FOLDER')
    assert steps[1].startswith("semsearch index FOLDER")
    assert "semsearch --help" in ran.err
    (tmp_path / "kettle.txt").write_text("Descale a kettle with vinegar.")
    cli.ok("index", tmp_path / "kettle.txt", "-n", "notes", "-m", "hashing")
    alone = cli().err
    assert f"1 index in {home}: notes" in alone
    for line in alone.splitlines():  # each step does what it says, as it is written
        if line.startswith(("  semsearch query", "  semsearch info", "  semsearch index  ")):
            words = shlex.split(line.partition("   ")[0] if "?" not in line else line.partition('?"')[0] + '?"')
            assert cli(*words[1:]).code == 0, line
    for name in ("a", "\x1b[31mred", *"bcdefgh"):
        (home / name).mkdir()
        (home / name / "store.db").touch()
    many = cli("--home", home).err
    assert "10 indexes in" in many and "and 2 more" in many and "\x1b" not in many
    assert f"semsearch --home {home} index" in many


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["qurey", "x"], "'query'"),
        (["retrain"], "no such command"),
        (["train"], "--method"),
        (["query", "x", "--jsn"], "--json"),
        (["similar", "x", "y"], "unexpected extra argument"),
        (["query", "x", "-k", "many"], "'-k'"),
        (["query", "x", "--mode", "fuzzy"], "'hybrid'"),
        (["query", "x", "--format", "xml"], "'trec'"),
        (["query", "x", "--where"], "--where"),
        (["index", "--from", "pfd"], "--from"),
        (["index", ".", "--chunk-size", "0"], "--chunk-size"),
        (["index", ".", "--max-file-size", "huge", "-n", "x"], "10M"),
        (["index", ".", "-", "-n", "x"], "standard input"),
        (["index", ".", "--watch", "--dry-run"], "--watch"),
        (["index", ".", "-n", "x", "--template", "t"], "template"),
        (["get"], "ID"),
        (["embed"], "TEXT"),
        (["eval"], "--queries"),
        (["query"], "TEXT"),
        (["query", "x", "--more", "^2"], "--more"),
        (["query", "x", "--more", "tea^-1"], "--more"),
        (["query", "x", "--more", "tea^5000"], "a weight from 0.001 to 1,000"),
        (["query", "x", "--less", "tea^0"], "--less"),
        (["delete", "-n", "x"], "--id"),
        (["info", "a", "-n", "b"], "two indexes"),
    ],
    ids=" ".join,
)
def test_a_wrong_request_is_one_line_and_exit_2(cli: CommandLine, arguments: list[str], told: str) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert told in ran.err
    known = arguments[0] in COMMANDS
    if not known or "--json" in cli.ok(arguments[0], "--help").out:
        as_json = cli(arguments[0], "--json", *arguments[1:])
        assert as_json.code == as_json.json["error"]["code"] == 2
        assert set(as_json.json["error"]) == {"code", "message", "fix"}


def test_json_and_another_format_contradict_each_other(cli: CommandLine) -> None:
    ran = cli("query", "x", "--json", "--format", "csv")
    assert ran.code == ran.json["error"]["code"] == 2


def test_json_after_two_dashes_is_text(cli: CommandLine) -> None:
    ran = cli("query", "--", "--json")
    assert (ran.code, ran.out) == (3, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "x"], ["query", "x", "-n", "no"], ["similar", "1", "-n", "no"], ["info", "no"],
        ["get", "1", "-n", "no"],
        ["delete", "no", "--id", "x"], ["rm", "no", "-y"], ["compact", "no"], ["verify", "no"], ["audit", "no"],
        ["dump", "no", "-o", "x"], ["restore", "no.dump", "-n", "x"], ["watch", "no"], ["reembed", "no"],
        ["index", "no"], ["index", "no", "-n", "x"], ["query", "--batch", "no.txt"], ["info"],
        ["embed", "a", "-m", "no-such-model"], ["models", "info", "no-such-model"], ["info", "./no"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_is_not_there_is_exit_3_with_what_to_do(cli: CommandLine, arguments: list[str]) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (3, ""), ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert not (Path(os.environ["SEMSEARCH_HOME"]) / "x").exists()


def test_global_options_may_follow_the_command(cli: CommandLine, tmp_path: Path) -> None:
    before = cli.ok("--home", tmp_path / "other", "list", "--json").json
    after = cli.ok("list", "--json", "--home", tmp_path / "other").json
    assert before == after
    assert before["home"] == str(tmp_path / "other")


def test_offline_reaches_the_settings_and_the_hub(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = cli.ok("--offline", "config", "--json").json["settings"]["offline"]
    assert shown == {"value": True, "origin": "flag"}
    assert "HF_HUB_OFFLINE" not in os.environ or os.environ["HF_HUB_OFFLINE"] == "1"


def test_an_unexpected_failure_names_itself_and_verbose_shows_where(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr("semsearch.index.admin.names", broken)
    ran = cli("list")
    assert ran.code == 1
    assert ran.err == "error: unexpected KeyError: 'surprise'. Run again with -v for the traceback.\n"
    assert "Traceback" in cli("list", "-v").err
    assert cli("list", "--json").json["error"]["code"] == 1


@pytest.mark.parametrize("error", [errors.Corrupt("x."), errors.Locked("x."), errors.GateFailed("x."),
                                   errors.DeviceUnavailable("x."), errors.NotFound("x."), errors.UsageError("x."),
                                   errors.EncoderMismatch("i", built_with="a", got="b", fix="c")])  # fmt: skip
def test_every_error_class_ends_with_its_exit_code(
    cli: CommandLine, error: errors.SemsearchError, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr("semsearch.index.admin.names", failing)
    ran = cli("list", "--json")
    assert ran.code == ran.json["error"]["code"] == error.exit_code


def test_an_interrupt_and_a_termination_end_with_their_numbers(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for signal, code in ((KeyboardInterrupt, 130), (program.Terminated, 143)):

        def stopped(*_: object, signal: type[BaseException] = signal) -> None:
            raise signal

        monkeypatch.setattr("semsearch.index.admin.names", stopped)
        ran = cli("list")
        assert (ran.code, ran.out, ran.err) == (code, "", "")


def test_config_says_where_each_value_came_from(cli: CommandLine) -> None:
    Path("semsearch.toml").write_text("k = 3", encoding="utf-8")
    shown = cli.ok("config", "--json", SEMSEARCH_MODE="keyword", SEMSEARCH_THREDS="2").json
    assert shown["settings"]["k"] == {"value": 3, "origin": str(Path("semsearch.toml").resolve())}
    assert shown["settings"]["mode"] == {"value": "keyword", "origin": "SEMSEARCH_MODE"}
    assert shown["settings"]["device"] == {"value": "auto", "origin": "default"}
    assert shown["warnings"] == ["SEMSEARCH_THREDS is set, but no setting has this name."]
    table = cli.ok("config")
    assert any(line.split()[:2] == ["k", "3"] for line in table.lines)


def test_a_broken_settings_file_is_exit_2_and_named(cli: CommandLine) -> None:
    Path("semsearch.toml").write_text("colour = 'red'", encoding="utf-8")
    ran = cli("config")
    assert ran.code == 2
    assert "semsearch.toml" in ran.err


Completed = Callable[[str, int], list[str]]


@pytest.fixture
def completed(cli: CommandLine, capsys: pytest.CaptureFixture[str]) -> Completed:
    """What the shell would be offered, asked in the way that its completion script asks."""

    def offered(words: str, position: int) -> list[str]:
        asked = {"_SEMSEARCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(position)}
        with patch.dict(os.environ, asked), pytest.raises(SystemExit, match=r"^0$"):
            program.main([])
        return capsys.readouterr().out.split()

    return offered


def test_the_shell_completes_commands_flags_choices_and_index_names(completed: Completed) -> None:
    home = Path(os.environ["SEMSEARCH_HOME"])
    for name in ("notes", "novels", "papers"):
        (home / name).mkdir(parents=True)
        (home / name / "store.db").touch()
    assert completed("semsearch que", 1) == ["query"]
    assert "--min-strength" in completed("semsearch query --m", 2)
    assert completed("semsearch query --mode s", 3) == ["semantic"]
    assert completed("semsearch query -n no", 3) == ["notes", "novels"]
    assert completed("semsearch info p", 2) == ["papers"]
    assert completed(f"semsearch --home {home.parent} query -n no", 5) == []
    assert completed(f"semsearch query --home {home.parent} -n no", 5) == []


def test_the_shell_completes_models_and_templates(completed: Completed, tmp_path: Path) -> None:
    home = tmp_path / "indexes"
    for manifest in ("models/mine/encoder.json", "models/run/seed-0/encoder.json"):
        file = tmp_path / manifest.replace("encoder.json", MANIFEST)
        file.parent.mkdir(parents=True)
        file.touch()
    with patch.dict(os.environ, SEMSEARCH_HOME=str(home)):
        assert completed("semsearch index -m mini", 3) == ["minilm"]
        assert completed(f"semsearch sts a b -m {tmp_path}/models/", 5) == [
            f"{tmp_path}/models/mine",
            f"{tmp_path}/models/run/seed-0",
        ]
        templates = completed("semsearch export x --template cot", 4)
        assert "cot-bert" in templates and all(name.startswith("cot") for name in templates)
        assert "default#cot-bert" in completed("semsearch embed a -m default#cot-b", 4)
        assert "prompteol" in completed("semsearch templates show prompt", 3)
        assert set(local_models.names("reranker")) <= set(completed("semsearch query --rerank ''", 3))


def test_the_completion_script_is_one_that_bash_takes(cli: CommandLine) -> None:
    detection_off = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ask = [sys.executable, "-m", "semsearch", "--show-completion", "bash"]
    script = subprocess.run(ask, env=detection_off, capture_output=True, text=True, check=True).stdout
    taken = subprocess.run(
        ["bash", "-c", f"{script}\ncomplete -p semsearch"], capture_output=True, text=True, check=True
    )
    assert taken.stdout.rstrip().endswith(" semsearch")


@pytest.mark.parametrize(
    ("redirection", "code"),
    [("> /dev/full", 1), (">&-", 0), ("2>&-", 0), ("2> /dev/full", 0), ("2> /dev/full --no", 2)],
)
def test_streams_that_take_nothing_cause_no_traceback(cli: CommandLine, redirection: str, code: int) -> None:
    command = f"{sys.executable} -m semsearch config --json {redirection}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ran.returncode == code
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize(("words", "close"), [(["quer", "hi"], "'query'"), (["templates", "lst"], "'list'")])
def test_a_misspelt_command_is_suggested_once(cli: CommandLine, words: list[str], close: str) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert ran.err.count(f"Did you mean {close}?") == ran.err.count("Did you mean") == 1


@pytest.mark.parametrize(
    ("command", "text"),
    [("index", "Files and folders; - reads"), ("query", "Text to search for"), ("rename", "The new name.")],
)
def test_help_describes_arguments_too(cli: CommandLine, command: str, text: str) -> None:
    assert text in cli.ok(command, "--help").out
