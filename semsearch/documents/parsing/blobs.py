"""Data within texts (pictures in base64, hexadecimal dumps, minified code): replaced by their kind and size.

Split into passages, one picture would be hundreds of them. Lines stay lines: of data over several lines the first one
has the kind and size, and the others are empty.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from typing import NamedTuple

from semsearch.documents.parsing.text_writer import letters
from semsearch.types import Document, Mark, Omission

LEAST = 200  # letters of a word that may be data
LEAST_LINES, LEAST_WIDTH = 4, 60  # of data that is broken into lines: their number, and letters in each
LEAST_CODE = 1000  # letters of a line of minified code
_LONG = re.compile(rf"base64,|(?=\D*\d)[A-Za-z0-9+/_-]{{{LEAST_WIDTH}}}|.{{{LEAST}}}")
_URI = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,60})?(?:;[\w=.+-]{1,60}){0,5};base64,[A-Za-z0-9+/=_%-]{40,}", re.I)
_SVG = re.compile(
    r"data:image/svg\+xml[^,\s]{0,60},(?:<|%3C)svg(?:[^d]|d(?!ata:)){0,100000}?(?:</|%3C/|%3C%2F)svg(?:>|%3E)",
    re.I | re.S,
)
_WORD = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{LEAST},}}+={{0,2}}")
_LINE = rf"[A-Za-z0-9+/]{{{LEAST_WIDTH},}}+={{0,2}}"
_LAST = r"(?!(?:[A-Z]?[a-z]+|[A-Z]+)$)[A-Za-z0-9+/]*+={0,2}$"  # a word is the line after the data
_LINES = re.compile(rf"^([ \t>]*){_LINE}(?:\n\1{_LINE}){{{LEAST_LINES - 1},}}+(?:\n\1{_LAST})?", re.M)
UUENCODED = re.compile(r"^begin [0-7]{3,4} ([^\n]{1,200})\n((?:[!-`][ -`]{1,84}\n)+)(?:[ `]?\n)?end[ \t]*$", re.M)
"""A file within a text: its name and its lines."""
_CODE_LINE = re.compile(rf"^[^\n]{{{LEAST_CODE},}}$", re.M)
_CODE = re.compile(r"\bfunction\b|=>|\breturn\b|\bvar\b|\bvoid 0\b|[\w)]\{[\w-]+:[^{}\n]{1,200}\}|!0\b|&&")
_SIGN = re.compile(r"[;{}()=,:]")
_HEX = re.compile(r"[0-9a-fA-F]+")
_DIGITS_AND_CAPITALS = re.compile(r"[A-Z0-9]")
_SIZES = ((2**20, "MB"), (2**10, "KB"))


class _Blob(NamedTuple):
    start: int
    end: int
    kind: str  # of the omission
    label: str  # that takes its place, without its size
    size: int  # bytes


def replaced(document: Document) -> Document:
    """The document with its data replaced, its marks where their texts are now, and the data counted as omissions."""
    text = document.text
    blobs = _blobs(text) if _may_have(text) else []
    if not blobs:
        return document
    parts: list[str] = []
    begins, shifts = [0], [0]  # from each offset of the old text on, how much further on the new one is
    at = length = 0
    counts: dict[str, int] = {}
    for blob in blobs:
        kept, label = text[at : blob.start], f"[{blob.label}, {_readable(blob.size)}]"
        label += "\n" * text.count("\n", blob.start, blob.end)
        parts += [kept, label]
        length += len(kept) + len(label)
        at = blob.end
        begins.append(at)
        shifts.append(length - at)
        counts[blob.kind] = counts.get(blob.kind, 0) + letters(text[blob.start : blob.end])
    parts.append(text[at:])
    marks: dict[int, Mark] = {}
    for mark in document.marks:
        place = bisect_right(begins, mark.start) - 1
        inside = place < len(blobs) and mark.start > blobs[place].start
        start = begins[place + 1] + shifts[place + 1] if inside else mark.start + shifts[place]
        marks[start] = replace(mark, start=start)
    text = "".join(parts) if any(kept.strip() for kept in parts[::2]) else ""
    omissions = (*document.omissions, *map(Omission._make, counts.items()))
    there = tuple(mark for mark in marks.values() if mark.start < max(len(text), 1))
    return replace(document, text=text, marks=there, omissions=omissions)


def may_have_files(text: str) -> bool:
    """Whether `UUENCODED` is worth trying: many a text has the word alone."""
    return text.startswith("begin ") or "\nbegin " in text


def _may_have(text: str) -> bool:
    """Whether there may be data, quickly: 20 ns a letter."""
    words = text.split()
    long = (
        [word for word in words if len(word) >= LEAST_WIDTH] if max(map(len, words), default=0) >= LEAST_WIDTH else []
    )
    if any(_LONG.search(word) for word in long) or may_have_files(text) or "data:image/svg" in text:
        return True
    lines = text.split("\n") if len(text) >= LEAST_CODE else []
    return any(len(line) >= LEAST_CODE and _is_minified(line) for line in lines)


def _blobs(text: str) -> list[_Blob]:
    """All data, in order, none within another."""
    some = [_Blob(*uri.span(), "data", uri[1] or "data", len(uri[0]) * 3 // 4) for uri in _URI.finditer(text)]
    some += [_Blob(*uri.span(), "data", "image/svg+xml", len(uri[0])) for uri in _SVG.finditer(text)]
    some += [_Blob(*part.span(), "data", "uuencoded data", len(part[0]) * 3 // 4) for part in UUENCODED.finditer(text)]
    for part in _LINES.finditer(text):
        if kind := _kind(part[0]):
            some.append(_Blob(part.end(1), part.end(), "data", kind, _size(part[0], kind)))
    for part in _WORD.finditer(text):
        if kind := _kind(part[0]):
            some.append(_Blob(*part.span(), "data", kind, _size(part[0], kind)))
    some += [
        _Blob(*line.span(), "minified code", "minified code", len(line[0]))
        for line in _CODE_LINE.finditer(text)
        if _is_minified(line[0])
    ]
    blobs: list[_Blob] = []
    for blob in sorted(some, key=lambda blob: (blob.start, -blob.end)):
        if not blobs or blob.start >= blobs[-1].end:
            blobs.append(blob)
    return blobs


def _kind(word: str) -> str:
    """What letters without a space are: "hexadecimal data", "base64", or "" for a path, a rule or a long name."""
    word = "".join(word.split()).lstrip(">")
    if _HEX.fullmatch(word) and len(set(word)) > 4:
        return "hexadecimal data"
    share = len(_DIGITS_AND_CAPITALS.findall(word)) / len(word)  # of random base64: 0.56
    mixed = all(any(part(letter) for letter in word) for part in (str.islower, str.isupper, str.isdigit))
    return "base64" if mixed and 0.35 < share < 0.8 else ""


def _size(word: str, kind: str) -> int:
    return letters(word) * 3 // 4 if kind == "base64" else letters(word) // 2


def _is_minified(line: str) -> bool:
    """Whether a line is code without its spaces: many signs, few spaces, and words or rules of code."""
    blank = sum(map(line.count, " \t"))
    return (
        blank * 12 < len(line)
        and len(_SIGN.findall(line)) * 8 > len(line)
        and len(_CODE.findall(line)) * 200 > len(line)
    )


def _readable(size: int) -> str:
    """
    >>> _readable(92160), _readable(3 * 2**20), _readable(90)
    ('90 KB', '3 MB', '90 bytes')
    """
    return next((f"{size / unit:.0f} {name}" for unit, name in _SIZES if size >= unit), f"{size} bytes")
