"""What stays in memory between runs of a page and is shared by all who look: open indexes and encoders.

An open index sees what other processes commit at its next search. One that was removed, made anew or restored is
another index under the same name: its file is another, and the old one is closed. An encoder whose folder was trained
or exported into once more is another one too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import streamlit as st

from semsearch import Encoder, Index, SemsearchError

MOST = 16  # indexes, and encoders, that are open at once
QUERIES = 256  # texts whose vectors an index keeps: what is asked again, another way, is not encoded again
State = tuple[tuple[str, int, int, int], ...]


def names() -> list[str]:
    """The indexes of the home of indexes, sorted."""
    return Index.names()


def index(name: str) -> Index:
    """An index of the home, open. Raises SemsearchError where there is none any more."""
    folder = Index.folder(name)
    try:
        made = (folder / "store.db").stat()
    except OSError:
        raise SemsearchError(f"there is no index {name!r} any more.", "Choose another one.") from None
    return _index(str(folder), made.st_dev, made.st_ino)


def another(name: str) -> Index:
    """The same index opened once more, for work in the background that writes: it shares the encoder of `index`.

    Raises SemsearchError where there is none any more, or where its encoder is another than it was.
    """
    return Index.open(Index.folder(name), encoder=index(name).encoder)


def release(name: str, now: Path | None = None) -> None:
    """Close an index that is about to be removed, or lies in `now` since it was renamed: it would keep its room."""
    folder = Index.folder(name)
    with suppress(OSError):
        made = ((now or folder) / "store.db").stat()
        _index.clear(str(folder), made.st_dev, made.st_ino)


@st.cache_resource(max_entries=MOST, show_spinner=False, on_release=lambda index: index.close())
def _index(folder: str, device: int, file: int) -> Index:
    return Index.open(Path(folder), remember=QUERIES)


def encoder(name: str) -> Encoder:
    """An encoder by its name, loaded once; again where the files of its folder are others than they were."""
    state, known = _state(name), _states()
    if known.get(name, state) != state:
        _encoder.clear(name, known[name])  # or both would take memory
    known[name] = state
    return _encoder(name, state)


@st.cache_resource(max_entries=MOST, show_spinner="Loading the encoder …")
def _encoder(name: str, state: State) -> Encoder:
    return Encoder.load(name)


@st.cache_resource(show_spinner=False)
def _states() -> dict[str, State]:
    return {}


def _state(name: str) -> State:
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
        st.error(plain(f"{error.message} {error.fix}".strip()), icon=":material/error:")


def plain(text: str) -> str:
    """A text as Streamlit's Markdown shows it letter by letter: nothing in it is emphasis, a link, an image or HTML."""
    safe = "".join(f"\\{one}" if one in MARKUP else one for one in text)
    return " ".join(safe.split("\n"))


MARKUP = frozenset("\\`*_{}[]()<>#+-.!|~:$&\"'^=@/")
