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
from semsearch.types import Document, Metadata, Skipped

TEXT_FIELDS = ("text", "content", "body", "abstract")
ID_FIELDS = ("_id", "id")  # BEIR writes _id
TITLE_FIELD = "title"
MOST_COLUMNS = 1000  # that are looked at for a name in capitals, in every record
NO_FIELD = "no field"  # begins the reason for skipping a record or table without a text
MOST_DEPTH = 5  # messages attached to messages, and so on; what is deeper is not read
MAX_RECORD_BYTES = 10 * 2**20  # as the default of --max-file-size: a record is a document like a file
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(\.\d{1,17})?")  # "007" and a 20-digit number are names, not quantities


class Place(NamedTuple):
    """A place between two records of a file: `at` bytes and `number` lines are before it."""

    at: int = 0
    number: int = 0


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


def to_document(record: Mapping[str, object], fields: Fields, number: int | str, file: str) -> Document | Skipped:
    """The document of one record: line or row `number` of `file`, which the reason names where it cannot be read.

    The text begins with the title, if there is one. The id is that of the record, else "#number".
    """
    names = tuple(record)
    roles = _roles(names, fields) if len(names) <= MOST_COLUMNS else _roles.__wrapped__(names, fields)
    if not roles.texts and not _is_title_alone(record, roles):
        return Skipped(f"{file}:{number}", no_text_field(record, fields))
    texts = {name: record[name] for name in roles.texts}
    for name, text in texts.items():
        if not isinstance(text, str) and isinstance(text, Mapping | list | bool):  # the second one is slow
            return Skipped(f"{file}:{number}", f"field {name!r} is not text: {str(text)[:40]}")
    id_field = fields.id or next((name for name in roles.ids if record[name] not in (None, "")), None)
    own_id = f"#{number}" if id_field is None else _id(record.get(id_field))
    if not own_id:
        return Skipped(f"{file}:{number}", f"no id in field {id_field!r}")
    if id_field is not None:
        own_id = fields.id_prefix + own_id
    title = record.get(roles.title) if roles.title is not None else None
    title = " ".join(title.split()) if isinstance(title, str) else None
    body = "\n\n".join(str(text) for text in texts.values() if text not in (None, ""))
    whole = newlines(f"{title}\n\n{body}" if title else body)
    left = set() if fields.meta else {*texts, id_field, roles.title if title else None}
    meta = {
        stored: value if isinstance(value, int) else storable_value(value)
        for name, stored in roles.meta.items()
        if (value := record.get(name)) is not None and name not in left
    }
    line = number if isinstance(number, int) else int(number.partition(".")[0])
    return Document(storable(own_id), storable(whole), meta, storable(title) if title else None, line=line)


def _is_title_alone(record: Mapping[str, object], roles: _Roles) -> bool:
    """Whether a record has a title, and no other field with words."""
    others = (value for name, value in record.items() if name != roles.title and name not in roles.ids)
    has_words = any(isinstance(other, str | list | dict) for other in others)
    return roles.title is not None and not has_words and isinstance(record[roles.title], str)


class _Roles(NamedTuple):
    """The fields of a record that have its text, may have its id, and may have its title. `meta`: those that are kept
    beside what these are used for, and the names under which they are stored.
    """

    texts: tuple[str, ...]
    ids: list[str]
    title: str | None
    meta: dict[str, str]


@lru_cache(maxsize=64)  # the records of a file have the same names
def _roles(names: tuple[str, ...], fields: Fields) -> _Roles:
    texts = text_fields_of(names, fields)
    titles = (name for name in _named((TITLE_FIELD,), names) if name not in texts)
    meta = {name: storable(name) for name in fields.meta or names}
    return _Roles(texts, _named(ID_FIELDS, names), next(titles, None), meta)


def text_fields_of(names: Collection[str], fields: Fields) -> tuple[str, ...]:
    """The fields that have the text: the chosen ones among `names`, else the first of TEXT_FIELDS; () for none."""
    if fields.texts:
        return tuple(name for name in fields.texts if name in names)
    return tuple(_named(TEXT_FIELDS, names)[:1])


def _named(usual: tuple[str, ...], names: Collection[str]) -> list[str]:
    """Those of the usual names that there are, else the ones that differ from them in their case."""
    exact = [name for name in usual if name in names]
    if exact or len(names) > MOST_COLUMNS:
        return exact
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
    match = _NUMBER.fullmatch(word)
    if match is None:
        return text
    number = float(word) if match[1] else int(word)
    return number if repr(number) == word else text


def _id(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
