"""`mcp --install`: an assistant's settings get one entry, and stay otherwise as their owner wrote them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
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
    "a byte order mark": '\ufeff{"mcpServers": {"other": {}}}',
}
KEYS = ("mcpServers", "semsearch")


@pytest.fixture
def home(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings of any assistant."""
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CONFIG_HOME")
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
        assert removed.replace(",", "") == text.replace(",", "")  # but for a comma behind the last one


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
    assert "semsearch" not in assistant.file.read_text()
    assert assistant.skill is None or not assistant.skill.parent.exists()


def test_the_file_before_is_kept_with_its_rights(cli: CommandLine, home: Path) -> None:
    home.mkdir()
    file = home / ".claude.json"
    file.write_text('{"secret": 1}')
    file.chmod(0o600)
    assert "backup: " in cli.ok("mcp", "--install", "claude", "--allow-write", "--max-tokens", 2000).out
    [backup] = home.glob(".claude.json.*.bak")
    assert backup.read_text() == '{"secret": 1}'
    assert {one.stat().st_mode & 0o777 for one in (file, backup)} == {0o600}
    assert json.loads(file.read_text())["secret"] == 1
    assert json.loads(file.read_text())["mcpServers"]["semsearch"]["args"][-3:] == [
        "--max-tokens",
        "2000",
        "--allow-write",
    ]
    assert "nothing to change" in cli.ok("mcp", "--install", "claude", "--allow-write", "--max-tokens", 2000).out
    assert len(list(home.glob(".claude.json.*.bak"))) == 1


def test_print_shows_the_entry_and_writes_nothing(cli: CommandLine, home: Path) -> None:
    shown = cli.ok("mcp", "--install", "vscode", "--print")
    assert shown.json["servers"]["semsearch"]["type"] == "stdio"
    assert str(home / ".config/Code/User/mcp.json") in shown.err
    assert "[mcp_servers.semsearch]" in cli.ok("mcp", "--install", "codex", "--print").out
    assert not home.exists()


def test_settings_that_cannot_be_changed_stay_as_they_are(cli: CommandLine, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text("{ broken")
    ran = cli("mcp", "--install", "cursor")
    assert (ran.code, file.read_text()) == (1, "{ broken")
    assert "was left as it is" in ran.err and "--print" in ran.err
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


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
