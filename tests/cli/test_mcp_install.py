"""`mcp --install`: an assistant's settings get one entry, and stay otherwise as their owner wrote them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commandline import CommandLine
from hypothesis import given
from hypothesis import strategies as st

from semsearch.cli.serving import assistant_settings, settings_text

ENTRY = {
    "command": "/usr/bin/python3",
    "args": ["-m", "semsearch", 'a "quoted" \\ päth'],
    "env": {"SEMSEARCH_MODEL": "x"},
}
WRITTEN = {
    "with comments and trailing commas": """// mine
{
    /* colours */ "theme": "dark", // of the evening
    "mcpServers": {
        "other": { "command": "x", "args": ["{", "//no"] }, // mine, too
    },
}
""",
    "tabs": '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t},\n\t"a": [1, {"b": "}"}]\n}\n',
    "one line": '{"a": {"mcpServers": {}}, "mcpServers": {"other": {"command": "x"}}, "z": 1}',
    "an empty object of servers": '{\n  "mcpServers": {\n  }\n}\n',
    "no servers": '{\n  "numStartups": 34\n}\n',
    "empty": "",
    "an empty object": "{}",
    "comments only": "// mine\n/* yes */\n",
    "a byte order mark": '\ufeff{"mcpServers": {"other": {}}}',
}
KEYS = ("mcpServers", "semsearch")
posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")


@pytest.fixture
def home(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings of any assistant."""
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path / "user"))
    for variable in assistant_settings.FOLDERS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "user"


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_every_line_of_the_user_stays_where_an_entry_is_added_replaced_and_removed(text: str) -> None:
    before = settings_text.from_json(text or "{}")
    added = settings_text.changed(text, KEYS, ENTRY, is_toml=False)
    assert settings_text.from_json(added)["mcpServers"]["semsearch"] == ENTRY
    if "\n" in text.strip():
        assert [line for line in text.splitlines() if line.rstrip(",") not in added] == []
    again = settings_text.changed(added, KEYS, {"command": "y"}, is_toml=False)
    assert settings_text.from_json(again)["mcpServers"]["semsearch"] == {"command": "y"}
    removed = settings_text.changed(again, KEYS, None, is_toml=False)
    assert settings_text.from_json(removed) == {**before, "mcpServers": before.get("mcpServers", {})}
    if before.get("mcpServers"):
        assert removed == text


def test_an_entry_looks_like_its_neighbours() -> None:
    added = settings_text.changed(WRITTEN["tabs"], KEYS, {"command": "y", "args": ["m"]}, is_toml=False)
    assert added.splitlines()[2:5] == ['\t\t"other": {"command": "x"},', '\t\t"semsearch": {', '\t\t\t"command": "y",']


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.sampled_from([None, 1, 4, "\t"]), st.booleans())
def test_any_settings_keep_what_they_say(settings: dict, indent: int | str | None, ascii_only: bool) -> None:
    settings.pop("mcpServers", None)
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_only)
    added = settings_text.changed(text, KEYS, ENTRY, is_toml=False)
    assert settings_text.from_json(added) == {**settings, "mcpServers": {"semsearch": ENTRY}}
    removed = settings_text.changed(added, KEYS, None, is_toml=False)
    assert settings_text.from_json(removed) == {**settings, "mcpServers": {}}


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"a": 1,, }', '{"mcpServers": []}', '{"mcpServers": {}, "mcpServers": {}}', "x"]
)
def test_what_cannot_be_read_or_changed_is_refused(text: str) -> None:
    with pytest.raises(settings_text.Unsuitable):
        settings_text.changed(text, KEYS, ENTRY, is_toml=False)


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {other = {a = 1}}\n", 'mcp_servers.semsearch.command = "x"\n',
     'a = """\n[mcp_servers.semsearch]\n"""\n[mcp_servers.semsearch]\ncommand = "x"\n'],
)  # fmt: skip
def test_toml_that_cannot_be_changed_in_one_place_is_not_called_unreadable(text: str) -> None:
    with pytest.raises(settings_text.Unsuitable, match="cannot be changed in one place"):
        settings_text.changed(text, ("mcp_servers", "semsearch"), ENTRY, is_toml=True)


@pytest.mark.parametrize("text", ["\ufeff# mine\n[b]\n", "# mine\n", "# mine\r\n[b]\r\na = 1\r\n"])
def test_toml_keeps_its_ends_of_lines_and_its_byte_order_mark(text: str) -> None:
    keys = ("mcp_servers", "semsearch")
    added = settings_text.changed(text, keys, ENTRY, is_toml=True)
    assert added.startswith(text) and (added.count("\r\n") == added.count("\n")) == ("\r" in text)
    assert settings_text.changed(added, keys, None, is_toml=True) == text


def test_toml_keeps_its_comments_and_tables() -> None:
    keys = ("mcp_servers", "semsearch")
    text = '# mine\nmodel = "o"  # fast\n\n[mcp_servers.other]\ncommand = "x"\n\n# of the projects\n'
    text += '[projects."/a b"]\ntrust = true\n'
    added = settings_text.changed(text, keys, ENTRY, is_toml=True)
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"]["semsearch"] == ENTRY
    moved = added + "\n# the last one\n[tui]\ntheme = 1\n"
    again = settings_text.changed(moved, keys, {"command": "y"}, is_toml=True)
    assert "# the last one\n[tui]" in again and again.count("[mcp_servers.semsearch") == 1
    assert settings_text.changed(added, keys, None, is_toml=True) == text
    with pytest.raises(settings_text.Unsuitable):
        settings_text.changed('mcp_servers = { semsearch = { command = "x" } }\n', keys, ENTRY, is_toml=True)


@pytest.mark.parametrize("name", assistant_settings.known())
def test_every_assistant_gets_a_command_that_starts_and_loses_it_again(cli: CommandLine, home: Path, name: str) -> None:
    assistant = assistant_settings.find(name)
    assert assistant.file.is_relative_to(home)
    cli.ok("mcp", "--install", name)
    read = tomllib.loads if assistant.is_toml else json.loads
    entry = read(assistant.file.read_text())
    for key in assistant.keys:
        entry = entry[key]
    assert Path(entry["command"]).is_absolute()
    ran = subprocess.run([entry["command"], *entry["args"], "--help"], capture_output=True, text=True, check=True)
    assert "Model Context Protocol" in ran.stdout
    assert entry["args"][entry["args"].index("--home") + 1] == os.environ["SEMSEARCH_HOME"]
    assert entry["env"]["SEMSEARCH_MODEL"] == "hashing"
    assert assistant.skill is None or assistant.skill.read_bytes() == assistant_settings.SKILL.read_bytes()
    cli.ok("mcp", "--remove", name)
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize(
    "variable, name, files",
    [
        ("CODEX_HOME", "codex", ["config.toml"]),
        ("CLAUDE_CONFIG_DIR", "claude", [".claude.json", "skills/semsearch/SKILL.md"]),
        ("XDG_CONFIG_HOME", "zed", ["zed/settings.json"]),
    ],
)
def test_settings_are_where_the_environment_has_them(
    cli: CommandLine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, name: str, files: list
) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    monkeypatch.setenv(variable, str(moved))
    cli.ok("mcp", "--install", name)
    assert {str(one.relative_to(moved)) for one in moved.rglob("*") if one.is_file()} == {*files}
    cli.ok("mcp", "--remove", name)
    assert [*moved.rglob("*"), *home.rglob("*.json")] == [] and moved.is_dir()


def test_the_file_before_is_kept_with_its_rights(cli: CommandLine, home: Path) -> None:
    home.mkdir()
    file = home / ".claude.json"
    file.write_text('{"secret": 1}')
    file.chmod(0o600)
    assert "backup: " in cli.ok("mcp", "--install", "claude", "--allow-write", "--max-tokens", 2000).out
    [backup] = home.rglob("*.bak")
    assert backup.read_text() == '{"secret": 1}'
    assert {one.stat().st_mode & 0o777 for one in (file, backup)} == {0o600}
    assert json.loads(file.read_text())["secret"] == 1
    assert json.loads(file.read_text())["mcpServers"]["semsearch"]["args"][-3:] == [
        "--max-tokens",
        "2000",
        "--allow-write",
    ]
    assert "nothing to change" in cli.ok("mcp", "--install", "claude", "--allow-write", "--max-tokens", 2000).out
    cli.ok("mcp", "--install", "claude")
    assert list(home.rglob("*.bak")) == [backup] and backup.read_text() == '{"secret": 1}'
    file.write_text(file.read_text().replace('"secret": 1', '"secret": 2'))
    cli.ok("mcp", "--remove", "claude")
    assert json.loads(file.read_text()) == {"secret": 2, "mcpServers": {}}
    assert list(home.rglob("*.bak")) == [backup] and '"secret": 2' in backup.read_text()


def test_lines_of_json_end_as_those_of_the_file_do() -> None:
    added = settings_text.changed(WRITTEN["tabs"].replace("\n", "\r\n"), KEYS, ENTRY, is_toml=False)
    assert added.count("\n") == added.count("\r\n") > 8


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_removal_gives_the_file_back_as_it_was(cli: CommandLine, home: Path, text: str) -> None:
    (home / ".cursor").mkdir(parents=True)
    file = home / ".cursor/mcp.json"
    file.write_text(text)
    for option in ((), ("--allow-write",)):
        cli.ok("mcp", "--install", "cursor", *option)
    cli.ok("mcp", "--remove", "cursor")
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"] and file.read_text() == text


OWN = {
    "cursor": '{"mcpServers": {"sem\\u0073earch": {"command": "x", "args": ["mcp"], "env": {"MINE": "1"}}, "b": {}}}',
    "codex": '[mcp_servers."semsearch"]  # mine\ncommand = "x"\n[mcp_servers.semsearch.env]\nMINE = "1"\n\n[b]\n',
}


@pytest.mark.parametrize("name", OWN)
def test_an_entry_of_the_user_is_replaced_aloud_and_comes_back(cli: CommandLine, home: Path, name: str) -> None:
    file = assistant_settings.find(name).file
    file.parent.mkdir(parents=True)
    file.write_text(OWN[name])
    assert "would be replaced" in cli.ok("mcp", "--install", name, "--print").err
    assert "replaced your own entry" in cli.ok("mcp", "--install", name).out
    cli.ok("mcp", "--install", name, "--allow-write")
    cli.ok("mcp", "--remove", name)
    assert [one.name for one in file.parent.iterdir()] == [file.name] and file.read_text() == OWN[name]
    cli.ok("mcp", "--install", name)
    file.write_text(file.read_text().replace('"b"', '"c"').replace("[b]", "[c]"))
    for options in (["--install", name, "--allow-write"], ["--remove", name]):
        cli.ok("mcp", *options)
        assert OWN[name] in {one.read_text() for one in file.parent.glob("*.bak*")}
    assert "MINE" in file.read_text() and "--home" not in file.read_text()


def test_a_file_that_may_not_be_written_to_is_left(cli: CommandLine, home: Path) -> None:
    home.mkdir()
    file = home / ".claude.json"
    file.write_text("{}")
    file.chmod(0o400)
    ran = cli("mcp", "--install", "claude")
    assert (ran.code, file.read_text(), list(home.iterdir())) == (1, "{}", [file])
    assert "read-only" in ran.err


def test_a_skill_of_the_user_is_kept(cli: CommandLine, home: Path) -> None:
    skill = home / ".claude/skills/semsearch/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("Mine.")
    assert "SKILL.md.semsearch.bak" in cli.ok("mcp", "--install", "claude").out
    assert skill.with_name("SKILL.md.semsearch.bak").read_text() == "Mine."
    skill.write_text("Mine, too.")
    cli.ok("mcp", "--install", "claude")
    assert skill.with_name("SKILL.md.semsearch.bak.1").read_text() == "Mine."
    cli.ok("mcp", "--remove", "claude")
    assert skill.read_text() == "Mine, too."
    assert assistant_settings.SKILL_TITLE in assistant_settings.SKILL.read_bytes()


def test_print_shows_the_entry_and_writes_nothing(cli: CommandLine, home: Path) -> None:
    shown = cli.ok("mcp", "--install", "vscode", "--print")
    assert shown.json["servers"]["semsearch"]["type"] == "stdio"
    assert str(home / ".config/Code/User/mcp.json") in shown.err
    assert "[mcp_servers.semsearch]" in cli.ok("mcp", "--install", "codex", "--print").out
    assert not home.exists()


@pytest.mark.parametrize("assistant, place", [("claude", ".claude.json"), ("codex", ".codex/config.toml")])
def test_print_shows_what_would_be_removed_and_removes_nothing(
    cli: CommandLine, home: Path, assistant: str, place: str
) -> None:
    assert cli.ok("mcp", "--remove", assistant, "--print").out == ""
    cli.ok("mcp", "--install", assistant)
    before = (home / place).read_text()
    shown = cli.ok("mcp", "--remove", assistant, "--print")
    removed = [line for line in shown.out.splitlines() if line.startswith("-")]
    assert any('"semsearch"' in line for line in removed) and str(home / place) in shown.err
    assert (home / place).read_text() == before
    cli.ok("mcp", "--remove", assistant)
    assert not (home / place).exists()


def test_settings_that_cannot_be_changed_stay_as_they_are(cli: CommandLine, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    for text in (b"{ broken", "{}".encode("utf-16"), '{"a": "é"}'.encode("latin-1"), b'{"a": ' + b"[" * 50_000):
        file.write_bytes(text)
        ran = cli("mcp", "--install", "cursor")
        assert (ran.code, file.read_bytes()) == (1, text)
        assert "was left as it is" in ran.err and "--print" in ran.err and "unexpected" not in ran.err
        assert cli.ok("mcp", "--install", "cursor", "--print").json
    assert [one.name for one in home.rglob("*")] == [".cursor", "mcp.json"]


@pytest.mark.parametrize(
    ("place", "made"),
    [(".cursor", Path.touch), (".cursor/mcp.json", Path.mkdir), (".agents/skills/semsearch", Path.touch),
     (".agents/skills/semsearch/SKILL.md", Path.mkdir),
     pytest.param(".cursor/mcp.json", getattr(os, "mkfifo", None), marks=posix)],
)  # fmt: skip
def test_what_is_in_the_way_is_named_before_anything_is_written(
    cli: CommandLine, home: Path, place: str, made: Callable[[Path], None]
) -> None:
    (home / place).parent.mkdir(parents=True)
    made(home / place)
    before = sorted(home.rglob("*"))
    ran = cli("mcp", "--install", "cursor")
    assert ran.code == 1 and "was left as it is" in ran.err and str(home / place) in ran.err
    assert sorted(home.rglob("*")) == before


def test_a_skill_stays_until_the_last_assistant_that_has_it_goes(cli: CommandLine, home: Path) -> None:
    for name in ("cursor", "codex"):
        cli.ok("mcp", "--install", name)
    skill = home / ".agents/skills/semsearch/SKILL.md"
    assert "SKILL.md" not in cli.ok("mcp", "--remove", "cursor").out and skill.is_file()
    assert "SKILL.md" in cli.ok("mcp", "--remove", "codex").out and not skill.exists()


def test_a_changed_skill_is_not_removed(cli: CommandLine, home: Path) -> None:
    cli.ok("mcp", "--install", "claude")
    skill = home / ".claude/skills/semsearch/SKILL.md"
    skill.write_text(skill.read_text() + "\nMine.\n")
    cli.ok("mcp", "--remove", "claude")
    assert skill.read_text().endswith("Mine.\n")


@pytest.mark.parametrize(
    "wrong", [["--install", "emacs"], ["--print"], ["--install", "cursor", "--remove", "cursor"],
              ["--install", "cursor", "--transport", "http"]],
)  # fmt: skip
def test_a_wrong_request_is_refused(cli: CommandLine, home: Path, wrong: list[str]) -> None:
    assert cli("mcp", *wrong).code == 2
    assert not home.exists()
