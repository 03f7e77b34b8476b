"""`semsearch ui`: what it starts, and that none of Streamlit's own defaults is left where it matters."""

from __future__ import annotations

import ast
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commandline import CommandLine

pytest.importorskip("streamlit")
pytest.importorskip("semsearch_ui")
from semsearch.cli.serving import ui_command as ui
from semsearch_ui.server import run

PAGES = Path(__file__).resolve().parents[2] / "ui"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that would have taken this process's place, each with what the environment adds."""
    found: list[list[str]] = []
    names = ("SEMSEARCH_HOME", ui.TOKEN)
    for name in names:
        monkeypatch.delenv(name, raising=False)

    def execv(_: str, arguments: list[str]) -> None:
        found.append([*arguments, *(f"{name}={os.environ.pop(name)}" for name in names)])

    monkeypatch.setattr(os, "execv", execv)
    return found


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as holding:
        holding.bind((ui.HERE, 0))
        holding.listen()
        yield holding.getsockname()[1]


def test_it_prints_the_address_with_a_token_that_is_kept_for_its_owner_and_no_argument(
    cli: CommandLine, started: list[list[str]], tmp_path: Path
) -> None:
    def printed(*flags: str) -> str:
        ran = cli("--home", tmp_path, "ui", "--no-browser", *flags)
        assert ran.code == 0
        assert not ran.out
        found = re.search(rf"http://{re.escape(ui.HERE)}:\d+/\?token=([\w-]{{40,}}) ", ran.err)
        assert found
        return found[1]

    first = printed()
    file = tmp_path / ui.TOKEN_FILE
    assert file.read_text().strip() == first and file.stat().st_mode & 0o777 == 0o600
    assert printed() == first  # bookmarks still work
    second = printed("--new-token")
    assert second != first and printed() == second
    file.chmod(0o644)
    third = printed()
    assert third != second and file.stat().st_mode & 0o777 == 0o600  # others could have read it
    file.write_text("short\n")
    assert printed() not in (third, "short")
    for arguments in started:
        assert arguments[1:4] == ["-P", "-m", "semsearch_ui"]
        assert "--browser" not in arguments
        assert arguments[-2] == f"SEMSEARCH_HOME={tmp_path}"
        token = arguments[-1].removeprefix("SEMSEARCH_UI_TOKEN=")
        assert not [each for each in arguments[:-1] if token in each]
    assert {first, second, third} < {each[-1].removeprefix("SEMSEARCH_UI_TOKEN=") for each in started}


def test_a_token_of_ones_own_is_not_printed_and_a_short_one_is_an_error(
    cli: CommandLine, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ui.TOKEN, "a-token-of-my-own.1")
    ran = cli("ui", "--no-browser")
    assert "/?token=$SEMSEARCH_UI_TOKEN " in ran.err
    assert started[0][-1] == "SEMSEARCH_UI_TOKEN=a-token-of-my-own.1"
    for wrong in ("short", "has a space and is long", "semi;colons;are;for;cookies"):
        monkeypatch.setenv(ui.TOKEN, wrong)
        ran = cli("ui")
        assert ran.code == 2
        assert wrong not in ran.err


def test_nothing_of_streamlits_own_defaults_is_left_where_it_matters() -> None:
    wanted = {
        "server.address": "127.0.0.1",
        "server.enableXsrfProtection": True,
        "server.enableAgentApi": False,
        "browser.gatherUsageStats": False,
        "client.showErrorDetails": "none",
        "client.disableDataExport": True,
        "server.allowedHosts": ["127.0.0.1", "localhost", "::1"],
    }
    assert wanted.items() <= run.OPTIONS.items()


def test_the_browser_is_opened_and_files_have_a_limit_unless_told_otherwise(
    cli: CommandLine, started: list[list[str]]
) -> None:
    cli.ok("ui")
    assert "--browser" in started[0]
    assert f"--max-upload={ui.MAX_UPLOAD}" in started[0]
    cli.ok("ui", "--max-upload", "200")
    assert "--max-upload=200" in started[1]
    assert cli("ui", "--max-upload", "0").code == 2


def test_a_port_that_is_taken_is_an_error_and_without_one_the_next_is_found(
    cli: CommandLine, started: list[list[str]], taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = cli("ui", "--port", str(taken))
    assert ran.code == 1
    assert f"port {taken} is taken" in ran.err
    monkeypatch.setattr(ui, "PORT", taken)
    cli.ok("ui", "--no-browser")
    assert f"--port={taken}" not in started[0]
    assert cli("ui", "--port", "70000").code == 2


def test_without_streamlit_it_says_what_to_install(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui, "find_spec", lambda name: None)
    ran = cli("ui")
    assert ran.code == 1
    assert "pip install" in ran.err and "[cpu,ui]'" in ran.err


@pytest.mark.parametrize("page", sorted(PAGES.rglob("*.py")), ids=lambda page: page.stem)
def test_only_constants_of_a_page_may_be_markup_that_is_not_cleaned(page: Path) -> None:
    tree = ast.parse(page.read_text(encoding="utf-8"))
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        unsafe = [keyword for keyword in call.keywords if (keyword.arg or "").startswith("unsafe_allow")]
        own = bool(call.args) and (
            isinstance(call.args[0], ast.Constant)
            or (isinstance(call.args[0], ast.Name) and call.args[0].id in constants)
        )
        assert own or not unsafe, ast.unparse(call)
