"""Fields for reading files: the options of `semsearch index`, under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from semsearch import Fields, Rules, SyncOptions
from semsearch.types import JsonObject

KINDS = {
    "auto": "auto: each file by its suffix",
    "files": "files: every file as text, even files of records",
    "jsonl": "jsonl: records, one JSON object per line",
    "csv": "csv: records, one per row",
    "tsv": "tsv: records, one per row, separated by tabs",
    "sqlite": "sqlite: records, the rows of a table or a query",
}
MANY: Any = {"options": [], "accept_new_options": True}
MB = 2**20


def records(place: str) -> None:
    """Fields for reading records; their keys begin with `place`."""
    key, label = f"{place}.kind", KINDS.__getitem__
    st.selectbox("Read as (--from)", KINDS, None, key=key, placeholder="auto", format_func=label)
    first, second = st.columns(2)
    hint, usual = "Records: the field or column with the text.", "text, content, body, abstract"
    first.text_input("Text field (--text-field)", key=f"{place}.text", placeholder=usual, help=hint)
    hint = "Records: the field that identifies them. Without one, file and number do."
    second.text_input("Id field (--id-field)", key=f"{place}.id", placeholder="id", help=hint)
    hint = "Records: what their ids begin with, where those of several sources are the same."
    st.text_input("Begin ids with (--id-prefix)", key=f"{place}.id_prefix", help=hint)
    hint, key = "Records: the fields to filter by. Type a name, then press Enter.", f"{place}.meta"
    st.multiselect("Metadata fields (--meta-field)", key=key, placeholder="all of them", help=hint, **MANY)
    hint, usual = "Index the rows of a query on a SQLite file.", "SELECT id, body AS text FROM articles"
    st.text_area("SQL (--sql)", key=f"{place}.sql", height=68, placeholder=usual, help=hint)


def files(place: str) -> None:
    """Fields for choosing the files of a folder."""
    hint = "A pattern, then Enter; a file must match one. Hidden files need a pattern with their dot, such as .notes/**"
    key = f"{place}.include"
    st.multiselect("Only files that match (--include)", key=key, placeholder="*.md", help=hint, **MANY)
    hint, key = "A pattern, then Enter; several are fine.", f"{place}.exclude"
    st.multiselect("No files that match (--exclude)", key=key, placeholder="drafts/**", help=hint, **MANY)
    label, key = "Largest file in MB (--max-file-size)", f"{place}.most"
    hint = "Larger files are skipped, and listed as such. Files of records have no limit."
    st.number_input(label, 0.01, value=None, key=key, placeholder="10", help=hint)
    st.toggle("Also files that .gitignore and the like exclude (--no-ignore)", key=f"{place}.ignored")
    st.toggle("Even a whole disk, or more than 100,000 files (--yes)", key=f"{place}.yes")


def options(place: str, state: Mapping[Any, Any]) -> SyncOptions:
    """The values of those fields; None for unset ones: the last options of the source apply, else the defaults."""
    include, exclude = (tuple(state.get(f"{place}.{name}") or ()) for name in ("include", "exclude"))
    ignored, most = state.get(f"{place}.ignored", False), state.get(f"{place}.most")
    rules = None
    if include or exclude or ignored or most:
        rules = Rules(include, exclude, not ignored, int(most * MB) if most else Rules().max_bytes)
    text, id_, sql = ((state.get(f"{place}.{name}") or "").strip() or None for name in ("text", "id", "sql"))
    meta, prefix = tuple(state.get(f"{place}.meta") or ()), (state.get(f"{place}.id_prefix") or "").strip()
    chosen = text or id_ or meta or sql or prefix
    fields = Fields(text, id_, meta, sql, id_prefix=prefix) if chosen else None
    kind = state.get(f"{place}.kind") or ("sqlite" if sql else None)
    return SyncOptions(rules, kind, fields, yes=state.get(f"{place}.yes", False))


def as_flags(source: JsonObject) -> str:
    """The options of a source as flags.

    >>> as_flags({"rules": {"include": ["*.md"]}, "kind": "auto", "fields": {"text": "body"}})
    '--include *.md --text-field body'
    """
    rules, fields = source.get("rules", {}), source.get("fields", {})
    flags = [f"--{name} {glob}" for name in ("include", "exclude") for glob in rules.get(name, ())]
    flags += ["--no-ignore"] if not rules.get("use_ignore_files", True) else []
    if rules.get("max_bytes", Rules().max_bytes) != Rules().max_bytes:
        flags.append(f"--max-file-size {rules['max_bytes'] / MB:g}M")
    flags += [f"--from {source['kind']}"] if source.get("kind", "auto") != "auto" else []
    text = fields.get("text") or ()
    flags += [f"--text-field {name}" for name in ([text] if isinstance(text, str) else text)]
    flags += [f"--id-field {fields['id']}"] if fields.get("id") else []
    flags += [f"--id-prefix {fields['id_prefix']}"] if fields.get("id_prefix") else []
    flags += [f"--meta-field {name}" for name in fields.get("meta", ())]
    return " ".join([*flags, *([f"--sql {fields['sql']}"] if fields.get("sql") else [])])
