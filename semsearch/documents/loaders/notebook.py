"""Jupyter notebooks: text and code of the cells, with their printed results; cells as pages, headings of Markdown.

Source: nbformat 4, and 3 of notebooks before 2015. Of a result and of an error the beginning is read, as text, or as
HTML where the text only names an object; images, other data and attachments are left out and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from semsearch.documents.file_access import read_regular
from semsearch.documents.parsing.charset import decode, storable
from semsearch.documents.parsing.html_page import Content, text_of, tree
from semsearch.documents.parsing.json_size import has_too_many_values
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject

ISOLATED = True
MOST_RESULT = 1000  # characters of one result: enough to be found by, and a log of training has a megabyte
MOST_RESULTS = 100  # of one cell
MOST_VALUES = 2_000_000  # of the whole file, so that it fits into memory
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t#]*$")
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_TAG = re.compile(r"<[^<>]*>")
_OBJECT = re.compile(r"<(?:IPython\.core\.display\.\w+ object|[\w.]+(?: object)? at 0x[0-9a-fA-F]+)>")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_MARKUP = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}|!?\[([^\]]*)\]\([^)]*\)")


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled by its first heading of level one. Raises Unreadable for what is no notebook."""
    data = read_regular(path)
    notebook = _notebook(data)
    writer = TextWriter()
    for number, cell in enumerate(_cells(notebook), start=1):
        writer.new_page(number, under=writer.last_heading)
        source = _text(cell.get("source", cell.get("input")))
        for _ in cell.get("attachments") or ():
            writer.omit("picture")
        if cell.get("cell_type") == "heading":  # of nbformat 3
            writer.heading(source, cell["level"] if isinstance(cell.get("level"), int) else 1)
        elif cell.get("cell_type") == "markdown":
            _write_markdown(source, writer)
        else:
            writer.block(source)
            for result in _results(cell, writer):
                writer.block(result)
    metadata = notebook.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if widgets := metadata.get("widgets"):
        writer.omit("data of a result", json.dumps(widgets))
    title, about = _metadata(metadata)
    yield writer.document(title, about)


def _notebook(data: bytes) -> JsonObject:
    if has_too_many_values(data, MOST_VALUES):
        raise Unreadable(f"more than {MOST_VALUES:,} values")
    try:
        content = json.loads(decode(data)[0])
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not a readable notebook: {error}"[:200]) from error
    if not isinstance(content, dict) or not ("cells" in content or "worksheets" in content):
        raise Unreadable("not a notebook: it has no cells")
    return content


def _cells(notebook: Mapping[str, Any]) -> Iterator[JsonObject]:
    sheets = notebook.get("worksheets", [notebook])
    for sheet in sheets if isinstance(sheets, list) else []:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        yield from (cell for cell in cells or [] if isinstance(cell, dict))


def _write_markdown(source: str, writer: TextWriter) -> None:
    """A cell of Markdown, with its headings as those of the text."""
    lines: list[str] = []
    fenced = False
    for line in source.split("\n"):
        fenced = fenced != bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        writer.block("\n".join(lines))
        lines = []
        writer.heading(_MARKUP.sub(r"\1", heading[2]), len(heading[1]))
    writer.block("\n".join(lines))


def _results(cell: Mapping[str, Any], writer: TextWriter) -> Iterator[str]:
    """The beginning of what a cell printed, of its values as text, and of its errors; the rest is counted."""
    outputs = cell.get("outputs")
    for number, output in enumerate(outputs if isinstance(outputs, list) else []):
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        text = _error(output, writer) or _value(data if isinstance(data, dict) else output)
        if isinstance(data, dict):
            text = _of_others(data, text, writer)
        end = MOST_RESULT if number < MOST_RESULTS else 0
        if text[end:].strip():
            writer.omit("long result", text[end:])
        yield text[:end]


def _of_others(data: Mapping[str, object], text: str, writer: TextWriter) -> str:
    """The text of a value, which is that of its HTML where there is no other; images and other data are counted."""
    if (not text or _OBJECT.fullmatch(text)) and (html := _text(data.get("text/html"))):
        shown = text_of(Content(tree(html)))
        writer.omit_all(shown.omissions)
        if written := shown.finish()[0]:
            return written
        writer.omit("HTML result", html)
        return text
    for kind in data:
        if kind.startswith("image/"):
            writer.omit("picture")
        elif kind.startswith("text/"):
            other = _COLOUR.sub("", _text(data[kind]))
            writer.omit("alternative text", _TAG.sub(" ", other) if other != text else "")
        else:
            writer.omit("data of a result", _text(data[kind]) or json.dumps(data[kind]))
    return text


def _error(output: Mapping[str, object], writer: TextWriter) -> str:
    """The error that ended a cell, as Python shows it, without colours; "" without one. A long way to it is counted."""
    name, trace = _text(output.get("ename")), output.get("traceback")
    if output.get("output_type") not in ("error", "pyerr") or not name:
        return ""
    lines = [_text(line) for line in trace] if isinstance(trace, list) else []
    last = f"{name}: {_text(output.get('evalue'))}"
    shown = _COLOUR.sub("", "\n".join(lines))
    if len(shown) <= MOST_RESULT and last in shown:
        return shown
    writer.omit("traceback", shown)
    return last


def _value(data: Mapping[str, object]) -> str:
    """The text of a value: plain, or Markdown or LaTeX where the plain one only names an object."""
    kinds = ("text/plain", "text/markdown", "text/latex", "text")
    texts = [text for kind in kinds if (text := _COLOUR.sub("", _text(data.get(kind))))]
    return next((text for text in texts if not _OBJECT.fullmatch(text)), "".join(texts[:1]))


def _text(value: object) -> str:
    """A text, or the lines of one."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return storable(value.replace("\r\n", "\n").replace("\r", "\n")) if isinstance(value, str) else ""


def _metadata(metadata: Mapping[str, Any]) -> tuple[str | None, JsonObject]:
    """The title, and author and language where the notebook names them."""
    people = metadata.get("authors")
    names = [each.get("name") for each in people if isinstance(each, dict)] if isinstance(people, list) else []
    places = (metadata.get("language_info"), "name"), (metadata.get("kernelspec"), "language")
    spoken = [part.get(key) for part, key in places if isinstance(part, dict)]
    title = metadata.get("title")
    words = metadata.get("keywords")
    about = {
        "author": ", ".join(name for name in names if isinstance(name, str)),
        "description": _text(metadata.get("description")),
        "keywords": ", ".join(filter(None, map(_text, words))) if isinstance(words, list) else _text(words),
        "language": next((name for name in spoken if isinstance(name, str)), ""),
    }
    return title if isinstance(title, str) else None, {name: storable(value) for name, value in about.items() if value}
