#!/usr/bin/env python3
"""Man pages of every command, written from the commands' help.

Usage: scripts/release/man_pages.py -o DIR        for example: -o ~/.local/share/man/man1, and then: man semsearch-query

DIR gets semsearch.1, and semsearch-COMMAND.1 for each command. Needs semsearch installed.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from click import Context

from scripts import cli_reference
from semsearch import __version__

EXIT_STATUS = """0 fine, zero hits too; 1 failure at run time; 2 the request is invalid; 3 an index, id, path or model
does not exist; 4 the index was built with another encoder; 5 finished, but items were skipped under --strict or a
check failed; 6 the device does not exist; 7 another process writes to the index; 130 and 143 ended by a signal."""


def pages() -> dict[str, str]:
    """The pages by their file names."""
    return dict(_pages(cli_reference.program()))


def _pages(context: Context) -> Iterator[tuple[str, str]]:
    yield f"{_name(context)}.1", "\n".join(_page(context)) + "\n"
    for each in cli_reference.commands(context):
        yield from _pages(each)


def _page(context: Context) -> Iterator[str]:
    command = context.command
    command.get_help(context)  # it gives the arguments the help that they were declared with
    name = _name(context)
    summary, *paragraphs = textwrap.dedent(command.help or "").replace("\f", "").strip().split("\n\n")
    yield f'.TH "{name.upper()}" "1" "" "semsearch {__version__}" "semsearch"'
    yield ".ad l"  # long choices have no spaces to spread
    yield from (".SH NAME", f"{_text(name)} \\- {_line(summary).rstrip('.')}", ".SH SYNOPSIS")
    yield f".B {_text(context.command_path)}"
    yield _line(" ".join(command.collect_usage_pieces(context)))
    if paragraphs:
        yield ".SH DESCRIPTION"
        for paragraph in paragraphs:
            yield from _paragraph(paragraph)
    if options := cli_reference.options(context):
        yield ".SH OPTIONS"
        for option, said in options:
            yield from (".TP", f".B {_text(option)}", _text(said))
    if below := cli_reference.commands(context):
        yield ".SH COMMANDS"
        for each in below:
            yield from (".TP", f".B {_text(each.info_name or '')}", _line(each.command.get_short_help_str(200)))
    if context.parent is None:
        yield from (".SH EXIT STATUS", _line(EXIT_STATUS))
    else:
        yield from (".SH SEE ALSO", f".BR {_text(_name(context.parent))} (1)")


def _paragraph(text: str) -> Iterator[str]:
    """A paragraph; one that click must not wrap, marked by a backspace, keeps its lines."""
    if text.lstrip().startswith("\b"):
        yield from (".PP", ".nf", *map(_text, textwrap.dedent(text.partition("\n")[2]).splitlines()), ".fi")
    else:
        yield from (".PP", _line(text))


def _name(context: Context) -> str:
    return context.command_path.replace(" ", "-")


def _line(text: str) -> str:
    return _text(" ".join(text.split()))


def _text(text: str) -> str:
    """A line of text without a meaning for troff, in ASCII, which may be broken after a `|`."""
    quoted = text.replace("\\", "\\e").replace("-", "\\-").replace("|", "|\\:")
    quoted = re.sub(r"[^\x00-\x7f]", lambda results: f"\\[u{ord(results[0]):04X}]", quoted)
    return f"\\&{quoted}" if quoted.startswith((".", "'")) else quoted


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a man page for each command.")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder, made if missing")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    written = pages()
    for name, page in written.items():
        (folder / name).write_text(page, encoding="ascii")
    print(f"{len(written)} pages in {folder}")


if __name__ == "__main__":
    main()
