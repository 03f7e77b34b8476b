"""`semsearch ui`: what it starts, and that none of Streamlit's own defaults is left where it matters."""

from __future__ import annotations

import ast
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commandline import CommandLine

pytest.importorskip("streamlit")
pytest.importorskip("semsearch_ui")
from semsearch.cli import ui_command as ui

PAGES = Path(__file__).resolve().parents[2] / "ui"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that would have taken this process's place."""
    found: list[list[str]] = []
    home = "SEMSEARCH_HOME"
    monkeypatch.setattr(os, "execv", lambda program, told: found.append([*told, f"{home}={os.environ[home]}"]))
    return found


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as holding:
        holding.bind((ui.HERE, 0))
        holding.listen()
        yield holding.getsockname()[1]


def test_it_binds_this_machine_alone_checks_the_host_and_sends_nothing(
    cli: CommandLine, started: list[list[str]], tmp_path: Path
) -> None:
    ran = cli("--home", tmp_path, "ui", "--no-browser")
    assert ran.code == 0
    assert not ran.out
    assert f"http://{ui.HERE}:" in ran.err
    (arguments,) = started
    assert Path(arguments[4]).resolve() == PAGES / "app.py"
    wanted = (
        "server.address=127.0.0.1",
        "server.headless=true",
        "server.enableXsrfProtection=true",
        "server.enableAgentApi=false",
        "browser.gatherUsageStats=false",
        "client.showErrorDetails=none",
        "client.disableDataExport=true",
        "server.allowedHosts=127.0.0.1",
    )
    assert not {f"--{each}" for each in wanted} - set(arguments)
    assert not [each for each in arguments if each.startswith("--server.allowedHosts") and "*" in each]
    assert arguments[-1] == f"SEMSEARCH_HOME={tmp_path}"


def test_streamlit_knows_every_setting_that_it_is_given() -> None:
    from streamlit import config

    told = [each[2:].partition("=")[0] for each in ui.command(PAGES / "app.py", 8501, browser=True)[5:]]
    assert not [name for name in told if name not in config.get_config_options()]


def test_the_browser_is_opened_unless_told_otherwise(cli: CommandLine, started: list[list[str]]) -> None:
    cli.ok("ui")
    assert "--server.headless=false" in started[0]


def test_a_port_that_is_taken_is_an_error_and_without_one_the_next_is_found(
    cli: CommandLine, started: list[list[str]], taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = cli("ui", "--port", str(taken))
    assert ran.code == 1
    assert f"port {taken} is taken" in ran.err
    monkeypatch.setattr(ui, "PORT", taken)
    cli.ok("ui", "--no-browser")
    assert f"--server.port={taken}" not in started[0]
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
