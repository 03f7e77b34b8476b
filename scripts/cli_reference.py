#!/usr/bin/env python3
"""The reference of the command line, docs/cli.md, written from the commands' help.

Usage: scripts/cli_reference.py [--check]

With --check nothing is written, and the exit code is 1 where docs/cli.md is out of date. Needs semsearch installed.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import typer
from click import Command, Context, Group, Parameter

from semsearch.cli.main import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
INTRODUCTION = """# Command line

Written by `scripts/cli_reference.py` from what `semsearch COMMAND --help` prints: change the commands, not this page.
`--home`, `--offline`, `--quiet` and `--verbose` may stand before or after the command. Results go to stdout, progress
and messages to stderr.

`semsearch --install-completion` has your shell complete commands, options, and the names of indexes, encoders,
rerankers and templates. `scripts/release/man_pages.py -o ~/.local/share/man/man1` writes a man page for each command:
`man semsearch-query`.
"""
SHELL = {"--install-completion", "--show-completion", "--help"}  # options of every program


def page() -> str:
    """The page as it should be."""
    command = typer.main.get_command(app)
    assert isinstance(command, Group)
    context = Context(command, info_name="semsearch")
    entries = "\n".join(_entries(command, context))
    return f"{INTRODUCTION}\n{_contents(command, context)}\n## semsearch\n\n{_body(command, context)}\n{entries}"


def _contents(command: Group, context: Context) -> str:
    names = command.list_commands(context)
    rows = [f"| [`{name}`](#semsearch-{name}) | {_summary(command, context, name)} |" for name in names]
    return "| command | what it does |\n|---|---|\n" + "\n".join(rows) + "\n"


def _summary(command: Group, context: Context, name: str) -> str:
    results = command.get_command(context, name)
    return _plain((results.help or "").strip().partition("\n\n")[0].replace("\n", " ")) if results else ""


def _entries(group: Group, context: Context) -> Iterator[str]:
    """A section for each command of `group`, and for theirs."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        own = Context(command, info_name=name, parent=context)
        marks = "#" * (2 + own.command_path.count(" ") - 1)
        yield f"{marks} {own.command_path}\n\n{_body(command, own)}"
        if isinstance(command, Group):
            yield from _entries(command, own)


def _body(command: Command, context: Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = ["```text", *textwrap.wrap(usage, 118), "```", "", *_paragraphs(command.help or "")]
    rows = [row for each in command.get_params(context) if SHELL.isdisjoint(each.opts) for row in _rows(each, context)]
    if rows:
        parts += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(parts)


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; one that click must not wrap, marked by a backspace, is code."""
    for paragraph in textwrap.dedent(text).replace("\f", "").strip().split("\n\n"):
        if paragraph.lstrip().startswith("\b"):
            yield "```text\n" + textwrap.dedent(paragraph.partition("\n")[2]) + "\n```\n"
        else:
            yield textwrap.fill(_plain(" ".join(paragraph.split())), 118, break_long_words=False) + "\n"


def _rows(parameter: Parameter, context: Context) -> Iterator[str]:
    """The row of an option, or of an argument that has a help of its own."""
    shown = parameter.get_help_record(context)
    if shown is not None and shown[1] and not getattr(parameter, "hidden", False):
        name, said = (" ".join(each.split()).replace("|", "\\|") for each in shown)
        yield f"| `{name}` | {_plain(said)} |"


def _plain(text: str) -> str:
    """Text without a meaning in Markdown."""
    return text.replace("*", "\\*").replace("<", "&lt;")


def main() -> int:
    options = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(options, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != options:
        print("docs/cli.md is out of date: run scripts/cli_reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
