"""Console output: JSON and tables on stdout; errors, warnings and questions on stderr.

Documents and file names are not trusted: characters that control a terminal, bidirectional overrides among them, are
escaped as \\x1b for a person, and as \\u001b in JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from semsearch.errors import SemsearchError, UsageError
from semsearch.utils.untrusted import escaped

if TYPE_CHECKING:  # 10 ms that --help does not need
    from semsearch.types import JsonObject

_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # json escapes the rest itself


def safe(text: str) -> str:
    r"""`text` as one line without characters that control a terminal.

    >>> print(safe("two\nlines, \x1b[31mred"))
    two lines, \x1b[31mred
    """
    return escaped(re.sub(r"[\t\n\r\f\v ]+", " ", text))


def emit(value: object) -> None:
    """Print one JSON value to stdout: on a line of its own, indented on a terminal."""
    print(dumps(value, indent=2 if sys.stdout.isatty() else None))


def dumps(value: object, indent: int | None = None) -> str:
    """`value` as JSON that is safe for any terminal and any parser: no NaN, no raw control characters."""
    ascii_only = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, allow_nan=False, default=_plain)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def error_object(error: SemsearchError) -> JsonObject:
    """The object that `--json` prints for an error."""
    return {"code": error.exit_code, "message": error.message, "fix": error.command}


def print_error(error: SemsearchError) -> None:
    """Print `error: what happened. What to do next.` to stderr. A filter's caret keeps its own line."""
    text = f"{error.message} {error.command}".rstrip()
    print("error: " + "\n".join(escaped(line) for line in text.split("\n")), file=sys.stderr)


def result(
    report: JsonObject,
    shown: str | Sequence[str] | Mapping[str, object] | Callable[[], None],
    *,
    as_json: bool,
    quiet: bool = False,
    failed: SemsearchError | None = None,
) -> None:
    """Print the result of a command as a JSON object, or for a person, and end the command with `failed`, if any.

    `shown` is a line, which `quiet` leaves out, or several lines, values by name, or a function that prints.
    """
    if as_json:
        emit({"schema": 1, **report, **({"error": error_object(failed)} if failed else {})})
    elif callable(shown):
        shown()
    elif isinstance(shown, Mapping):
        pairs(shown)
    elif not (quiet and isinstance(shown, str)):
        for line in [shown] if isinstance(shown, str) else shown:
            out(safe(line))
    sys.stdout.flush()  # under --watch the next result may be hours away
    if failed:
        print_error(failed)
        raise typer.Exit(failed.exit_code)


def confirm(question: str, what: str, *, yes: bool) -> None:
    """Ask on a terminal; elsewhere -y has to be passed for `what`. The answer no ends the command with exit 1."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{what} needs confirmation, and this is not a terminal: pass -y.")
    if not typer.confirm(safe(question), err=True):
        raise typer.Exit(1)


def warn(messages: Iterable[str]) -> None:
    """Print a warning line to stderr for each message."""
    for message in messages:
        print(f"warning: {safe(message)}", file=sys.stderr)


def note(message: str) -> None:
    """Print a line to stderr."""
    print(safe(message), file=sys.stderr)


def out(text: str = "") -> None:
    """Print a line of results to stdout."""
    print(text)


def begin(text: str) -> None:
    """Print the beginning of a line of results to stdout at once; `out` prints the rest."""
    print(text, end="", flush=True)


def table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> None:
    """Print aligned columns to stdout, with numbers to the right."""
    cells = [[safe(cell) for cell in row] for row in ([heads] if heads else []) + list(rows)]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    right = [all(map(_is_number, column)) for column in zip(*cells[bool(heads) :], strict=True)] or [True] * len(heads)
    for row in cells:
        filled = ((" " * (w - columns(cell)), cell, r) for cell, w, r in zip(row, widths, right, strict=True))
        out("  ".join(space + cell if r else cell + space for space, cell, r in filled).rstrip())


def pairs(values: Mapping[str, object]) -> None:
    """Print `name  value` lines to stdout; nested values as JSON."""
    width = max(map(len, values), default=0)
    for name, value in values.items():
        out(f"{safe(name).ljust(width)}  {safe(value if isinstance(value, str) else dumps(value))}")


def colours() -> bool:
    """Whether stdout is a terminal that wants colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns(text: str) -> int:
    """The width of `text` on a terminal: East Asian wide characters take two columns, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def size(bytes_: float) -> str:
    """
    >>> size(1_500_000)
    '1.5 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}" if unit == "B" else f"{bytes_:.1f} {unit}"
        bytes_ /= 1000
    return f"{bytes_:.1f} TB"


def duration(seconds: float) -> str:
    """
    >>> duration(59.6), duration(3661), duration(200_000)
    ('1:00', '1:01:01', '55:33:20')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d,]*\.?\d+%?|[-–]?", text) is not None


def _plain(value: object) -> object:
    """`value` for `json`, which supports neither numpy nor other mappings than dict, sets and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, set | frozenset) else str(value)
