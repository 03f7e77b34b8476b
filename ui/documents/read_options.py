"""How files are read: the options of `semsearch index`, in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from semsearch import Fields, Rules, SyncOptions

KINDS = {
    "auto": "auto: each file by its suffix",
    "files": "files: every file as text, records too",
    "jsonl": "jsonl: records, a JSON object a line",
    "csv": "csv: records, a row each",
    "tsv": "tsv: records, a row each, with tabs",
    "sqlite": "sqlite: records, rows of a table or of a query",
}
MANY: Any = {"options": [], "accept_new_options": True}
MB = 2**20


def records(place: str) -> None:
    """How to read what is given; the keys of the widgets begin with `place`."""
    st.selectbox("Read as (--from)", KINDS, index=None, key=f"{place}.kind", placeholder="auto",
                 format_func=lambda kind: KINDS[kind])  # fmt: skip
    first, second = st.columns(2)
    first.text_input("Text field (--text-field)", key=f"{place}.text", placeholder="text, content, body, abstract",
                     help="Records: the field or column that holds the text.")  # fmt: skip
    second.text_input("Id field (--id-field)", key=f"{place}.id", placeholder="id",
                      help="Records: the field that names them. Without one they go by file and number.")  # fmt: skip
    st.multiselect("Metadata fields (--meta-field)", key=f"{place}.meta", placeholder="all of them", **MANY,
                   help="Records: keep only these, to filter by. Write a name, press Enter.")  # fmt: skip
    st.text_area("SQL (--sql)", key=f"{place}.sql", height=68, placeholder="SELECT id, body AS text FROM articles",
                 help="Index what this query finds in a SQLite file. The file is only read.")  # fmt: skip


def files(place: str) -> None:
    """Which files of a folder are read."""
    st.multiselect("Only files that match (--include)", key=f"{place}.include", placeholder="*.md", **MANY,
                   help="A pattern, then Enter; one of several has to match. Hidden files are left out, unless a "
                   "pattern names them with their dot, such as .notes/**")  # fmt: skip
    st.multiselect("No files that match (--exclude)", key=f"{place}.exclude", placeholder="drafts/**", **MANY,
                   help="A pattern, then Enter; several are fine.")  # fmt: skip
    st.number_input(
        "Largest file in MB (--max-file-size)",
        0.01,
        value=None,
        key=f"{place}.most",
        placeholder="10",
        help="Larger ones are skipped, and listed as such. Records are read one by one and have no limit.",
    )
    st.toggle("Also what .gitignore and such leave out (--no-ignore)", key=f"{place}.ignored")
    st.toggle("Even a whole disk, or more than 100,000 files (--yes)", key=f"{place}.yes")


def options(place: str, state: Mapping[Any, Any]) -> SyncOptions:
    """What those widgets say. None, where nothing is said: then what was told the last time holds, else the default."""
    include, exclude = (tuple(state.get(f"{place}.{name}") or ()) for name in ("include", "exclude"))
    ignored, most = state.get(f"{place}.ignored", False), state.get(f"{place}.most")
    rules = None
    if include or exclude or ignored or most:
        rules = Rules(include, exclude, not ignored, int(most * MB) if most else Rules().max_bytes)
    text, id_, sql = ((state.get(f"{place}.{name}") or "").strip() or None for name in ("text", "id", "sql"))
    meta = tuple(state.get(f"{place}.meta") or ())
    fields = Fields(text, id_, meta, sql) if text or id_ or meta or sql else None
    kind = state.get(f"{place}.kind") or ("sqlite" if sql else None)
    return SyncOptions(rules, kind, fields, yes=state.get(f"{place}.yes", False))


def told(root: Mapping[str, Any]) -> str:
    """What an index was told of a folder that it follows, as flags.

    >>> told({"rules": {"include": ["*.md"]}, "kind": "auto", "fields": {"text": "body"}})
    '--include *.md --text-field body'
    """
    rules, fields = root.get("rules", {}), root.get("fields", {})
    flags = [f"--{name} {glob}" for name in ("include", "exclude") for glob in rules.get(name, ())]
    flags += ["--no-ignore"] if not rules.get("use_ignore_files", True) else []
    if rules.get("max_bytes", Rules().max_bytes) != Rules().max_bytes:
        flags.append(f"--max-file-size {rules['max_bytes'] / MB:g}M")
    flags += [f"--from {root['kind']}"] if root.get("kind", "auto") != "auto" else []
    flags += [f"--{name}-field {fields[name]}" for name in ("text", "id") if fields.get(name)]
    flags += [f"--meta-field {name}" for name in fields.get("meta", ())]
    return " ".join([*flags, *([f"--sql {fields['sql']}"] if fields.get("sql") else [])])
