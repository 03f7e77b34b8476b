"""RTF: paragraphs, tables row by row, headings by their styles; title, author and date from its properties.

Source: Rich Text Format Specification 1.9.1. Read here, in one pass: striprtf leaves out headings and properties.
Text boxes, notes and comments follow the paragraph that they are anchored to; headers and footers stand at the end,
each text once. Pictures are left out, and what is hidden or deleted.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.documents.file_access import read_regular
from semsearch.documents.parsing.charset import as_utf8
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import ADDRESS, TextWriter
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject

ISOLATED = True
MOST_DEPTH = 10_000  # groups within groups; a document has some ten
_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})?\ ?|\\'(?P<hex>[\da-fA-F]{2})|\\(?P<symbol>[^a-zA-Z])"
    r"|(?P<brace>[{}])|[\r\n\0]+|(?P<text>[^\\{}\r\n\0]+)|\\"
)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_CHARACTERS = {"tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’"}
_CHARACTERS |= {"ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ", "cell": " | ", "nestcell": " | "}
_HIDING = {"v": "hidden text", "deleted": "deleted text"}
_SYMBOLS = {"~": "\xa0", "_": "-", "{": "{", "}": "}", "\\": "\\"}
_ENDS = {"par", "sect", "page", "column", "row", "nestrow"}
_LEFT_OUT = """
    colortbl pict themedata colorschememapping datastore latentstyles listtable listoverridetable rsidtbl generator
    xmlnstbl filetbl revtbl bkmkstart bkmkend atnid comment nonshppict
"""
_WORDS = re.compile(r"[^\W\da-fA-F_]")  # else it is a number
_FOR_OTHERS = "part for other programs"
_ADDRESS = "address of a link"
_NAMED = dict.fromkeys(("xe", "tc", "tcn"), "index entry") | {
    "ffdeftext": "default of a field",
    "ffl": "option of a field",
    "fldinst": _ADDRESS,
}
_NAMED |= dict.fromkeys(("ffhelptext", "ffstattext"), "tooltip")
_NOT_TEXT = set(_LEFT_OUT.split())
_UNREAD = {_FOR_OTHERS, *_NAMED.values()}
_PAGES = "header headerl headerr headerf footer footerl footerr footerf"
_PLACES = dict.fromkeys(_PAGES.split(), "pages") | dict.fromkeys(("shp", "do", "object"), "drawing")
_PLACES |= {"footnote": "note", "annotation": "comment", "atnauthor": "commentator"}
_IN_DRAWINGS = {"shptxt": "box", "dptxbxtext": "box", "result": "box", "shprslt": "nothing", "objdata": "nothing"}
_TEXTS = {"text", "note", "box", "comment", "commentator", "pages"}
_INFORMATION = {"title": "title", "author": "author", "subject": "subject", "keywords": "keywords"}
_INFORMATION |= {"doccomm": "description", "category": "category", "operator": "contributor"}
_PEOPLE = {"manager": "Manager", "company": "Company"}
_INFORMATION |= _PEOPLE
_PROPERTIES = _INFORMATION | {"revtim": "date", "creatim": "created"}
_CHARSETS = {128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257}
_CHARSETS |= {204: 1251, 222: 874, 238: 1250}
_HEADING = re.compile(r"(?:heading|überschrift|titre) ?(\d)|title$", re.I)


@dataclass(frozen=True, slots=True)
class _Group:
    """The state within a pair of braces."""

    place: str = "text"  # what it holds: one of _TEXTS, drawing, nothing, fonttbl, stylesheet, info, upr, or a property
    hidden: str = ""  # why its text is left out
    font: int = -1
    style: int = -1
    outline: int = -1
    skip: int = 1  # characters after \u that stand for it in readers without Unicode


class _Reader:
    """One pass over a document."""

    def __init__(self) -> None:
        self.writer = TextWriter()
        self.properties: dict[str, str] = {}
        self._group = _Group()
        self._stack: list[_Group] = []
        self._fresh = False  # just after a brace, where a destination is named
        self._starred = False
        self._texts: dict[str, list[str]] = {place: [] for place in _TEXTS}  # of paragraphs that have not ended
        self._asides: list[tuple[str | None, str]] = []  # of this paragraph: the author of a comment, text
        self._pages: list[str] = []  # headers and footers
        self._name: list[str] = []  # of a style
        self._bytes = bytearray()
        self._units: list[int] = []  # of UTF-16
        self._to_skip = 0
        self._after_row = False
        self._codepage = "cp1252"
        self._fonts: dict[int, str] = {}
        self._headings: dict[int, int] = {}  # style -> level
        self._date: dict[str, int] = {}

    def read(self, text: str) -> None:
        """Read the document, whose bytes are characters of Latin-1."""
        at = 0
        while token := _TOKEN.match(text, at):
            at = token.end()
            if token["word"] == "bin":
                at += max(0, int(token["number"] or 0))
            elif token["word"]:
                self._word(token["word"], int(token["number"]) if token["number"] else None)
            elif token["brace"]:
                self._brace(token["brace"])
            elif token["hex"]:
                self._add_bytes(bytes.fromhex(token["hex"]))
            elif token["symbol"]:
                self._symbol(token["symbol"])
            elif token["text"]:
                self._add_bytes(token["text"].encode("latin-1"))
        self._end_paragraph()
        self.writer.page_texts(self._pages)

    def _brace(self, brace: str) -> None:
        self._decoded()
        self._to_skip = 0
        if brace == "{":
            if len(self._stack) > MOST_DEPTH:
                raise Unreadable(f"its groups are nested more than {MOST_DEPTH:,} deep")
            self._stack.append(self._group)
            self._fresh = True
            return
        if self._group.place == "stylesheet":
            self._end_style()
        elif self._group.place in ("date", "created"):
            self._end_date(self._group.place)
        if self._stack:
            inner, self._group = self._group.place, self._stack.pop()
            if inner not in (self._group.place, "text") and inner in _TEXTS:
                self._end_aside(inner)

    def _symbol(self, symbol: str) -> None:
        if symbol == "*":
            self._starred = self._fresh
            return
        self._decoded()
        self._fresh = False
        if symbol in "\r\n":
            self._end_paragraph()
        else:
            self._add(_SYMBOLS.get(symbol, ""))

    def _word(self, word: str, number: int | None) -> None:
        fresh, starred = self._fresh, self._starred
        self._fresh = self._starred = False
        if word == "u" and number is not None:
            self._add_unit(number % 65536)
            return
        self._decoded()
        self._to_skip = 0
        if fresh and (place := _place(word, starred, self._group.place)):
            self._group = replace(self._group, place=place)
            if word == "pict":
                self.writer.omit("picture")
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word in _ENDS:
            self._end_paragraph(row=word.endswith("row"))
        elif word in ("yr", "mo", "dy", "hr", "min"):
            self._date[word] = number or 0
        else:
            self._format(word, number)

    def _format(self, word: str, number: int | None) -> None:
        value = -1 if number is None else number
        if word == "ansicpg":
            self._codepage = _codec(value)
        elif word == "fcharset" and self._group.place == "fonttbl":
            self._fonts[self._group.font] = _codec(_CHARSETS.get(value, 0)) if value in _CHARSETS else self._codepage
        elif word == "pard":
            self._group = replace(self._group, style=-1, outline=-1)
        elif word == "plain":
            self._group = replace(self._group, hidden="")
        elif word in _HIDING:
            self._group = replace(self._group, hidden=_HIDING[word] if number != 0 else "")
        elif word in ("f", "s", "uc", "outlinelevel"):
            self._group = _with(self._group, word, value)

    def _add_bytes(self, data: bytes) -> None:
        self._fresh = self._starred = False
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        if skipped < len(data):
            self._decode_units()
            self._bytes += data[skipped:]

    def _add_unit(self, unit: int) -> None:
        if self._bytes:
            self._decoded()
        self._units.append(unit)
        self._to_skip = max(0, self._group.skip)

    def _decoded(self) -> None:
        self._decode_units()
        if self._bytes:
            data, self._bytes = bytes(self._bytes), bytearray()
            self._add(data.decode(self._fonts.get(self._group.font, self._codepage), "replace"))

    def _decode_units(self) -> None:
        if self._units:
            units, self._units = self._units, []
            self._add(b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le", "replace"))

    def _add(self, text: str) -> None:
        place = self._group.place
        if place in _TEXTS and self._group.hidden:
            self.writer.omit(self._group.hidden, text)
        elif place in _TEXTS:
            self._texts[place].append(text)
        elif place == "stylesheet":
            self._name.append(text)
        elif place in _UNREAD and _WORDS.search(text):
            self.writer.omit(place, "".join(ADDRESS.findall(text)) if place == _ADDRESS else text)
        elif place in _INFORMATION.values():
            self.properties[place] = self.properties.get(place, "") + text

    def _end_paragraph(self, *, row: bool = False) -> None:
        self._decoded()
        if self._group.place != "text":
            self._add("\n")
            return
        text = self._taken("text").strip(" |")
        level = self._headings.get(self._group.style, self._group.outline + 1)
        if 1 <= level <= 9:
            self.writer.heading(text, level)
        else:
            self.writer.block(text, gap="\n" if row and self._after_row else "\n\n")
        self._after_row = row
        asides, self._asides = self._asides, []
        for author, aside in asides:
            if author is None:
                self.writer.block(aside)
            else:
                self.writer.remark(author, aside)

    def _end_aside(self, place: str) -> None:
        if place == "commentator":
            return
        text = "\n".join(filter(None, map(str.strip, self._taken(place).split("\n"))))
        if place == "pages":
            self._pages.append(text)
        else:
            self._asides.append((self._taken("commentator") if place == "comment" else None, text))

    def _taken(self, place: str) -> str:
        parts, self._texts[place] = self._texts[place], []
        return "".join(parts)

    def _end_style(self) -> None:
        name, self._name = "".join(self._name).strip().rstrip(";"), []
        if self._group.style >= 0 and (heading := _HEADING.match(name)):
            self._headings[self._group.style] = int(heading[1] or 1)

    def _end_date(self, place: str) -> None:
        parts, self._date = self._date, {}
        if 0 < parts.get("yr", 0) < 10_000 and 0 < parts.get("mo", 0) < 13 and 0 < parts.get("dy", 0) < 32:
            day = f"{parts['yr']:04}-{parts['mo']:02}-{parts['dy']:02}"
            self.properties[place] = f"{day}T{parts.get('hr', 0):02}:{parts.get('min', 0):02}:00"


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its properties, else by its first heading of level one."""
    data = read_regular(path)
    narrow = as_utf8(data)
    if not narrow.lstrip().startswith(b"{\\rtf"):
        raise Unreadable("not an RTF document")
    reader = _Reader()
    is_wide = narrow is not data
    reader.read(_BEYOND_ASCII.sub(_escaped, narrow.decode()) if is_wide else data.decode("latin-1"))
    texts = {name: " ".join(text.split()) for name, text in reader.properties.items()}
    metadata: JsonObject = {name: texts.get(name) for name in ("author", "subject", "description", "contributor")}
    metadata["properties"] = {name: texts[name] for name in _PEOPLE.values() if texts.get(name)}
    metadata["date"] = texts.get("date") or texts.get("created")
    metadata["keywords"] = ", ".join(filter(None, [texts.get("keywords"), texts.get("category")]))
    yield reader.writer.document(texts.get("title"), {name: value for name, value in metadata.items() if value})


def _escaped(letter: re.Match[str]) -> str:
    units = letter[0].encode("utf-16-le")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2], 'little')}?" for at in range(0, len(units), 2))


def _place(word: str, starred: bool, around: str) -> str:
    """What the group that begins with this word holds; "" for more of what is around it."""
    if around == "info":
        return _PROPERTIES.get(word, "nothing")
    if around == "drawing":
        return _IN_DRAWINGS.get(word, "")
    if around == "text" and word in ("fonttbl", "stylesheet", "info", "upr"):
        return word
    if around == "upr" and word == "ud":  # a text in Unicode, after the same one without
        return "text"
    if around in _TEXTS and word in _PLACES:
        return _PLACES[word]
    if word in _NOT_TEXT or word.endswith("Pr"):  # properties of formulas
        return "nothing"
    if word in _NAMED:
        return _NAMED[word]
    if word == "moMath" or not starred:
        return ""
    return _FOR_OTHERS if around in _TEXTS else "nothing"


def _with(group: _Group, word: str, value: int) -> _Group:
    if word == "f":
        return replace(group, font=value)
    if word == "s":
        return replace(group, style=value)
    return replace(group, skip=min(max(value, 0), 10)) if word == "uc" else replace(group, outline=value)


def _codec(codepage: int) -> str:
    try:
        return codecs.lookup(f"cp{codepage}").name
    except LookupError:
        return "cp1252"
