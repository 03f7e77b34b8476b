"""What a spreadsheet has beside the values of its cells: comments, text boxes, charts, headers, cells shown in percent.

Source: ECMA-376 part 1, section 18 (SpreadsheetML); OpenDocument 1.3 part 3. calamine reads none of it. Parsing
all of a sheet would take ten times as long as calamine does, so of Excel's files only parts beside the cells are
parsed, and OpenDocument's only where they have more than cells.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.open_xml import GRAPHICS, WORDS, Package, R, omit_drawings, paragraphs
from semsearch.documents.parsing.text_writer import TextWriter, remark
from semsearch.documents.parsing.zipped_xml import Archive
from semsearch.errors import Unreadable
from semsearch.types import JsonObject

_OPTIONS = re.compile(rb'<formula1>(?:"|&quot;)([^<]+?)(?:"|&quot;)<')  # of what may be entered in a cell
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_THREADS = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_OFFICE, _TABLE, _TEXT, _DRAW, _STYLE = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("office", "table", "text", "drawing", "style")
)
_PAGE_FIELDS = {f"{_TEXT}{name}" for name in ("page-number", "page-count", "sheet-name", "date", "time", "title")}
_WORD = re.compile(r"[^\W\d_]{2,}")
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
_READ = {"comments", "threadedComment", "drawing"}
_NOTICE = "[Threaded comment]"  # begins the copy of a thread of comments for older programs
_PERCENT_FORMATS = {"9", "10"}  # built in: 0 % and 0.00 %
_PAGE_TEXT = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>([^<]*)<")
_FIELDS = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|\d+|[A-Z])')  # fonts, colours, sizes, page numbers
_MOST_REPEATED = 1000  # columns of one value
_BEYOND_VALUES = (b"<office:annotation", b"<draw:", b'"percentage"', b"-message ", b"<text:a ", b"-list(")
_CHECK = re.compile(rb"<(?:\w+:)?dataValidation\b([^<>]*)>")
_SAID = re.compile(rb"\b(sqref|ref|promptTitle|prompt|errorTitle|error|tooltip)=(\"[^\"]*\"|'[^']*')")
_LINK = re.compile(rb"<(?:\w+:)?hyperlink\b([^<>]*\btooltip=[^<>]*)>")
_CAPTION, _TAG = re.compile(rb"(?s)<v:textbox\b[^<>]*>(.*?)(?:</v:textbox>|\Z)"), re.compile(rb"<[^<>]*>")
_SHEET = re.compile(rb'<table:table\b[^<>]*?\btable:name="([^"]*)"')
_SHOWN_WITH_NUMBERS = re.compile(rb"<number:text>([^<]*)</")
_LITERAL = re.compile(r'"([^"]*)"')
_NOT_COMPUTED = re.compile(rb"<f\b[^<>]*>([^<]*)</f>(?:<v\s*/>|<v></v>)?</c>")  # by the program that wrote it
_COMPUTED = re.compile(rb"<f\b[^<>]*>([^<]*)</f><v>[^<]")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # as Excel writes a line end


@dataclass
class Extras:
    """What one sheet has beside its values. Rows and columns count from 0. `writer` counts what is left out."""

    by_row: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    percents: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    on_pages: dict[str, None] = field(default_factory=dict)
    writer: TextWriter = field(default_factory=TextWriter)

    def add_comment(self, row: int, author: str, text: str) -> None:
        """Programs begin a comment with its author, or do not."""
        text = " ".join(text.split())
        if text:
            self.by_row[row].append(remark("" if text.startswith(author) else author, text))

    def add_drawing(self, row: int, texts: Iterable[str]) -> None:
        """Add the texts of a text box or chart that stands at this row."""
        self.by_row[row] += [" ".join(text.split()) for text in texts if text.strip()]


def read(path: Path) -> tuple[dict[str, Extras], str, JsonObject]:
    """What each sheet has, by its name, and the title and properties of the workbook; nothing of one that is damaged,
    and no sheets of one in Excel's binary formats.
    """
    title, about = "", JsonObject()
    try:
        with Package(path, "spreadsheet", "xl/workbook.xml") as package:
            if package.has("content.xml"):
                title, about = package.properties("meta.xml")
                return dict(_of_opendocument(package)), title, about
            title, about = package.title_and_properties()
            return dict(_of_excel(package)) if package.main.lower().endswith(".xml") else {}, title, about
    except Unreadable:
        return {}, title, about


def _of_excel(package: Package) -> Iterator[tuple[str, Extras]]:
    relations = package.related(package.main)
    percents = _percent_styles(package)
    names = {
        person.get("id", ""): person.get("displayName", "")
        for part in package.parts(package.main, "person")
        for person in package.optional_xml(part)
    }
    workbook = package.xml(package.main)
    extras = Extras()
    for named in workbook.iter(f"{_S}definedName"):
        extras.writer.omit("defined name", "" if "!" in (named.text or "") else f"{named.get('name')} {named.text}")
        extras.writer.omit("defined name", named.get("comment", ""))
    for shown in _formats(package):
        extras.writer.omit("number format", " ".join(_LITERAL.findall(shown)))
    for sheet in workbook.iter(f"{_S}sheet"):
        relation = relations.get(sheet.get(f"{R}id", ""))
        if relation is not None and package.has(relation.part):
            package.omit_links(relation.part, extras.writer)
            for kind, part in package.related(relation.part).values():
                if kind == "vmlDrawing" and package.has(part):
                    with suppress(Unreadable):
                        captions = b" ".join(_CAPTION.findall(package.data(part)))
                        extras.writer.omit("form control", _unescaped(_TAG.sub(b" ", captions)))
                root = package.part(part, extras.writer) if kind in _READ else None
                if root is not None and kind == "drawing":
                    _add_drawings(package, part, root, extras)
                elif root is not None:
                    _add_comments(root, names, extras)
            _scan(package.data(relation.part), percents, extras)
            yield sheet.get("name", ""), extras
            extras = Extras()


def _add_comments(root: Element, names: dict[str, str], extras: Extras) -> None:
    authors = [author.text or "" for author in root.iter(f"{_S}author")]
    names = names | {str(number): author for number, author in enumerate(authors)}
    for comment in root.iter():
        if comment.tag == f"{_THREADS}threadedComment":
            text, author = comment.findtext(f"{_THREADS}text", ""), comment.get("personId", "")
        elif comment.tag == f"{_S}comment":
            text, author = "".join(each.text or "" for each in comment.iter(f"{_S}t")), comment.get("authorId", "")
        else:
            continue
        if not text.startswith(_NOTICE):
            extras.add_comment(_row(comment.get("ref", "")), names.get(author, ""), text)


def _add_drawings(package: Package, part: str, root: Element, extras: Extras) -> None:
    relations = package.related(part)
    for anchor in root:
        row = anchor.findtext(f"{_XDR}from/{_XDR}row", "0")
        graphics = [each for each in anchor.iter() if each.tag in GRAPHICS]
        texts = [package.graphic(each, relations, extras.writer) for each in graphics]
        extras.add_drawing(int(row) if row.isdigit() else 0, paragraphs(anchor) + texts)
        omit_drawings(anchor, _XDR, extras.writer)


def _formats(package: Package) -> list[str]:
    """The formats of numbers that somebody has defined."""
    styles = package.parts(package.main, "styles")
    return [each.get("formatCode", "") for part in styles for each in package.optional_xml(part).iter(f"{_S}numFmt")]


def _percent_styles(package: Package) -> set[bytes]:
    """The numbers of the cell styles that show a number in percent."""
    root = Element("absent")
    for part in package.parts(package.main, "styles"):
        root = package.optional_xml(part)
    formats = {each.get("numFmtId", "") for each in root.iter(f"{_S}numFmt") if "%" in each.get("formatCode", "")}
    styles = root.find(f"{_S}cellXfs")
    return {
        str(number).encode()
        for number, style in enumerate(styles if styles is not None else ())
        if style.get("numFmtId") in formats | _PERCENT_FORMATS
    }


def _scan(sheet: bytes, percents: set[bytes], extras: Extras) -> None:
    """Find cells in percent, notes on what to enter, tooltips of links, and what stands above and below the pages,
    without parsing the sheet.
    """
    behind = sheet.rfind(b"</sheetData>")
    for element in (*_CHECK.finditer(sheet, behind), *_LINK.finditer(sheet, behind)):
        said = {name: _unescaped(text[1:-1]) for name, text in _SAID.findall(element[1])}
        place = _row((said.get(b"sqref") or said.get(b"ref", "")).partition(":")[0].partition(" ")[0])
        for kind in (b"prompt", b"error"):
            extras.add_comment(place, "", " ".join([said.get(kind + b"Title", ""), said.get(kind, "")]))
        extras.add_comment(place, "", said.get(b"tooltip", ""))
    for match in _PAGE_TEXT.finditer(sheet, behind):
        text = _FIELDS.sub(" ", _unescaped(match[1]))
        if any(map(str.isalpha, text)):
            extras.on_pages[" ".join(text.split())] = None
    for options in _OPTIONS.findall(sheet, behind):
        extras.writer.omit("option of a field", _unescaped(options))
    for formula in _NOT_COMPUTED.findall(sheet):
        extras.writer.omit("formula without its value", _unescaped(formula))
    for formula in (each for each in _COMPUTED.findall(sheet) if b'"' in each or b"&quot;" in each):
        extras.writer.omit("text in a formula", " ".join(_LITERAL.findall(_unescaped(formula))))
    if percents:
        styled = re.compile(
            rb'c r="([A-Z]+)(\d+)" s="(?:%s)"' % b"|".join(sorted(percents))
        )  # as all programs write it
        for column, row in styled.findall(sheet):
            extras.percents[int(row) - 1].add(_column(column))


def _unescaped(text: bytes) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), unescape(text.decode(errors="replace")))


def _row(place: str) -> int:
    """The row of a cell such as B4."""
    digits = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ$")
    return max(0, int(digits) - 1) if digits.isdigit() else 0


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number - 1


def _of_opendocument(archive: Archive) -> Iterator[tuple[str, Extras]]:
    extras, content = Extras(), archive.data("content.xml")
    _add_pages(archive, extras)
    styles = b""
    with suppress(Unreadable):  # a damaged part, which is counted already
        styles = archive.data("styles.xml")
    for data in (content, styles):
        shown = filter(WORDS.search, _SHOWN_WITH_NUMBERS.findall(data))
        extras.writer.omit("number format", _unescaped(b" ".join(shown)))
    if not any(mark in content for mark in _BEYOND_VALUES):
        if first := _SHEET.search(content):
            yield _unescaped(first[1]), extras
        return
    root = archive.xml("content.xml")
    checks = root.iter(f"{_TABLE}content-validation")
    messages: dict[str, str] = {}
    for check in checks:
        titles = [said.get(f"{_TABLE}title", "") for said in check]
        messages[check.get(f"{_TABLE}name", "")] = " ".join(filter(None, [*titles, *_paragraphs(check)]))
        condition = check.get(f"{_TABLE}condition", "")
        extras.writer.omit("option of a field", " ".join(_LITERAL.findall(condition)) if "-list(" in condition else "")
    for table in root.iter(f"{_TABLE}table"):
        row = 0
        for link in table.iter(f"{_TEXT}a"):
            extras.writer.omit("address of a link", unquote(link.get(_HREF, "")))
        for element in table.iter():
            if element.tag == f"{_TABLE}shapes":
                _add_shapes(element, 0, extras, archive)
            elif element.tag == f"{_TABLE}table-row":
                _add_cells(element, row, messages, extras, archive)
                row += _repeated(element, "rows")
        yield table.get(f"{_TABLE}name", ""), extras
        extras = Extras()


def _part(archive: Archive, member: str, extras: Extras) -> Element:
    """The root element of a part beside the cells; an empty one, and an omission, for a damaged one."""
    try:
        return archive.optional_xml(member)
    except Unreadable:
        extras.writer.omit("damaged part")
        return Element("absent")


def _add_pages(archive: Archive, extras: Extras) -> None:
    """What stands above and below pages, without the fields in it; a word alone beside these is counted: "Page 7"."""
    numbers: dict[str, None] = {}
    for master in _part(archive, "styles.xml", extras).iter(f"{_STYLE}master-page"):
        for paragraph in (each for part in master for each in part.iter(f"{_TEXT}p")):
            has_number = False
            for child in [child for child in paragraph.iter() if child.tag in _PAGE_FIELDS]:
                child.text, has_number = " ", True
            text = " ".join("".join(paragraph.itertext()).split())
            if len(_WORD.findall(text)) > has_number:
                extras.on_pages[text] = None
            elif has_number:
                numbers[text] = None
    extras.writer.omit("page number", " ".join(numbers))


def _add_cells(element: Element, row: int, messages: dict[str, str], extras: Extras, archive: Archive) -> None:
    """messages: notes on what to enter, by name; each is taken by the first cell that has it."""
    column = 0
    for cell in element:
        extras.add_comment(row, "", messages.pop(cell.get(f"{_TABLE}content-validation-name", ""), ""))
        if cell.get(f"{_OFFICE}value-type") == "percentage":
            extras.percents[row].update(range(column, column + min(_repeated(cell, "columns"), _MOST_REPEATED)))
        column += _repeated(cell, "columns")
        for annotation in cell.iter(f"{_OFFICE}annotation"):
            extras.add_comment(row, annotation.findtext(_CREATOR, ""), " ".join(_paragraphs(annotation)))
        _add_shapes(cell, row, extras, archive)


def _add_shapes(element: Element, row: int, extras: Extras, archive: Archive) -> None:
    for shape in element:
        if shape.tag.startswith(_DRAW):
            extras.add_drawing(row, _paragraphs(shape))
            for chart in shape.iter(f"{_DRAW}object"):
                member = posixpath.normpath(f"{chart.get(_HREF, '')}/content.xml")
                root = _part(archive, member, extras) if archive.has(member) else chart
                extras.add_drawing(row, dict.fromkeys(text for text in _paragraphs(root) if _WORD.search(text)))
            for _ in shape.iter(f"{_DRAW}image"):
                extras.writer.omit("picture")
            for said in (*shape.iter(f"{_SVG}title"), *shape.iter(f"{_SVG}desc")):
                extras.writer.omit("description", said.text or "")


def _paragraphs(element: Element) -> list[str]:
    return ["".join(paragraph.itertext()) for paragraph in element.iter(f"{_TEXT}p")]


def _repeated(element: Element, what: str) -> int:
    number = element.get(f"{_TABLE}number-{what}-repeated", "1")
    return int(number) if number.isdigit() else 1
