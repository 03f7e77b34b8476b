"""How things look: JSON objects, error and warning lines, and text that cannot talk to the terminal.

Documents and file names are other people's: whatever a terminal would take for a command (control characters,
bidirectional overrides) is written out as \\x1b before it is shown to a person, and as \\u001b in JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from semsearch.errors import SemsearchError

# C0 and C1 controls, line and paragraph separators, and what reverses the direction of text
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # json escapes the rest itself


def safe(text: str) -> str:
    r"""`text` as one line without anything that a terminal acts on.

    >>> print(safe("two\nlines, \x1b[31mred"))
    two lines, \x1b[31mred
    """
    return _UNSAFE.sub(_escape, re.sub(r"[\t\n\r\f\v ]+", " ", text))


def emit(value: Any) -> None:
    """One JSON value on stdout: a line of its own, indented where a person reads it."""
    print(dumps(value, indent=2 if sys.stdout.isatty() else None))


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON that any terminal and any parser can take: no NaN, no raw control characters."""
    ascii_only = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, allow_nan=False, default=_plain)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def error_object(error: SemsearchError) -> dict[str, Any]:
    return {"code": error.exit_code, "message": error.message, "fix": error.fix}


def trouble(error: SemsearchError) -> None:
    """`error: what happened. What to do next.` on stderr. A filter's caret keeps its own line."""
    lines = str(error).split("\n")
    print("error: " + "\n".join(_UNSAFE.sub(_escape, line) for line in lines), file=sys.stderr)


def warn(messages: Iterable[str]) -> None:
    for message in messages:
        print(f"warning: {safe(message)}", file=sys.stderr)


def note(message: str) -> None:
    """A remark for a person, on stderr."""
    print(safe(message), file=sys.stderr)


def out(text: str = "") -> None:
    """A line of results for a person, on stdout."""
    print(text)


def table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> None:
    """Aligned columns on stdout; numbers to the right."""
    cells = [[safe(cell) for cell in row] for row in ([heads] if heads else []) + list(rows)]
    if not cells:
        return
    widths = [max(columns(row[at]) for row in cells) for at in range(len(cells[0]))]
    right = [all(_is_number(row[at]) for row in cells[bool(heads) :]) for at in range(len(widths))]
    for row in cells:
        filled = ((" " * (w - columns(cell)), cell, r) for cell, w, r in zip(row, widths, right, strict=True))
        out("  ".join(space + cell if r else cell + space for space, cell, r in filled).rstrip())


def pairs(values: Mapping[str, Any]) -> None:
    """`name  value` lines on stdout; nested values as JSON."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        text = value if isinstance(value, str) else dumps(value)
        out(f"{safe(name).ljust(width)}  {safe(text)}")


def colours(stream: TextIO | None = None) -> bool:
    """Whether `stream` (stdout) is a terminal that wants colours (https://no-color.org)."""
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def count(number: int, noun: str) -> str:
    """
    >>> count(1, "passage"), count(2000, "passage")
    ('1 passage', '2,000 passages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d,]*\.?\d+%?|[-–]?", text) is not None


def _plain(value: Any) -> Any:
    """What json does not know: numpy numbers and arrays, paths, tuples in disguise."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)
