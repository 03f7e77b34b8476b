"""XML files in a zip archive (DOCX, ODT), read with the standard library, with limits on size and entities."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from semsearch.errors import Unreadable

MAX_XML_BYTES = 100 * 2**20  # a text of 10 MB is about 60 MB of document.xml; a zip bomb is more
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def cell_text(cell: ElementTree.Element, tag: str, text: Callable[[ElementTree.Element], str]) -> str:
    """The paragraphs of a table cell, elements called `tag`, on one line; `text` reads one."""
    return " ".join(text(paragraph) for paragraph in cell.iter(tag))


class Archive:
    """The XML members of one archive. Raises Unreadable for anything that is wrong with it."""

    def __init__(self, path: Path, kind: str) -> None:
        self._kind = kind
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Unreadable(self._not_readable(error)) from error

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def xml(self, member: str) -> ElementTree.Element:
        """The root element of a member."""
        data = self._read(member)
        if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:  # neither format has one; entities can be bombs
            raise Unreadable(f"not a readable {self._kind}: it declares entities")
        try:
            return ElementTree.fromstring(data)
        except ElementTree.ParseError as error:
            raise Unreadable(self._not_readable(error)) from error

    def optional_xml(self, member: str) -> ElementTree.Element:
        """The root element of a member; an empty element where there is no such member."""
        return self.xml(member) if member in self._zip.namelist() else ElementTree.Element("absent")

    def title(self, member: str) -> str:
        """The Dublin Core title in the member that has the properties of the document; "" without one."""
        return (self.optional_xml(member).findtext(f".//{_DC_TITLE}") or "").strip()

    def _read(self, member: str) -> bytes:
        try:
            if self._zip.getinfo(member).flag_bits & 0x1:
                raise Unreadable(f"encrypted {self._kind}: it needs a password")
            with self._zip.open(member) as file:
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
