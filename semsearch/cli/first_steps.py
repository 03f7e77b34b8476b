"""What `semsearch` alone says: what there is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from semsearch import __version__
from semsearch.cli.options import Options
from semsearch.stores import drivers
from semsearch.utils.untrusted import visible

MOST_NAMES = 8
QUESTION = '"how do I descale a kettle?"'
END = "All commands: semsearch --help        Is something wrong: semsearch doctor"


def text(options: Options) -> str:
    """A few lines for a person. No index is opened."""
    home = options.folder()
    names = drivers.stores_below(home)
    flag = f" --home {options.home}" if options.home else ""
    steps = _with_indexes(names, flag) if names else _without(flag)
    width = max(len(command) for command, _ in steps)
    lines = [f"  {command.ljust(width)}   {what}" for command, what in steps]
    return visible("\n".join([f"semsearch {__version__}", "", _there(names, str(home)), "", *lines, "", END]))


def _there(names: list[str], home: str) -> str:
    if not names:
        return f"There is no index in {home} yet. Begin with a folder of texts, notes, PDFs or other documents:"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    kinds = "1 index" if len(names) == 1 else f"{len(names)} indexes"
    return f"{kinds} in {home}: {', '.join(names[:MOST_NAMES])}{more}"


def _without(flag: str) -> list[tuple[str, str]]:
    return [
        (f"semsearch{flag} query {QUESTION} FOLDER", "find the passages closest in meaning"),
        (f"semsearch{flag} index FOLDER", "read all of it beforehand, with options of your own"),
        *_extras(flag),
    ]


def _with_indexes(names: list[str], flag: str) -> list[tuple[str, str]]:
    name = f" -n {names[0]}" if len(names) > 1 else ""
    return [
        (f"semsearch{flag} query {QUESTION}{name}", "find the passages closest in meaning"),
        (f"semsearch{flag} index{name}", "read again what has changed"),
        (f"semsearch{flag} info {names[0]}", "what it contains, and what was skipped"),
        (f"semsearch{flag} query {QUESTION} FOLDER", "ask another folder"),
        *_extras(flag),
    ]


def _extras(flag: str) -> Iterable[tuple[str, str]]:
    """The commands of extras that are installed."""
    if find_spec("streamlit"):
        yield f"semsearch{flag} ui", "the same in a browser"
    if find_spec("mcp"):
        yield f"semsearch{flag} mcp", "the same for assistants: docs/mcp.md"
