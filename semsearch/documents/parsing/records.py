"""What a loader yields beside documents; and the conversion of a record (an object, a row of a table) to a document."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol, TypeAlias

from semsearch.documents.parsing.charset import newlines, storable, storable_value
from semsearch.errors import Unreadable, UsageError, install_command
from semsearch.types import Document, JsonObject, Metadata, Skipped

TEXT_FIELDS = ("text", "content", "body", "abstract")
ID_FIELDS = ("_id", "id")  # BEIR writes _id
TITLE_FIELD = "title"
MOST_COLUMNS = 1000  # that are looked at for a name in capitals, in every record
NO_FIELD = "no field"  # begins the reason for skipping a record or table without a text
MOST_DEPTH = 5  # messages attached to messages, and so on; what is deeper is not read
MAX_RECORD_BYTES = 10 * 2**20  # as the default of --max-file-size: a record is a document like a file
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")  # "007" and a 20-digit number are names, not quantities
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,17})\.\d{1,17}")


class Place(NamedTuple):
    """A place between two records of a file: `at` bytes and `number` lines are before it."""

    at: int = 0
    number: int = 0


class Span(NamedTuple):
    """A part of a file: what is after the place `start`, up to byte `end`; None: to the end of the file."""

    start: Place = Place()
    end: int | None = None


WHOLE = Span()


class Digest(Protocol):
    """A hash of `hashlib`."""

    def update(self, data: bytes, /) -> None: ...


Step: TypeAlias = "tuple[Document | Skipped, Place | None]"  # a record, and where reading can go on after it


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A loader yields it between the long steps of a document: the time that this may take begins again."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A loader yields it, and what the loader for `name` finds in `content` takes its place.

    `id` is that of its document, as in `Document.id`; `metadata` stands beside the document's own. A file whose suffix
    no loader has is left out.
    """

    id: str
    name: str
    content: bytes = field(repr=False)
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fields:
    """What to read of each record; None and () leave the choice to the loader.

    `text`, `id`: names of fields; several of `text` are joined, with a blank line between. `meta`: the fields to store
    as metadata; if empty, all other fields. `sql`: the query that returns the records of an SQLite file, or "chroma" or
    "txtai", whose databases need none. `max_bytes`: longer records are skipped. `ocr`: the languages of scanned pages,
    as tesseract names them ("deu+eng"). `id_prefix`: stands before the ids that records have of their own.
    """

    text: str | tuple[str, ...] | None = None
    id: str | None = None
    meta: tuple[str, ...] = ()
    sql: str | None = None
    max_bytes: int = MAX_RECORD_BYTES
    ocr: str | None = None
    id_prefix: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The chosen fields of the text."""
        return (self.text,) if isinstance(self.text, str) else self.text or ()


def to_document(record: Mapping[str, object], fields: Fields, number: int, file: str) -> Document | Skipped:
    """The document of one record: line or row `number` of `file`, which the reason names where it cannot be read.

    The text begins with the title, if there is one. The id is that of the record, else "#number".
    """
    text_fields = text_fields_of(record, fields)
    if not text_fields:
        return Skipped(f"{file}:{number}", no_text_field(record, fields))
    texts = {name: record[name] for name in text_fields}
    for name, text in texts.items():
        if not isinstance(text, str) and isinstance(text, Mapping | list | bool):  # the second one is slow
            return Skipped(f"{file}:{number}", f"field {name!r} is not text: {str(text)[:40]}")
    id_field = fields.id or next((name for name in _named(ID_FIELDS, record) if record[name] not in (None, "")), None)
    own_id = f"#{number}" if id_field is None else _id(record.get(id_field))
    if not own_id:
        return Skipped(f"{file}:{number}", f"no id in field {id_field!r}")
    if id_field is not None:
        own_id = fields.id_prefix + own_id
    title_field = next((name for name in _named((TITLE_FIELD,), record) if name not in texts), "")
    title = record.get(title_field)
    title = " ".join(title.split()) if isinstance(title, str) else None
    body = "\n\n".join(str(text) for text in texts.values() if text not in (None, ""))
    whole = newlines(f"{title}\n\n{body}" if title else body)
    meta = _metadata(record, fields, leave={*texts, id_field or "", title_field if title else ""})
    return Document(storable(own_id), storable(whole), meta, storable(title) if title else None)


def text_fields_of(names: Collection[str], fields: Fields) -> tuple[str, ...]:
    """The fields that have the text: the chosen ones among `names`, else the first of TEXT_FIELDS; () for none."""
    if fields.texts:
        return tuple(name for name in fields.texts if name in names)
    return tuple(_named(TEXT_FIELDS, names)[:1])


def _named(usual: tuple[str, ...], names: Collection[str]) -> list[str]:
    """Those of the usual names that there are, else the ones that differ from them in their case."""
    exact = [name for name in usual if name in names]
    return exact if exact or len(names) > MOST_COLUMNS else _in_other_case(usual, tuple(names))


@lru_cache(maxsize=64)  # the rows of a table have the same names
def _in_other_case(usual: tuple[str, ...], names: tuple[str, ...]) -> list[str]:
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in usual if name in lower]


def no_text_field(names: Iterable[str], fields: Fields) -> str:
    """The reason why a record has no text: the fields looked for, and those that it has."""
    present = ", ".join(map(str, names)) or "none"
    sought = ", ".join(map(repr, fields.texts)) or "called " + ", ".join(TEXT_FIELDS)
    return f"{NO_FIELD} {sought}; there are: {present[:300]}"


def check_columns(columns: Collection[str], fields: Fields, file: str) -> None:
    """Raises UsageError, with the columns of the table, for a chosen field that is not one of them."""
    chosen = [name for name in (*fields.texts, fields.id, *fields.meta) if name is not None]
    missing = [name for name in chosen if name not in columns]
    if missing:
        raise UsageError(f"{file} has no column {missing[0]!r}.", f"Its columns are: {', '.join(columns)}.")


def imported(module: str, needs: str, extra: str) -> ModuleType:
    """A module of an optional package. Raises Unreadable, which says what `needs` it and how to install the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise Unreadable(f"{needs}: {install_command(extra)}") from error


@lru_cache(maxsize=4096)  # of columns of a table, which are looked at twice
def number_or_text(text: str) -> str | int | float:
    """`text` as a number where it plainly is one: "12" is 12; "007", "1.10" and "2024-05-01" stay text."""
    word = text.strip()
    if _INTEGER.fullmatch(word):
        return int(word) if word != "-0" else text
    return number if _DECIMAL.fullmatch(word) and repr(number := float(word)) == word else text


def _id(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _metadata(record: Mapping[str, object], fields: Fields, leave: set[str]) -> JsonObject:
    keep = fields.meta or [name for name in record if name not in leave]
    return {storable(name): storable_value(record[name]) for name in keep if record.get(name) is not None}
