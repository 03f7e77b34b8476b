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

from semsearch import Encoder, Index, NotFound, SemsearchError, admin
from semsearch.encoders.encoder_pool import EncoderPool
from semsearch.utils.quantities import letters_by_kind

MOST_INDEXES, MOST_ENCODERS = 64, 16  # open at once; an index loads its encoder at the first search by meaning
LINGER = 60.0  # seconds between dropping an index and closing it: longer than a search takes
QUERIES = 256  # query vectors that an index caches: another mode or filter encodes nothing
FileId = tuple[int, int]  # Index.identity
FileStamps = tuple[tuple[str, int, int, int], ...]  # path, inode, size and mtime of each file


def home() -> Path:
    """The folder of all indexes."""
    return admin.folder("x").parent.absolute()


def index(name: str) -> Index:
    """An open index of the home. Raises SemsearchError where it no longer exists."""
    return _opened(str(admin.folder(name)))[0]


def state(index: Index) -> tuple[str, int, int]:
    """A key that changes with every change of the index. Raises SemsearchError where it no longer exists."""
    folder = Path(index.path)
    return str(folder), _file(folder)[1], index.version


def open_copy(name: str) -> Index:
    """The same index opened once more, for a background job that writes: it shares the encoder of `index`.

    Raises SemsearchError where it no longer exists, or where its encoder has changed.
    """
    return Index.open(index(name).path, encoders=_shared())


def release(name: str) -> None:
    """Close an index at once that is about to be removed or renamed: Windows renames no open file."""
    with suppress(SemsearchError):
        index(name).close()
    _opened.clear(str(admin.folder(name)))


def _file(folder: Path) -> FileId:
    """The identity of an index. Raises SemsearchError where it no longer exists."""
    try:
        return admin.identity(folder)
    except NotFound:
        raise SemsearchError(f"There is no index {folder.name!r} any more.", "Choose another one.") from None


def left_out_beside(index: Index, document: str) -> str:
    """What was left out of the file of a document, in a sentence; "" for nothing."""
    return "".join(
        f"Left out of the file: {letters_by_kind(kinds)}." for kinds in index.analysis.left_out(document).values()
    )


def _close_later(opened: tuple[Index, FileId]) -> None:
    """Close an index once no running search can need it."""
    timer = threading.Timer(LINGER, opened[0].close)
    timer.daemon = True
    timer.start()


def _is_current(opened: tuple[Index, FileId]) -> bool:
    """Whether the file is still the one that was opened; if not, the index is closed."""
    current = _file(Path(opened[0].path)) == opened[1]
    if not current:
        _close_later(opened)  # Streamlit drops what is not valid without releasing it
    return current


@st.cache_resource(max_entries=MOST_INDEXES, show_spinner=False, validate=_is_current, on_release=_close_later)
def _opened(folder: str) -> tuple[Index, FileId]:
    file = _file(Path(folder))
    return Index.open(Path(folder), query_cache_size=QUERIES, encoders=_shared()), file


@st.cache_resource(show_spinner=False)
def _shared() -> EncoderPool:
    """The encoders of the open indexes, by fingerprint."""
    return EncoderPool()


@st.cache_resource(show_spinner=False)
def prepare(name: str) -> None:
    """Load an encoder, for the rest of the server's life, that an index is about to be made with."""
    model = encoder(name)
    _shared().borrow(model.fingerprint, lambda: model)


def encoder(name: str) -> Encoder:
    """An encoder by its name, loaded once, and again after the files of its folder have changed."""
    return _loaded(name)[0]


@st.cache_resource(
    max_entries=MOST_ENCODERS,
    show_spinner="Loading the encoder …",
    validate=lambda loaded: _stamps(loaded[1]) == loaded[2],
)
def _loaded(name: str) -> tuple[Encoder, str, FileStamps]:
    files = _stamps(name)
    return Encoder.load(name), name, files


def _stamps(name: str) -> FileStamps:
    """Inode, size and mtime of every file of the model's folder, and of its template if that is a file."""
    model, _, template = name.partition("#")
    folder = Path(model.strip()).expanduser()
    path, toml, _ = template.rpartition("template=")[2].partition(".toml")
    files = [Path(path + toml).expanduser()] if toml else []
    if folder.is_dir():
        files += [*folder.glob("*"), *folder.glob("[0-9]*_*/*")]  # the modules of sentence-transformers
    stamps = []
    for file in sorted(files):
        with suppress(OSError, ValueError):
            stat = file.stat()
            stamps.append((str(file), stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(stamps)
