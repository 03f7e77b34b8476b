"""What stays in memory between runs of a page and is shared by all who look: open indexes and encoders.

An open index sees what other processes commit at its next search. One that was removed, made anew or restored is
another index under the same name: its file is another, and the old one is closed. An encoder whose folder was trained
or exported into once more is another one too. What is let go may serve somebody's search at this moment: it is closed a
little later.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import streamlit as st

from semsearch import Encoder, Index, SemsearchError

MOST_INDEXES, MOST_ENCODERS = 64, 16  # open at once; an index that nobody searches by meaning loads no encoder
LINGER = 60.0  # seconds between letting go of an index and closing it: longer than a search takes
QUERIES = 256  # texts whose vectors an index keeps: what is asked again, another way, is not encoded again
Model = tuple[tuple[str, int, int, int], ...]


def names() -> list[str]:
    """The indexes of the home of indexes, sorted."""
    return Index.names()


def index(name: str) -> Index:
    """An index of the home, open. Raises SemsearchError where there is none any more."""
    folder = Index.folder(name)
    path, file, known = str(folder), _file(folder), _files()
    if known.get(path, file) != file:
        _index.clear(path, *known[path])  # made anew since: the old one would keep its room
    known[path] = file
    return _index(path, *file)


def state(index: Index) -> tuple[str, int, int]:
    """What tells the index as it is now from all that lay there before. Raises SemsearchError where it is gone."""
    folder = Path(index.path)
    return str(folder), _file(folder)[1], index.version


def another(name: str) -> Index:
    """The same index opened once more, for work in the background that writes: it shares the encoder of `index`.

    Raises SemsearchError where there is none any more, or where its encoder is another than it was.
    """
    return Index.open(Index.folder(name), encoder=index(name).encoder)


def release(name: str) -> None:
    """Close an index that is about to be removed or renamed, now: it would keep its room, and its name on Windows."""
    path = str(Index.folder(name))
    if file := _files().pop(path, None):
        with suppress(SemsearchError):
            _index(path, *file).close()
        _index.clear(path, *file)


def _file(folder: Path) -> tuple[int, int]:
    """Device and inode of an index's store."""
    try:
        made = (folder / "store.db").stat()
    except OSError:
        raise SemsearchError(f"there is no index {folder.name!r} any more.", "Choose another one.") from None
    return made.st_dev, made.st_ino


def _closed_later(index: Index) -> None:
    """Close it once no search that has begun can still need it."""
    timer = threading.Timer(LINGER, index.close)
    timer.daemon = True
    timer.start()


@st.cache_resource(max_entries=MOST_INDEXES, show_spinner=False, on_release=_closed_later)
def _index(folder: str, device: int, file: int) -> Index:
    return Index.open(Path(folder), remember=QUERIES)


@st.cache_resource(show_spinner=False)
def _files() -> dict[str, tuple[int, int]]:
    """The file of each open index, by its folder: device and inode."""
    return {}


def encoder(name: str) -> Encoder:
    """An encoder by its name, loaded once; again where the files of its folder are others than they were."""
    files, known = _files_of_model(name), _models()
    if known.get(name, files) != files:
        _encoder.clear(name, known[name])  # or both would take memory
    known[name] = files
    return _encoder(name, files)


@st.cache_resource(max_entries=MOST_ENCODERS, show_spinner="Loading the encoder …")
def _encoder(name: str, files: Model) -> Encoder:
    return Encoder.load(name)


@st.cache_resource(show_spinner=False)
def _models() -> dict[str, Model]:
    return {}


def _files_of_model(name: str) -> Model:
    """Size and times of every file of the model's folder and of its template, where the name has them."""
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


@contextmanager
def told() -> Iterator[None]:
    """An error of semsearch as a sentence with what to do; the rest of the page stands."""
    try:
        yield
    except SemsearchError as error:
        st.error(plain(str(error)), icon=":material/error:")


def plain(text: str) -> str:
    """A text as Streamlit's Markdown shows it letter by letter: nothing in it is emphasis, a link, an image or HTML."""
    safe = "".join(f"\\{one}" if one in MARKUP else one for one in text)
    return " ".join(LINKED.sub(rf"\g<0>{BREAK}", safe).split("\n"))


MARKUP = frozenset("\\`*_{}[]()<>#+-.!|~:$&\"'^=@/")
# Escaped or not, an address and a mail address become links (remark-gfm looks for them once more when all else is
# read), unless something stands within them: a letter of no width.
LINKED = re.compile(r"(?:https?|www)(?=\\[:.])|\\@", re.IGNORECASE)
BREAK = "\u2060"
