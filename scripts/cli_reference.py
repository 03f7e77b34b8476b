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
from click import Context, Group

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
    context = program()
    entries = "\n".join(_entries(context))
    return f"{INTRODUCTION}\n{_contents(context)}\n## semsearch\n\n{_body(context)}\n{entries}"


def program() -> Context:
    """The command that every other one is below."""
    return Context(typer.main.get_command(app), info_name="semsearch")


def commands(context: Context) -> list[Context]:
    """The commands right below one."""
    group = context.command
    if not isinstance(group, Group):
        return []
    below = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return [Context(each, info_name=name, parent=context) for name, each in below.items() if each and not each.hidden]


def options(context: Context) -> list[tuple[str, str]]:
    """The options of a command and what its help says of them, with arguments that have a help of their own."""
    shown = (
        each.get_help_record(context)
        for each in context.command.get_params(context)
        if SHELL.isdisjoint(each.opts) and not getattr(each, "hidden", False)
    )
    return [(" ".join(name.split()), " ".join(said.split())) for name, said in filter(None, shown)]


def _contents(context: Context) -> str:
    rows = [f"| [`{each.info_name}`](#semsearch-{each.info_name}) | {_summary(each)} |" for each in commands(context)]
    return "| command | what it does |\n|---|---|\n" + "\n".join(rows) + "\n"


def _summary(context: Context) -> str:
    return _plain((context.command.help or "").strip().partition("\n\n")[0].replace("\n", " "))


def _entries(context: Context) -> Iterator[str]:
    """A section for each command below, and for theirs."""
    for own in commands(context):
        marks = "#" * (2 + own.command_path.count(" ") - 1)
        yield f"{marks} {own.command_path}\n\n{_body(own)}"
        yield from _entries(own)


def _body(context: Context) -> str:
    usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    parts = ["```text", *textwrap.wrap(usage, 118), "```", "", *_paragraphs(context.command.help or "")]
    rows = [f"| `{_cell(name)}` | {_plain(_cell(said))} |" for name, said in options(context) if said]
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


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Text without a meaning in Markdown."""
    return text.replace("*", "\\*").replace("<", "&lt;")


def main() -> int:
    written = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(written, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != written:
        print("docs/cli.md is out of date: run scripts/cli_reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
