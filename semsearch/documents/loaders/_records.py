"""A record (a JSON object, a row of a table) to a Document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from semsearch.documents.loaders._decode import newlines, storable, storable_value
from semsearch.documents.loaders._fields import Fields
from semsearch.errors import UsageError
from semsearch.types import Document, Skipped

TEXT_FIELDS = ("text", "content", "body", "abstract")
ID_FIELDS = ("_id", "id")  # BEIR writes _id
TITLE_FIELD = "title"


def to_document(record: Mapping[str, Any], fields: Fields, number: int, file: str) -> Document | Skipped:
    """The document of one record; `number` is its line or row, `file` the name for reasons.

    A title stands before the text. The id is that of the record, else "#number".
    """
    text_field = text_field_of(record, fields)
    if text_field is None:
        return Skipped(f"{file}:{number}", no_text_field(record, fields))
    text = record[text_field]
    if isinstance(text, Mapping | list | bool):
        return Skipped(f"{file}:{number}", f"field {text_field!r} is not text: {str(text)[:40]}")
    id_field = fields.id or next((name for name in ID_FIELDS if record.get(name) not in (None, "")), None)
    name = f"#{number}" if id_field is None else _id(record.get(id_field))
    if not name:
        return Skipped(f"{file}:{number}", f"no id in field {id_field!r}")
    title = record.get(TITLE_FIELD) if text_field != TITLE_FIELD else None
    title = " ".join(title.split()) if isinstance(title, str) else None
    body = "" if text is None else str(text)
    whole = newlines(f"{title}\n\n{body}" if title else body)
    meta = _metadata(record, fields, leave={text_field, id_field or "", TITLE_FIELD if title else ""})
    return Document(storable(name), storable(whole), meta, storable(title) if title else None)


def text_field_of(names: Collection[str], fields: Fields) -> str | None:
    candidates = (fields.text,) if fields.text else TEXT_FIELDS
    return next((name for name in candidates if name in names), None)


def no_text_field(names: Iterable[str], fields: Fields) -> str:
    """Why a record has no text: what was looked for, and the fields that are there."""
    there = ", ".join(map(str, names)) or "none"
    wanted = repr(fields.text) if fields.text else "called " + ", ".join(TEXT_FIELDS)
    return f"no field {wanted}; there are: {there[:300]}"


def check_columns(columns: Collection[str], fields: Fields, file: str) -> None:
    """Raises UsageError for a named field that a table does not have, with those it has."""
    named = [n for n in (fields.text, fields.id, *fields.meta) if n is not None]
    absent = [name for name in named if name not in columns]
    if absent:
        have = ", ".join(columns)
        raise UsageError(f"{file} has no column {absent[0]!r}.", f"Its columns are: {have}.")


def _id(value: Any) -> str:
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _metadata(record: Mapping[str, Any], fields: Fields, leave: set[str]) -> dict[str, Any]:
    keep = fields.meta or [name for name in record if name not in leave]
    return {storable(name): storable_value(record[name]) for name in keep if record.get(name) is not None}
