"""A pool of open indexes and encoders, shared by all sessions of the server.

An open index sees what other processes commit at its next search. One that was removed, created anew or restored is a
different index under the same name: its file differs, and the old one is closed. An encoder whose folder was trained or
exported into again differs too. What leaves the pool may be in use by another session: it is closed a little later.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import streamlit as st

from semsearch import Encoder, Index, SemsearchError

MOST_INDEXES, MOST_ENCODERS = 64, 16  # open at once; an index loads its encoder at the first search by meaning
LINGER = 60.0  # seconds between dropping an index and closing it: longer than a search takes
QUERIES = 256  # query vectors that an index caches: another mode or filter encodes nothing
FileStamps = tuple[tuple[str, int, int, int], ...]  # path, inode, size and mtime of each file


def names() -> list[str]:
    """The indexes of the home of indexes, sorted."""
    return Index.names()


def index(name: str) -> Index:
    """An open index of the home. Raises SemsearchError where it no longer exists."""
    folder = Index.folder(name)
    path, file, opened = str(folder), _file(folder), _files()
    if opened.get(path, file) != file:
        _index.clear(path, *opened[path])  # created anew since: the old one would stay open
    opened[path] = file
    return _index(path, *file)


def state(index: Index) -> tuple[str, int, int]:
    """A key that changes with every change of the index. Raises SemsearchError where it no longer exists."""
    folder = Path(index.path)
    return str(folder), _file(folder)[1], index.version


def open_copy(name: str) -> Index:
    """The same index opened once more, for a background job that writes: it shares the encoder of `index`.

    Raises SemsearchError where it no longer exists, or where its encoder has changed.
    """
    return Index.open(Index.folder(name), encoder=index(name).encoder)


def release(name: str) -> None:
    """Close an index at once that is about to be removed or renamed: Windows renames no open file."""
    path = str(Index.folder(name))
    if file := _files().pop(path, None):
        with suppress(SemsearchError):
            _index(path, *file).close()
        _index.clear(path, *file)


def _file(folder: Path) -> tuple[int, int]:
    """Device and inode of an index's store."""
    try:
        stat = (folder / "store.db").stat()
    except OSError:
        raise SemsearchError(f"There is no index {folder.name!r} any more.", "Choose another one.") from None
    return stat.st_dev, stat.st_ino


def _closed_later(index: Index) -> None:
    """Close it once no running search can need it."""
    timer = threading.Timer(LINGER, index.close)
    timer.daemon = True
    timer.start()


@st.cache_resource(max_entries=MOST_INDEXES, show_spinner=False, on_release=_closed_later)
def _index(folder: str, device: int, file: int) -> Index:
    return Index.open(Path(folder), query_cache_size=QUERIES)


@st.cache_resource(show_spinner=False)
def _files() -> dict[str, tuple[int, int]]:
    """The file of each open index, by its folder: device and inode."""
    return {}


def encoder(name: str) -> Encoder:
    """An encoder by its name, loaded once, and again after the files of its folder have changed."""
    files, loaded = _stamps(name), _models()
    if loaded.get(name, files) != files:
        _encoder.clear(name, loaded[name])  # or both would take memory
    loaded[name] = files
    return _encoder(name, files)


@st.cache_resource(max_entries=MOST_ENCODERS, show_spinner="Loading the encoder …")
def _encoder(name: str, files: FileStamps) -> Encoder:
    return Encoder.load(name)


@st.cache_resource(show_spinner=False)
def _models() -> dict[str, FileStamps]:
    return {}


def _stamps(name: str) -> FileStamps:
    """Inode, size and mtime of every file of the model's folder, and of its template if that is a file."""
    model, _, template = name.partition("#")
    folder = Path(model.strip()).expanduser()
    path, toml, _ = template.rpartition("template=")[2].partition(".toml")
    files = [Path(path + toml).expanduser()] if toml else []
    if folder.is_dir():
        files += [*folder.glob("*"), *folder.glob("[0-9]*_*/*")]  # the modules of sentence-transformers
    found = []
    for file in sorted(files):
        with suppress(OSError, ValueError):
            stat = file.stat()
            found.append((str(file), stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(found)
