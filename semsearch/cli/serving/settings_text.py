"""The settings of an assistant as text: one entry is set or removed, and everything else stays as it is written.

JSON may have comments and trailing commas, as VS Code and Zed write it. The new text is read again: unless it says what
was there, with that one change, it is refused.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from semsearch.errors import SemsearchError
from semsearch.types import JsonObject

_APART = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|.', re.DOTALL)
_BESIDE = re.compile(r"[ \t]*(//[^\n]*|/\*[^\n]*?\*/)")  # a comment on the same line
_WORD = re.compile(r"[^\s,\]}/]+")


class Unsuitable(SemsearchError):
    """A text that cannot be read, or not be changed in one place."""


def entry(text: str, keys: Sequence[str], *, is_toml: bool) -> JsonObject | None:
    """What is at the place that `keys` name; None for nothing. Raises Unsuitable."""
    found = _read(text, is_toml=is_toml)
    try:
        for key in keys:
            found = found.get(key, {})
        return found or None
    except AttributeError:
        raise Unsuitable(f"it cannot be read: {key!r} is not in an object.") from None


def changed(text: str, keys: Sequence[str], entry: JsonObject | None, *, is_toml: bool) -> str:
    """`text` with `entry` at the place that `keys` name, or without what is there. Raises Unsuitable."""
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        return changed(text.replace("\r\n", "\n"), keys, entry, is_toml=is_toml).replace("\n", "\r\n")
    change = _with_table if is_toml else _with_member
    before = _read(text, is_toml=is_toml)
    try:
        wanted = _changed(before, keys, entry)
    except ValueError as error:
        raise Unsuitable(f"it cannot be read: {error}.") from None
    with suppress(ValueError, IndexError, Unsuitable):
        plain = text.removeprefix("\ufeff")
        new = text[: len(text) - len(plain)] + change(plain, keys, entry)
        if _without_empty(_read(new, is_toml=is_toml), keys) == _without_empty(wanted, keys):
            return new
    raise Unsuitable("it is written in a way that cannot be changed in one place.")


def _read(text: str, *, is_toml: bool) -> JsonObject:
    """Raises Unsuitable."""
    try:
        return (tomllib.loads if is_toml else from_json)(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise Unsuitable(f"it cannot be read: {error}.") from None
    except RecursionError:
        raise Unsuitable("it cannot be read: it is nested too deep.") from None


def from_json(text: str) -> JsonObject:
    """JSON with comments and trailing commas; nothing else is an empty object. Raises ValueError for other values."""
    tokens = [token for token in _TOKEN.findall(text.removeprefix("\ufeff")) if not token.startswith(("//", "/*"))]
    plain = re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda match: match[1] or "", "".join(tokens))
    read = json.loads(plain) if plain.strip() else {}
    if not isinstance(read, dict):
        raise ValueError("it is not an object")
    return read


def shown(keys: Sequence[str], entry: JsonObject, *, is_toml: bool) -> str:
    """The entry as the only one of a file."""
    return changed("", keys, entry, is_toml=is_toml)


def _changed(settings: JsonObject, keys: Sequence[str], entry: JsonObject | None) -> JsonObject:
    settings = copy.deepcopy(settings)
    inner = settings
    for key in keys[:-1]:
        if entry is None and key not in inner:
            return settings
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{key!r} is not an object")
    inner.pop(keys[-1], None)
    if entry is not None:
        inner[keys[-1]] = entry
    return settings


def _without_empty(settings: JsonObject, keys: Sequence[str]) -> JsonObject:
    """Without the object of servers if there are none: in TOML it is there only with a server in it."""
    return {key: value for key, value in settings.items() if key != keys[0] or value != {}}


class _Member(NamedTuple):
    """A member of an object in a text: its key, and where key and value begin, and the value ends."""

    key: str
    start: int
    value: int
    end: int


def _with_member(text: str, keys: Sequence[str], entry: JsonObject | None) -> str:
    if _past(text, 0) == len(text):
        if entry is None:
            return text
        text = f"{text.rstrip()}\n{{}}\n".lstrip("\n")
    unit = indent[1] if (indent := re.search(r'\n([ \t]+)"', text)) else "  "
    at, depth = _begin(text), ""
    for number, key in enumerate(keys):
        members = list(_members(text, at))
        depth = _indent(text, members) or depth + unit
        member = next((each for each in members if each.key == key), None)
        if member is None:
            if entry is None:
                return text
            for outer in reversed(keys[number + 1 :]):
                entry = {outer: entry}
            written = f"{json.dumps(key)}: {_dumped(entry, depth, unit)}"
            return _inserted(text, at, members, written, depth, depth.removesuffix(unit))
        if number + 1 < len(keys):
            at = member.value
            if text[at] != "{":
                raise ValueError(f"{key!r} is not an object")
    assert member is not None
    if entry is not None:
        return text[: member.value] + _dumped(entry, depth, unit) + text[member.end :]
    return _without(text, members, member)


def _inserted(text: str, at: int, members: Sequence[_Member], written: str, depth: str, outer: str) -> str:
    """With a member at the end of the object that begins at `at`; `depth` and `outer` are spaces before both."""
    if not members:
        closing = "" if "\n" in text[at + 1 : _value_end(text, at)] else f"\n{outer}"
        return f"{text[: at + 1]}\n{depth}{written}{closing}{text[at + 1 :]}"
    last = members[-1].end
    comma = _past(text, last)
    separated = text[comma] == ","  # by a trailing one
    end = comma + 1 if separated else last
    if comment := _BESIDE.match(text, end):
        end = comment.end()
    before = text[:end] if separated else f"{text[:last]},{text[last:end]}"
    return f"{before}\n{depth}{written}{',' * separated}{text[end:]}"


def _without(text: str, members: Sequence[_Member], member: _Member) -> str:
    at = members.index(member)
    following = _past(text, member.end)
    before, end = text[: member.start].rstrip(), member.end
    if text[following] == ",":
        end = following + 1
    elif at:  # the last one: the comma before it goes
        comma = _past(text, members[at - 1].end)
        before = before[:comma] + before[comma + 1 :]
    return before + text[end:]


def _dumped(entry: object, depth: str, unit: str) -> str:
    return json.dumps(entry, indent=unit, ensure_ascii=False).replace("\n", f"\n{depth}")


def _begin(text: str) -> int:
    at = _past(text, 0)
    if text[at] != "{":
        raise ValueError("it is not an object")
    return at


def _members(text: str, at: int) -> Iterator[_Member]:
    """The members of the object that begins at `at`."""
    at = _past(text, at + 1)
    while text[at] != "}":
        start, end = at, _value_end(text, at)
        key = json.loads(text[start:end])
        value = _past(text, _past(text, end) + 1)
        end = _value_end(text, value)
        yield _Member(key, start, value, end)
        at = _past(text, end)
        at = _past(text, at + 1) if text[at] == "," else at


def _value_end(text: str, at: int) -> int:
    """Where the value that begins at `at` ends."""
    if text[at] not in "{[":
        match = (_TOKEN if text[at] == '"' else _WORD).match(text, at)
        return match.end() if match else at + 1
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += (token[0] in ("{", "[")) - (token[0] in ("}", "]"))
        if not depth:
            return token.end()
    raise ValueError("an object does not end")


def _past(text: str, at: int) -> int:
    """Behind spaces and comments."""
    match = _APART.match(text, at)
    return match.end() if match else at


def _indent(text: str, members: Sequence[_Member]) -> str:
    """What stands before the first member on its line, if these are spaces."""
    line = text[text.rfind("\n", 0, members[0].start) + 1 : members[0].start] if members else ""
    return "" if line.strip() else line


def _with_table(text: str, keys: Sequence[str], entry: Mapping[str, Any] | None) -> str:
    """In TOML the entry is a table, written at the end."""
    name = ".".join(keys)
    lines, kept, own = text.splitlines(keepends=True), [], False
    waiting: list[str] = []  # blank lines and comments that may belong to the next table
    for line in lines:
        if header := re.match(r"\s*\[+\s*([^\]]*?)\s*\]", line):
            own = header[1].replace('"', "") == name or header[1].replace('"', "").startswith(f"{name}.")
        blank = not line.strip() or line.lstrip().startswith("#")
        if own and blank:
            waiting.append(line)
            continue
        if not own:
            kept += [*waiting, line]
        waiting = []
    rest = "".join([*kept, *waiting]).rstrip("\n")
    if entry is None:
        return rest + "\n" if rest else ""
    tables = {key: value for key, value in entry.items() if isinstance(value, dict)}
    written = [f"[{name}]", *_assigned({key: value for key, value in entry.items() if key not in tables})]
    for key, table in tables.items():
        written += ["", f"[{name}.{key}]", *_assigned(table)]
    return "\n".join([*([rest, ""] if rest else []), *written]) + "\n"


def _assigned(values: Mapping[str, Any]) -> list[str]:
    """JSON's strings and lists of strings are TOML's too."""
    written = {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}
    return [f"{key} = {value}".replace("\x7f", "\\u007f") for key, value in written.items()]
