"""A folder of files that an index follows, and what the index has to have of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from semsearch import Document, Index
from semsearch.documents import loaders, walk
from semsearch.indexing import file_reader

LONG_AGO = 1_700_000_000
RECORDS = 280  # a batch and a part
OLD, NEW = "The kettle boils.", "The kettle cools!"  # of one length


def written(folder: Path) -> Path:
    """A new folder with a file of each kind, in the order of the walk before, in and after a folder."""
    for place in (folder, folder / "sub"):
        place.mkdir()
    (folder / "a-first.txt").write_text("Diesel engines ignite by compression.")
    (folder / "z-last.txt").write_text("Bread needs salt.")
    (folder / "sub" / "note.txt").write_text(OLD)
    (folder / "sub" / "nameless").write_text(OLD)
    (folder / "sub" / "page.html").write_text(f"<html><body><p>{OLD}</p></body></html>")
    lines = [{"text": f"Record {n}. {OLD}"} for n in range(RECORDS)]
    (folder / "sub" / "records.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rows = "".join(f"Row {n}. {OLD}\n" for n in range(20))
    (folder / "sub" / "table.csv").write_text(f"text\n{rows}")
    age(folder)
    return folder


def age(folder: Path) -> None:
    """Set back the times of all files: one written just now is read again by every run."""
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))


def texts(folder: Path) -> dict[str, str]:
    """What an index of a folder has to have: the text of every document that can be read there now."""
    found = {}
    for file in walk.files(folder, walk.Rules()):
        if isinstance(file, walk.FileEntry):
            for item in loaders.load(file.path):
                named = file_reader.named(file.relative, file.path, item)
                if isinstance(named, Document):
                    found[named.id] = named.text
    return found


def state(index: Path) -> dict[str, str]:
    """The text of every document."""
    with Index.open(index) as opened:
        assert opened.analysis.verify() == []
        return {document["document"]: document["text"] for document in opened.get()}
