"""Texts of mail beside plain ones and HTML: flowed lines (RFC 3676), invitations (iCalendar, RFC 5545), and what stands
around base64.
"""

from __future__ import annotations

import base64
import binascii
import re
from itertools import groupby

from semsearch.documents.parsing.blobs import UUENCODED, may_have_files

LEAST_BASE64 = 16  # letters, with text around it: a word alone on its line looks like base64, too
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_QUOTED = re.compile(r">*")
_PROPERTY = re.compile(r'([A-Z-]+)((?:;[^=:;]+=(?:"[^"\n]*"|[^":;\n]*))*):(.*)')
_NAME = re.compile(r';CN="?([^";:]+)', re.I)
_ESCAPED = re.compile(r"\\([nN\\;,])")
_ENTRIES = ("VEVENT", "VTODO", "VJOURNAL")
_SHOWN = ("SUMMARY", "DTSTART", "DTEND", "DUE", "LOCATION", "ORGANIZER", "DESCRIPTION", "COMMENT")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")


def flowed(text: str, *, delsp: bool) -> str:
    """`text` with its paragraphs each on a line. `delsp`: the space that ends a line is no part of the text.

    >>> flowed("one \\ntwo\\n> three \\n> four\\n-- \\nAda", delsp=False)
    'one two\\n> three four\\n-- \\nAda'
    """
    lines: list[str] = []
    open_ = ""  # the quotation marks of a line that goes on
    goes_on = False
    for line in text.split("\n"):
        depth = _QUOTED.match(line)[0]  # type: ignore[index]  # it matches anything
        words = line[len(depth) :].removeprefix(" ")
        signature = words == "-- "
        if goes_on and depth == open_ and not signature:
            lines[-1] = (lines[-1][:-1] if delsp else lines[-1]) + words
        else:
            lines.append(f"{depth} {words}" if depth else words)
        open_, goes_on = depth, words.endswith(" ") and not signature
    return "\n".join(lines)


def around_base64(payload: str, data: bytes) -> tuple[str, bytes, str]:
    """The lines before base64, its content, and the lines after it, as of a mailing list; they are no base64.

    data: the content, if there are no such lines. A payload that only says that it is base64 is all lines.

    >>> around_base64("SGVsbG8sIHlvdSE=\\n-- \\nThe list", b"")
    ('', b'Hello, you!', '-- \\nThe list')
    """
    lines = payload.strip().split("\n")
    encoded = [_BASE64.fullmatch(line.strip()) is not None for line in lines]
    if all(is_encoded or not line.strip() for is_encoded, line in zip(encoded, lines, strict=True)):
        return "", data, ""
    runs = [list(run) for is_encoded, run in groupby(range(len(lines)), encoded.__getitem__) if is_encoded]
    longest = max(runs, key=lambda run: sum(len(lines[at]) for at in run), default=[])
    last = next((at for at in longest if lines[at].strip().endswith("=")), longest[-1] if longest else -1)
    word = "".join(lines[at].strip() for at in longest if at <= last)
    if len(word) < LEAST_BASE64 or len(word) % 4:
        return payload.strip(), b"", ""
    return (
        "\n".join(lines[: longest[0]]).strip(),
        base64.b64decode(word),
        "\n".join(lines[last + 1 :]).strip(),
    )


def without_files(text: str) -> tuple[str, list[tuple[str, bytes]]]:
    r"""A text without the files that are uuencoded in it; and their names and contents.

    >>> without_files("Two files:\nbegin 644 a.txt\n#=&5A\n`\nend\n")
    ('Two files:\n[a.txt]\n', [('a.txt', b'tea')])
    """
    files: list[tuple[str, bytes]] = []

    def named(file: re.Match[str]) -> str:
        try:
            content = b"".join(map(binascii.a2b_uu, file[2].splitlines()))
        except binascii.Error:
            return file[0]
        files.append((file[1].strip(), content))
        return f"[{file[1].strip()}]"

    return UUENCODED.sub(named, text) if may_have_files(text) else text, files


def calendar(text: str) -> tuple[str, str]:
    """The events and tasks of a calendar as lines (what, when, where, who, the description); and the lines left out."""
    shown: list[str] = []
    rest: list[str] = []
    within: list[str] = []
    for line in re.sub(r"\n[ \t]", "", text).split("\n"):
        parts = _PROPERTY.match(line)
        name, parameters, value = parts.groups() if parts else ("", "", "")
        if name == "BEGIN":
            within.append(value.strip())
            shown += [""] if shown and within[-1] in _ENTRIES else []
        elif name == "END":
            within = within[:-1]
        elif name in _SHOWN and within and within[-1] in _ENTRIES:
            shown.append(_shown(name, parameters, value))
        else:
            rest.append(line)
    return "\n".join(shown), "\n".join(rest)


def _shown(name: str, parameters: str, value: str) -> str:
    words = _ESCAPED.sub(lambda escaped: "\n" if escaped[1] in "nN" else escaped[1], value).strip()
    if name == "ORGANIZER":
        who = _NAME.search(parameters)
        words = who[1] if who else words.removeprefix("mailto:").removeprefix("MAILTO:")
    elif time := _TIME.fullmatch(words):
        day, clock = "-".join(time.groups()[:3]), f" {time[4]}:{time[5]}" if time[4] else ""
        words = day + clock + (" UTC" if time[6] else "")
    return (
        words if name in ("SUMMARY", "DESCRIPTION", "COMMENT") else f"{name.removeprefix('DT').capitalize()}: {words}"
    )
