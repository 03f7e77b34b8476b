"""Errors: what they suggest works."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from semsearch import errors
from semsearch.cli import commands
from semsearch.cli.output import console


class Distribution:
    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        return self.direct_url if name == "direct_url.json" else None


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, "pip install 'semsearch[ui]'"),
        (
            '{"url": "file:///a/semsearch.whl", "archive_info": {}}',
            "pip install 'semsearch[ui] @ file:///a/semsearch.whl'",
        ),
        ('{"url": "file:///a/checkout", "dir_info": {}}', "pip install 'semsearch[ui] @ file:///a/checkout'"),
        (
            '{"url": "https://example.org/s.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}',
            "pip install 'semsearch[ui] @ git+https://example.org/s.git'",
        ),
    ],
)
def test_an_extra_is_installed_from_where_semsearch_came(
    direct_url: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages" / "semsearch" / "errors.py"))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution(direct_url))
    monkeypatch.setattr(errors, "pip", lambda action: f"pip {action}")
    assert errors.install_command("ui") == expected
    assert errors.MissingExtra("The page", "ui", "streamlit").fix == f"Install it: {expected}"


def test_in_a_checkout_the_extra_is_installed_from_the_checkout() -> None:
    checkout = Path(errors.__file__).resolve().parents[1]
    assert errors.install_command("cpu,ui") == f"{errors.pip('install')} -e '{checkout}[cpu,ui]'"
    assert (checkout / "pyproject.toml").is_file()


def environment(folder: Path, monkeypatch: pytest.MonkeyPatch, *, on_path: str) -> Path:
    """A stand-in for the environment in which semsearch runs; the shell finds the pip in `on_path`."""
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    monkeypatch.setattr(shutil, "which", lambda name: f"{on_path}/{name}")
    return folder


def test_pip_is_named_alone_only_where_the_shell_finds_that_of_semsearch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(tmp_path / "own", monkeypatch, on_path=f"{tmp_path}/own/bin")
    assert errors.pip("install") == "pip install"
    environment(tmp_path / "other", monkeypatch, on_path="/usr/bin")
    assert errors.pip("uninstall -y") == f"{tmp_path}/other/bin/python -m pip uninstall -y"
    environment(tmp_path / "a b", monkeypatch, on_path="/usr/bin")
    assert errors.pip("install") == f'"{tmp_path}/a b/bin/python" -m pip install'


def test_pipx_and_uv_are_told_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = environment(tmp_path / "semsearch", monkeypatch, on_path="/usr/bin")
    (folder / "pipx_metadata.json").write_text("{}")
    assert errors.pip("install") == "pipx runpip semsearch install"
    (folder / "pipx_metadata.json").unlink()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert errors.pip("uninstall -y") == f"uv pip uninstall --python {folder}/bin/python"


def test_an_unknown_name_suggests_the_closest_and_lists_all() -> None:
    error = errors.UnknownName("loader", "jsnol", ["csv", "jsonl"])
    assert str(error) == "no loader is called 'jsnol'. Did you mean 'jsonl'? Choose from: csv, jsonl."


def test_an_error_advises_in_python_and_at_the_command_line_in_their_own_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = errors.UsageError("a.", 'Use device="cpu".', "Use --device cpu.")
    error.add("Or buy a GPU.")
    assert str(error) == 'a. Use device="cpu". Or buy a GPU.'
    console.print_error(error)
    assert capsys.readouterr().err == "error: a. Use --device cpu. Or buy a GPU.\n"
    assert console.error_object(error)["fix"] == "Use --device cpu. Or buy a GPU."
    assert console.error_object(errors.UsageError("a.", "b."))["fix"] == "b."


AT_COMMAND_LINE = re.compile(
    rf"(?<![\w-])--[a-z][\w-]+|(?<![\w-])-[a-z] [A-Z0-9]|\bsemsearch ({'|'.join(commands.TABLE)})\b"
)
IN_PYTHON = re.compile(r"\w+\([^)]*\)|(?<![#,…])\b[a-z_]+=")  # MODEL#dtype=bf16 is a name


def test_no_error_of_the_library_gives_advice_for_the_command_line_alone() -> None:
    found = [
        f"{file.name}:{text.lineno}: {text.value}"
        for file in sorted(Path(errors.__file__).parent.rglob("*.py"))
        if not {"cli", "scale", "serve"} & set(file.parts)  # commands, and what a command alone starts
        for fix, _ in advice(ast.parse(file.read_text(encoding="utf-8")))
        for text in texts(fix)
        if AT_COMMAND_LINE.search(text.value)
    ]
    assert found == []


def test_no_error_advises_a_user_of_the_command_line_to_call_a_function() -> None:
    found = [
        f"{file.name}:{text.lineno}: {text.value}"
        for file in sorted(Path(errors.__file__).parent.rglob("*.py"))
        for fix, command in advice(ast.parse(file.read_text(encoding="utf-8")))
        if not command or "cli" in file.parts
        for text in texts(command or fix)
        if IN_PYTHON.search(text.value) and file.name not in ONLY_IN_PYTHON and "integrations" not in file.parts
    ]
    assert found == []


ONLY_IN_PYTHON = {
    "sql_functions.py",  # its functions are those of SQL
    "base.py",
    "current_space.py",
    "encoder.py",
    "index.py",
    "open_store.py",
    "query_check.py",
    "sts.py",
    "writer.py",
}  # of what no command passes


def advice(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """What each call of an error says in Python, message and fix together, and at the command line if it differs."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
            named = {each.arg: each.value for each in node.keywords}
            command = named.pop("command", node.args[2] if len(node.args) > 2 else None)
            yield ast.List([*node.args[:2], *named.values()]), command


def texts(tree: ast.AST) -> list[ast.Constant]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
