"""Subtitles (SubRip, WebVTT): what is said, in paragraphs, each under the time at which it begins.

A paragraph ends at a pause, and at the end of a sentence once it has lasted a while, so that a passage is a stretch of
speech and a hit names its time. Source: WebVTT of the W3C; SubRip has no standard. Formatting is left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from semsearch.documents.parsing.charset import read_text
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.errors import Unreadable
from semsearch.types import Document

ISOLATED = False
PAUSE = 3.0  # seconds of silence that end a paragraph
LONG, LONGEST = 30.0, 90.0  # seconds after which a paragraph ends with a sentence, and in any case
_TIMES = re.compile(
    r"^[ \t]*(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?[ \t]+-->[ \t]+"
    r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?[^\n]*$",
    re.M,
)
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>\n]{1,100})>")
_TAG = re.compile(r"</?[a-zA-Z\d][^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")
_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")


class _Cue(NamedTuple):
    start: float  # seconds
    end: float
    lines: list[str]


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document without a title. Raises Unreadable for a file without any times."""
    text, note = read_text(path)
    writer = TextWriter()
    for cues in _paragraphs(_cues(text, writer)):
        writer.heading(_clock(cues[0].start), 2)
        writer.block(_joined(cues), gap="\n")
    if not (document := writer.document(None, note)).text:
        raise Unreadable("no subtitles in it: no times such as 00:01:02,500 --> 00:01:05,000")
    yield document


def _cues(text: str, writer: TextWriter) -> Iterator[_Cue]:
    """Every subtitle with a text, up to the next blank line; a line that repeats the one before it is left out, and so
    is what stands between them, such as notes. A number before the times is no text.
    """
    last, at = "", 0
    for times in _TIMES.finditer(text):
        lines = []
        _omit(text[at : times.start()], writer)
        at = times.end() + 1
        for line in _lines_after(text, at):
            words = _plain(line)
            at += len(line) + 1
            if words and words != last:
                lines.append(words)
                last = words
            elif words:
                writer.omit("repeated line", words)
        if lines:
            begin, end = _seconds(times.groups()[:4]), _seconds(times.groups()[4:])
            yield _Cue(begin, end, lines)
    _omit(text[at:], writer)


def _omit(between: str, writer: TextWriter) -> None:
    lines = [line.strip().removeprefix("\ufeff").removeprefix("WEBVTT") for line in between.split("\n")]
    if words := " ".join(line for line in lines if line and not line.isdecimal()):
        writer.omit("text between the subtitles", words)


def _lines_after(text: str, at: int) -> Iterator[str]:
    while at < len(text):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if not line.strip() or _TIMES.match(line):
            return
        yield line
        at = end + 1 if end >= 0 else len(text)


def _paragraphs(cues: Iterable[_Cue]) -> Iterator[list[_Cue]]:
    open_: list[_Cue] = []
    for cue in cues:
        if open_ and _ends(open_, cue):
            yield open_
            open_ = []
        open_.append(cue)
    if open_:
        yield open_


def _ends(paragraph: list[_Cue], following: _Cue) -> bool:
    last, lasted = paragraph[-1], following.start - paragraph[0].start
    whole = _END.search(last.lines[-1]) is not None
    return following.start - last.end > PAUSE or lasted > LONGEST or (whole and lasted > LONG)


def _joined(cues: Iterable[_Cue]) -> str:
    """The lines as prose; one that begins with a speaker or a dash stands by itself."""
    parts: list[str] = []
    for line in (line for cue in cues for line in cue.lines):
        own = line.startswith(("-", "–", "—")) or re.match(r"\w[\w .]{0,30}: ", line)
        parts.append(f"\n{line}" if parts and own else f" {line}" if parts else line)
    return "".join(parts)


def _plain(line: str) -> str:
    named = _SPEAKER.sub(lambda match: f"{match[1].strip()}: ", line)
    return " ".join(html.unescape(_TAG.sub("", named)).split())


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def _clock(seconds: float) -> str:
    """
    >>> _clock(3725.5)
    '1:02:05'
    """
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
