"""Data within texts is replaced by its kind and size, in every format, and lines stay the lines of the file."""

from __future__ import annotations

import base64
import json
import random
import time
from pathlib import Path

import pytest
from helpers.filemaking import one, written

from semsearch import Index
from semsearch.documents import loaders
from semsearch.documents.textless import Textless
from semsearch.types import Document, Omission

PICTURE = base64.b64encode(random.Random(1).randbytes(60_000)).decode()
URI = f"data:image/png;base64,{PICTURE}"
WRAPPED = "\n".join(PICTURE[at : at + 76] for at in range(0, 7600, 76))
MINIFIED = "".join(f"function f{n}(a,b){{return a&&b?a.x({n}):void 0}}var v{n}=f{n}(!0,[{n}]);" for n in range(200))
LABEL = "[image/png, 59 KB]"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", f"# Notes\n\nThe hinge.\n\n![photo]({URI})\n\nThe screws.\n"),
        ("a.txt", f"The hinge.\n{URI}\nThe screws.\n"),
        ("a.rst", f"Notes\n=====\n\nThe hinge.\n\n.. image:: {URI}\n\nThe screws.\n"),
        ("a.html", f"<p>The hinge.</p><pre>{URI}</pre><p>The screws.</p>"),
        ("a.eml", f"Subject: Notes\n\nThe hinge.\n{URI}\nThe screws.\n"),
        ("a.jsonl", json.dumps({"text": f"The hinge. {URI} The screws."})),
        ("a.csv", f'text\n"The hinge. {URI} The screws."\n'),
        ("a.json", json.dumps({"a": "The hinge.", "picture": URI, "b": "The screws."})),
        ("a.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": f"The hinge. {URI} The screws."}]})),
        ("a.py", f'A = "The hinge."\nPICTURE = "{URI}"\nB = "The screws."\n'),
    ],
)
def test_a_picture_in_a_text_is_its_kind_and_size(name: str, content: str, tmp_path: Path) -> None:
    document = one(written(tmp_path, name, content))
    assert LABEL in document.text and "The hinge." in document.text and "The screws." in document.text
    assert len(document.text) < 200 and Omission("data", len(URI)) in document.omissions


def test_a_hit_behind_a_picture_names_its_line(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    certificate = f"-----BEGIN CERTIFICATE-----\n{WRAPPED}\n-----END CERTIFICATE-----"
    before = "\n".join(f"The hinge number {number} was oiled in the spring." for number in range(60))
    lines = f"# Notes\n\n![photo]({URI})\n\n{certificate}\n\n{before}\n\n## Screws\n\nThe screws are metric.\n"
    written(folder, "a.md", lines)
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([folder])
        hits = {hit.line: hit.text for hit in index.search("hinge screws metric", k=20, group="passage")}
        assert len(hits) > 2
        source = lines.split("\n")
        assert all(line and source[line - 1].startswith(text.split("\n")[0][:20]) for line, text in hits.items())


@pytest.mark.parametrize(
    ("data", "kind", "label"),
    [
        (WRAPPED, "data", "[base64, 6 KB]"),
        (PICTURE[:4000], "data", "[base64, 3 KB]"),
        (random.Random(2).randbytes(2048).hex(), "data", "[hexadecimal data, 2 KB]"),
        (MINIFIED, "minified code", f"[minified code, {len(MINIFIED) / 1024:.0f} KB]"),
        (".a{color:red;margin:0}" * 100, "minified code", "[minified code, 2 KB]"),
        ("begin 644 a.bin\n" + ("M" + "^1=F" * 15 + "\n") * 20 + "`\nend", "data", "[uuencoded data, 945 bytes]"),
    ],
)
def test_data_of_every_kind_is_replaced_and_counted(data: str, kind: str, label: str, tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.txt", f"Before.\n{data}\nAfter.\n"))
    breaks = "\n" * data.count("\n")
    assert document.text == f"Before.\n{label}{breaks}\nAfter.\n"
    assert document.omissions == (Omission(kind, len("".join(data.split()))),)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/" + "/".join(f"documentation-of-part-{number}" for number in range(20)),
        "=" * 300 + "\n" + "-" * 300,
        "Donaudampfschifffahrtsgesellschaftskapitän" * 10,
        "日本語の文章は空白を使わずに続きます。" * 100,
        "ACGTTGCA" * 50,
        json.dumps({f"key {number}": "a text of some words" for number in range(200)}),
        "sha512: " + "0123456789abcdef" * 8,
        "a sentence, (with signs); and = more: " * 100,
    ],
)
def test_what_is_no_data_stays(text: str, tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.txt", text))
    assert (document.text, document.omissions) == (text, ())


@pytest.mark.parametrize("word", ["Regards", "screws", "END"])
def test_a_word_in_the_line_after_data_is_read(word: str, tmp_path: Path) -> None:
    assert one(written(tmp_path, "a.txt", f"Before.\n{WRAPPED}\n{word}\n")).text.endswith(f"\n{word}\n")
    whole = f"{WRAPPED}\n{PICTURE[:30]}=="
    assert one(written(tmp_path, "b.txt", f"Before.\n{whole}\n{word}\n")).text.split() == [
        "Before.", "[base64,", "6", "KB]", word,
    ]  # fmt: skip


@pytest.mark.parametrize("data", [URI, WRAPPED, MINIFIED, f"{PICTURE[:400]}\n\n{PICTURE[:400]}"])
def test_a_file_of_data_alone_has_no_text(data: str, tmp_path: Path) -> None:
    (item,) = loaders.load(written(tmp_path, "a.txt", f"{data}\n"))
    assert isinstance(item, Textless) and item.reason.startswith("no text found in it, only ")


@pytest.mark.parametrize(
    "uri",
    [
        "data:image/svg+xml;utf8,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Cpath d='M0 0'/%3E%3C/svg%3E",
        "data:image/svg+xml;charset=utf-8,<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>",
        "data:image/svg+xml,%3csvg%20viewBox='0%200%208%208'%3e%3c%2fsvg%3e",
    ],
)
def test_a_drawing_within_a_text_is_its_kind_and_size(uri: str, tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.md", f"The hinge ![a]({uri}) and the screws.\n"))
    assert document.text == f"The hinge ![a]([image/svg+xml, {len(uri)} bytes]) and the screws.\n"


@pytest.mark.parametrize("text", ["data:image/svg+xml,<svg " * 40_000, "data:image/svg+xml,<svg " + "d" * 1_000_000])
def test_drawings_without_an_end_take_linear_time(text: str, tmp_path: Path) -> None:
    file = written(tmp_path, "a.txt", text)
    began = time.process_time()
    assert one(file).text == text
    assert time.process_time() - began < 5


def test_headings_stay_where_their_texts_are(tmp_path: Path) -> None:
    parts = "".join(f"# Part {number}\n\nText {number} {URI} here.\n\n" for number in range(5))
    document = one(written(tmp_path, "a.md", parts))
    assert [document.text[mark.start :].split("\n")[0] for mark in document.marks] == [
        f"# Part {number}" for number in range(5)
    ]


def test_texts_without_data_are_looked_through_quickly(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "A sentence of some words, as in most texts. " * 20_000 + URI)
    began = time.process_time()
    assert LABEL in next(item for item in loaders.load(path) if isinstance(item, Document)).text
    assert time.process_time() - began < 5
