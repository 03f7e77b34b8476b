"""Damaged variants of a valid file: of its bytes, its words, and what is inside a compressed file, an archive or a PDF.

The same seed gives the same variant. A variant has at most `LONGEST` bytes.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from helpers.filemaking import pdf_of

LONGEST = 2**20
MOST_TIMES = 2_000  # a piece is repeated, which nests what opens without an end
MOST_ELEMENTS = 20_000
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_OBJECT = re.compile(rb"\d+ 0 obj\n(.*?)\nendobj", re.DOTALL)
_STREAM = re.compile(rb"(.*?/FlateDecode.*?\nstream\n)(.*)(\nendstream)", re.DOTALL)
_STRANGE = (  # what parsers take for something else
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf0\x9f", b"\x1b[2J", b"\r", b"\x0c", b"\x85"),
    *(b"-1", b"0", b"4294967295", b"-9223372036854775809", b"1e999", b"9" * 5000, b"NaN", b"%s%n", b"../../x"),
    *("\u202e".encode(), "\ud7ff\U0010ffff".encode(), b"A" * 10_000),
    *(b"<![CDATA[", b"<!--", b"]]>", b"&#0;", b"&#x110000;"),
    *(b"\\u0000", b"\\ud800", b'"', b"'''", b"```", b"---\n", b"[](", b"|" * 200, b"{", b"[", b"}", b"((", b"<<"),
    *(b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0"),
)  # fmt: skip


def variant(name: str, corpus: Sequence[bytes], seed: int) -> bytes:
    """One damaged variant of a file of `corpus`, valid files of the kind `name`."""
    chance = random.Random(f"{name} {seed}")
    data, other = chance.choice(corpus), chance.choice(corpus)
    ways: list[Callable[[bytes, bytes, random.Random], bytes]] = [of_bytes, of_words]
    if data.startswith(b"PK"):
        ways = [of_bytes, of_members, of_members, of_members]
    elif data.startswith(b"%PDF"):
        ways = [of_bytes, of_words, of_objects, of_objects]
    elif data.startswith(b"SQLite"):
        ways = [of_bytes, of_header, of_pages]
    elif data.startswith(b"\x1f\x8b"):
        ways = [of_bytes, of_compressed, of_compressed]
    return chance.choice(ways)(data, other, chance)[:LONGEST]


def of_bytes(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Some pieces of the bytes changed."""
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 2, 4, 8, 64, 512)))
        data = data[:at] + _instead(data[at:end], other, chance) + data[end:]
    return data


def _instead(piece: bytes, other: bytes, chance: random.Random) -> bytes:
    """What stands in the place of a piece."""
    start = chance.randrange(len(other) + 1)
    return chance.choice(
        (
            b"",
            bytes(byte ^ 1 << chance.randrange(8) for byte in piece),
            chance.randbytes(len(piece)),
            bytes(len(piece)),
            b"\xff" * len(piece),
            piece * chance.choice((2, 2, 3, 100, MOST_TIMES)),
            piece + chance.choice(_STRANGE),
            chance.choice(_STRANGE),
            other[start : start + chance.choice((4, 64, 1024))],
            piece[::-1],
        )
    )


def of_compressed(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The words of a compressed text changed, and compressed again."""
    return gzip.compress(of_words(gzip.decompress(data), gzip.decompress(other), chance))


def of_words(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Some words, spaces and marks repeated, swapped, left out, or taken from another file."""
    tokens, others = _TOKEN.findall(data), _TOKEN.findall(other)
    for _ in range(chance.choice((1, 2, 4, 16))):
        at, to = (chance.randrange(len(tokens) + 1) for _ in range(2))
        run = tokens[at : at + chance.choice((1, 1, 2, 5, 20))]
        taken = chance.choice(
            (
                [chance.choice(_STRANGE)],
                run * chance.choice((1, 2, 50, MOST_TIMES)),
                others[to : to + chance.choice((1, 5, 50))],
                run[::-1],
                [],
            )
        )
        tokens[to : to + chance.choice((0, 0, len(run)))] = taken
        if len(tokens) > LONGEST:
            break
    return b"".join(tokens)


def of_members(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A zip archive that is sound, with a member that is damaged, absent, twice there, or another one's."""
    members, others = _members(data), _members(other)
    name = chance.choice(list(members))
    how = chance.choice((of_bytes, of_words, of_elements, of_elements, of_elements))
    members[name] = how(members[name], others.get(name, b" "), chance)[:LONGEST]
    if chance.random() < 0.1:
        del members[chance.choice(list(members))]
    twice = [chance.choice(list(members))] if members and chance.random() < 0.05 else []
    packed = io.BytesIO()
    method = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(packed, "w", method) as archive, warnings.catch_warnings(action="ignore"):  # of a second name
        for each in [*members, *twice]:
            archive.writestr(each, members[each])
    return packed.getvalue()


def of_elements(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Well-formed XML with elements repeated, moved, nested or emptied, or with other names, attributes and texts."""
    try:
        root, stranger = ElementTree.fromstring(data), ElementTree.fromstring(other)
        for _ in range(chance.choice((1, 2, 4, 16))):
            if len(list(root.iter())) < MOST_ELEMENTS:
                _change(root, stranger, chance)
        return ElementTree.tostring(root)
    except (ElementTree.ParseError, RecursionError):  # the library writes what is nested by calling itself
        return of_words(data, other, chance)


def _change(root: Element, stranger: Element, chance: random.Random) -> None:
    element, into = chance.choice(list(root.iter())), chance.choice(list(root.iter()))
    foreign = chance.choice(list(stranger.iter()))
    text = _NO_XML.sub("", chance.choice(_STRANGE).decode("utf-8", "replace"))
    match chance.randrange(7):
        case 0:
            packed = ElementTree.tostring(element)
            into.extend([ElementTree.fromstring(packed) for _ in range(chance.choice((1, 2, 50)))])
        case 1:
            for _ in range(chance.choice((1, 10, 100))):
                into = ElementTree.SubElement(into, element.tag, element.attrib)
        case 2:
            into.append(ElementTree.fromstring(ElementTree.tostring(foreign)))
        case 3:
            element.clear()
        case 4:
            element.tag = foreign.tag
        case 5:
            element.text, element.tail = text, text
        case _:
            element.attrib |= dict.fromkeys([*element.attrib, *foreign.attrib], text)


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def of_objects(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A PDF whose table of objects is right, with objects damaged, repeated or swapped, also in streams."""
    objects, others = _OBJECT.findall(data), _OBJECT.findall(other)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(objects))
        objects[at] = chance.choice((_damaged_object, _damaged_object, lambda *_: chance.choice(others)))(
            objects[at], chance.choice(others), chance
        )
    if chance.random() < 0.1:
        chance.shuffle(objects)
    return pdf_of(objects)


def _damaged_object(data: bytes, other: bytes, chance: random.Random) -> bytes:
    found = _STREAM.fullmatch(data)
    how = chance.choice((of_bytes, of_words))
    if found is None:
        return how(data, other, chance)[:LONGEST]
    return found[1] + zlib.compress(how(zlib.decompress(found[2]), other, chance)[:LONGEST]) + found[3]


def of_header(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A database with a damaged file header, schema, or list of cells."""
    at = chance.choice((chance.randrange(16, 100), 100 + chance.randrange(12), chance.randrange(100, 600)))
    return data[:at] + chance.choice((*_STRANGE, chance.randbytes(2)))[:4] + data[at + 4 :]


def of_pages(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A database with a page in the place of another, or with its end missing."""
    size = int.from_bytes(data[16:18], "big")
    pages = [data[at : at + size] for at in range(0, len(data), size)]
    pages[chance.randrange(len(pages))] = chance.choice(pages)
    return b"".join(pages[: len(pages) - chance.choice((0, 0, 1))])
