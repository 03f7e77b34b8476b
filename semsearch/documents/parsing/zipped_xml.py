"""XML files in a zip archive (DOCX, PPTX, ODT, EPUB), read with the standard library, limited in size and entities."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Self
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.text_writer import MOST_PROPERTY, on_one_line
from semsearch.errors import Unreadable
from semsearch.types import JsonObject

MAX_XML_BYTES = 100 * 2**20  # a text of 10 MB is about 60 MB of document.xml; a zip bomb is more
MOST_TAGS = 5_000_000  # a text of 10 MB has up to 3 million; 100 MB of empty elements need 2 GB as objects
_DOCTYPE = re.compile(rb"<!DOCTYPE[^\[<>]{0,1000}>")  # one that only names the type, as of old books
_OUT_OF_MEMORY = 1  # XML_ERROR_NO_MEMORY of expat
_DC = "{http://purl.org/dc/elements/1.1/}"
_MODIFIED = "{http://purl.org/dc/terms/}modified"
_CORE = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_OWN = f"{_META}user-defined"
_ABOUT = {
    "subject": (f"{_DC}subject",),
    "description": (f"{_DC}description",),
    "publisher": (f"{_DC}publisher",),
    "contributor": (f"{_DC}contributor", f"{_CORE}lastModifiedBy"),
    "rights": (f"{_DC}rights",),
    "keywords": (f"{_CORE}keywords", f"{_CORE}category", f"{_META}keyword"),
}
_NAMED = {"Status": f"{_CORE}contentStatus", "Version": f"{_CORE}version"}
_NAMED |= {name: f"{_DC}{name.lower()}" for name in ("Identifier", "Source", "Coverage", "Relation")}
_BY_PROGRAM = re.compile(r"(?:generated|created|exported) (?:by|using|with) [\w -]{1,40}$", re.I)  # no description
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")  # in descriptions of books


def outermost(root: Element, tags: Collection[str], skip: Collection[str] = ()) -> Iterator[Element]:
    """The elements below `root` with one of these tags, in order, without those inside another one or in a `skip`."""
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if element.tag in tags:
            yield element
        elif element.tag not in skip:
            stack.extend(reversed(element))


def table_rows(
    table: Element, row: str, cell: str, paragraphs: Collection[str], text: Callable[[Element], str]
) -> list[list[str]]:
    """The texts of the cells, row by row; `text` reads a paragraph. A table in a cell is part of the cell's text."""
    return [
        [" ".join(map(text, outermost(inner, paragraphs))) for inner in outermost(line, [cell])]
        for line in outermost(table, [row])
    ]


def parsed(data: bytes, kind: str, member: str) -> Element:
    """The root element of an XML file. Raises Unreadable if it is damaged, too large or declares entities."""
    data = _DOCTYPE.sub(b"", data, count=1)
    if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:  # no format here declares any; entities can be bombs
        raise Unreadable(f"not a readable {kind}: it declares entities")
    if data.count(b"<") > MOST_TAGS:
        raise Unreadable(f"{member} has more than {MOST_TAGS:,} tags")
    try:
        return ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        if error.code == _OUT_OF_MEMORY:
            raise MemoryError from error
        raise Unreadable(f"not a readable {kind}: {error}") from error


def properties_in(root: Element) -> tuple[str, JsonObject]:
    """As `Archive.properties`, of their element."""
    values = {
        "author": ", ".join(_said(root, f"{_META}initial-creator", f"{_DC}creator")),
        "date": on_one_line(root.findtext(f".//{_MODIFIED}") or root.findtext(f".//{_DC}date")),
    }
    for name, tags in _ABOUT.items():
        values[name] = ", ".join(text for text in _said(root, *tags) if not _BY_PROGRAM.match(text))
    about: JsonObject = {name: value for name, value in values.items() if value}
    own = {on_one_line(each.get(f"{_META}name")): on_one_line(each.text, MOST_PROPERTY) for each in root.iter(_OWN)}
    own |= {name: ", ".join(_said(root, tag)) for name, tag in _NAMED.items()}
    if own := {name: text for name, text in own.items() if text}:
        about["properties"] = own
    titles = dict.fromkeys(filter(None, (on_one_line(each.text) for each in root.iter(f"{_DC}title"))))
    return on_one_line(": ".join(titles)), about  # of a book its subtitle, too


def _said(root: Element, *tags: str) -> list[str]:
    """The texts of these elements, each once, without tags in them."""
    elements = (each for tag in tags for each in root.iter(tag))
    texts = dict.fromkeys(on_one_line(_TAG.sub(" ", each.text or ""), MOST_PROPERTY) for each in elements)
    return list(filter(None, texts))


def _key(member: str) -> str:
    """What the names of a member have in common: some programs write \\ for /, or other letters as capitals."""
    return member.replace("\\", "/").lstrip("/").lower()


class Archive:
    """The XML members of one archive, found by any spelling of their names. Raises Unreadable for anything wrong."""

    def __init__(self, path: Path, kind: str) -> None:
        self._kind = kind
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Unreadable(self._not_readable(error)) from error
        self._stored = {_key(name): name for name in reversed(self._zip.namelist())}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def xml(self, member: str) -> Element:
        """The root element of a member."""
        return parsed(self.data(member), self._kind, member)

    def optional_xml(self, member: str) -> Element:
        """The root element of a member; an empty element where there is no such member."""
        return self.xml(member) if self.has(member) else Element("absent")

    def properties(self, member: str) -> tuple[str, JsonObject]:
        """The title, "" without one, and author, date and PROPERTIES, in the member with those of the document."""
        return properties_in(self.optional_xml(member))

    def names(self) -> list[str]:
        """The names of all members."""
        return self._zip.namelist()

    def has(self, member: str) -> bool:
        """Whether there is such a member."""
        return _key(member) in self._stored

    def _entry(self, member: str) -> zipfile.ZipInfo:
        """Raises KeyError for a member that is not there under any spelling."""
        exact = self._zip.NameToInfo.get(member)
        return exact or self._zip.getinfo(self._stored[_key(member)])

    def data(self, member: str) -> bytes:
        """The content of a member."""
        try:
            entry = self._entry(member)
            if entry.flag_bits & 0x1:
                raise Unreadable(f"encrypted {self._kind}: it needs a password")
            with self._zip.open(entry) as file:
                data = file.read(MAX_XML_BYTES + 1)  # the size in the header may lie
        except KeyError as error:
            raise Unreadable(f"not a readable {self._kind}: it has no {member}") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise Unreadable(self._not_readable(error)) from error
        if len(data) > MAX_XML_BYTES:
            raise Unreadable(f"{member} unpacks to more than {MAX_XML_BYTES // 2**20} MB")
        return data

    def _not_readable(self, error: Exception) -> str:
        return f"not a readable {self._kind}: {error}"
