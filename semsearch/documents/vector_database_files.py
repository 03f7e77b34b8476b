"""Where the stores of other programs are: the file that an index follows, if there is one. Nothing is read."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from semsearch.errors import NotFound

DATABASES = {"chroma": "chroma.sqlite3", "txtai": "documents"}  # the SQLite file in a folder of the program
KINDS = (*DATABASES, "lancedb")


def database(kind: str, path: Path) -> Path:
    """The SQLite file in a folder of Chroma or txtai, or `path` itself where it is a file. Raises NotFound."""
    if not path.is_dir():
        return path
    file = path / DATABASES[kind]
    if not file.is_file():
        raise NotFound(f"{path} is no folder of {kind}: it has no file {file.name}.", "Check the path.")
    return file


def is_followed(kind: str, path: Path) -> bool:
    """Whether the texts are in a database that an index can follow: not LanceDB, and not an archive of txtai."""
    return kind in DATABASES and not is_archive(path)


def is_archive(path: Path) -> bool:
    """Whether this is a .zip or .tar file, compressed or not."""
    return path.is_file() and (zipfile.is_zipfile(path) or tarfile.is_tarfile(path))
