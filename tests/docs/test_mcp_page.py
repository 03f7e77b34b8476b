"""docs/mcp.md: every setting on it starts a server that answers, and its table of tools is the server's."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from semsearch import Document, Index
from semsearch.cli.serving.mcp_command import PORT
from semsearch.serve.mcp.http import PATH
from semsearch.serve.mcp.tools import TOOLS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
COMMAND = {"command": "semsearch", "args": ["mcp", "-n", "notes"]}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_all_assistants_are_told_the_same_command() -> None:
    settings = [json.loads(block) for block in blocks("json")] + [tomllib.loads(block) for block in blocks("toml")]
    entries = [entry for one in settings for servers in one.values() for entry in servers.values()]
    local = [entry for entry in entries if "command" in entry]
    assert len(local) == 4
    assert all({"command": entry["command"], "args": entry["args"]} == COMMAND for entry in local)
    (remote,) = (entry for entry in entries if "url" in entry)
    assert remote["url"] == f"http://127.0.0.1:{PORT}{PATH}"
    assert f"claude mcp add semsearch -- {' '.join([COMMAND['command'], *COMMAND['args']])}" in PAGE


def test_the_command_of_the_settings_answers_and_so_does_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Index.create("notes", encoder="hashing", home=tmp_path) as index:
        index.add([Document("boiler.md", "The boiler is under the stairs.")])
    (program,) = blocks("python")
    python = [sys.executable, "-m", "semsearch", "--home", str(tmp_path)]
    environment = {**os.environ, "SEMSEARCH_CACHE": str(tmp_path / "cache.db")}
    call = f"command={python[0]!r}, env=environment, args={python[1:]!r} + "
    program = program.replace('command="semsearch", args=', call)
    names: dict[str, Any] = {"environment": environment}
    code = compile(program, "docs/mcp.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    asyncio.run(eval(code, names))  # noqa: S307  (of this repository)
    assert capsys.readouterr().out == "boiler.md The boiler is under the stairs.\n"


def test_the_page_names_every_tool_and_every_argument_of_a_search() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (with `--allow-write`)?", PAGE, flags=re.MULTILINE)
    assert {name: bool(writes) for name, writes in listed} == {tool.name: tool.writes for tool in TOOLS}
    search = next(tool for tool in TOOLS if tool.name == "search")
    fields = set(search.arguments.model_fields) - {"index"}
    (row,) = re.findall(r"^\| `search` .*$", PAGE, flags=re.MULTILINE)
    assert [field for field in fields if f"`{field}`" not in row] == []
