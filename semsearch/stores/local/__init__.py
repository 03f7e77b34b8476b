"""The local store: one SQLite file is the truth, vector index files beside it are caches that may be deleted."""

from __future__ import annotations

from semsearch.stores.local.backup import dump, restore
from semsearch.stores.local.folder import create, exists, names, remove, rename
from semsearch.stores.local.reader import LocalReader
from semsearch.stores.local.sqlite import check_installation
from semsearch.stores.local.writer import LocalWriter

__all__ = [
    "LocalReader",
    "LocalWriter",
    "check_installation",
    "create",
    "dump",
    "exists",
    "names",
    "open_reader",
    "open_writer",
    "remove",
    "rename",
    "restore",
]

open_reader = LocalReader.open
open_writer = LocalWriter.open
