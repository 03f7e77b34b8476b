"""Loaders, one file type each; a new one is a new file in this folder, and a line in the table of `suffixes`.

A loader is a module with the members of `Loader`. One whose files consist of records (JSON lines, tables) also has
`RECORDS = True`, and may have the members of `RecordLoader`. One with `ISOLATED = True` runs in another process, with
limits of time, memory and output. `Document.id` is relative to the file: "" for its only document, the id of a record
that has one, and "#12", its line or row, for a record without; "#name" for a part of a file, such as an attachment.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Protocol

from semsearch.documents.isolation import pool
from semsearch.documents.isolation.limits import Exceeded as Exceeded
from semsearch.documents.isolation.limits import Limits as Limits
from semsearch.documents.parsing.blobs import replaced
from semsearch.documents.parsing.file_type import kind_of_bytes, records_on_stdin
from semsearch.documents.parsing.records import MOST_DEPTH, Digest, Step
from semsearch.documents.parsing.records import Enclosed as Enclosed
from semsearch.documents.parsing.records import Fields as Fields
from semsearch.documents.parsing.records import Heartbeat as Heartbeat
from semsearch.documents.parsing.records import Place as Place
from semsearch.documents.suffixes import LOADERS, PACKED, is_packed_text, is_page_of_manual
from semsearch.documents.textless import checked
from semsearch.errors import SemsearchError, Unreadable
from semsearch.types import Document, Skipped
from semsearch.utils import plugins
from semsearch.utils.atomic_write import scratch_folder
from semsearch.utils.untrusted import one_line, shortened

_HERE = sys.modules[__name__]
_DEFAULT = Fields()
_OF_PROGRAMS = (".xls", ".xlt")  # which programs also give to tables in HTML, XML and plain text
_MAILDIR = ("cur", "new")  # folders of mails that are called after the host: 1712.M20P3.mail.example.org:2,S


class Loader(Protocol):
    """A module that reads files of one type.

    One of another distribution also has their suffixes as `SUFFIXES`, a tuple (lower case, with the dot).
    """

    ISOLATED: bool
    """True for a format that is binary, nested, compressed or computed: a small file may then hang or crash its parser,
    or need any amount of memory. False where time and memory are proportional to the size of the file. Starting the
    other process takes 0.1 s, once. A loader that does not say counts as True.
    """

    def load(self, path: Path, fields: Fields) -> Iterator[Document | Skipped | Enclosed | Heartbeat]:
        """The documents of one file, its records that cannot be read, and the files within it for other loaders.

        An isolated loader that takes long for a document yields a Heartbeat now and then.
        Raises Unreadable where the whole file cannot be read, UsageError where `fields` does not fit it.
        """


class RecordLoader(Loader, Protocol):
    """A loader, not isolated, that can go on reading where an earlier run ended, without parsing what is before."""

    def read_from(self, path: Path, fields: Fields, start: Place, digest: Digest) -> Iterator[Step]:
        """The records after `start`, each with the place where reading can go on after it. Raises as `load`.

        That is the place before the record, for a last line that is not complete yet and cannot be read; None if there
        is none, as after a last line that could be read but has no end. `digest` gets all bytes between `start` and
        that place, and no others, before the record is yielded. One whose records depend on later ones also has
        `same_before(path, fields, start)`: whether those before `start` are as they were when the file ended there.
        """


def loader_for(path: Path, kind: str = "auto") -> str:
    """The name of the loader for `path`: by its suffix, else by its first bytes.

    `kind` is "auto", "files" (as auto, but a file of records is plain text) or the name of a loader. Of several
    suffixes the last known one counts: `page.html.en.utf8` is HTML. Raises Unreadable for a binary file of no known
    type, UnknownName for an unknown kind.
    """
    if kind not in ("auto", "files"):
        plugins.load(_HERE, kind)  # raises UnknownName
        return kind
    name = _of_odd_name(path) or _by_suffix(suffix_of(path)) or kind_of_bytes(path)
    return "text" if kind == "files" and has_records(name) else name


def _of_odd_name(path: Path) -> str | None:
    """The loader for a page of the manual or a mail of a Maildir, whose name may end in anything: resolv.conf.5; and
    for a text that is called a spreadsheet.
    """
    name = path.name
    if name.lower().endswith(_OF_PROGRAMS):
        with suppress(Unreadable):
            return kind if (kind := kind_of_bytes(path)) in ("html", "text", "email") else None
    if is_page_of_manual(name) or (name[:1].isdigit() and path.parent.name in _MAILDIR):
        with suppress(Unreadable):
            return kind if (kind := kind_of_bytes(path)) in ("man", "email", "mbox") else None
    return None


def suffix_of(path: PurePath) -> str:
    """The suffix that tells the type of a file, in lower case: the last one that a loader knows, else the last one.

    >>> suffix_of(PurePath("page.html.en.UTF8")), suffix_of(PurePath("notes.v2.xyz")), suffix_of(PurePath("README"))
    ('.html', '.xyz', '')
    """
    suffixes = [suffix.lower() for suffix in reversed(path.suffixes)]
    if len(suffixes) < 2:
        return "".join(suffixes)
    if suffixes[:2] == [".gz", ".warc"]:  # its loader unpacks it record by record
        return ".warc"
    return next(filter(_by_suffix, suffixes), suffixes[0])


def has_records(name: str) -> bool:
    """Whether the files of the loader called `name` consist of records."""
    return getattr(_loader(name), "RECORDS", False)


def load(
    path: Path, kind: str = "auto", fields: Fields = _DEFAULT, limits: Limits | None = None
) -> Iterator[Document | Skipped]:
    """The documents of one file, and its records that cannot be read or have no text.

    `limits`: those of an isolated loader; by default those of the settings. Raises as `Loader.load`, and Exceeded, a
    kind of Unreadable, for a file beyond a limit.
    """
    return (item for item, _ in read_from(path, kind, fields, Place(), hashlib.sha256(), limits))


def read_from(
    path: Path,
    kind: str,
    fields: Fields,
    start: Place,
    digest: Digest,
    limits: Limits | None = None,
) -> Iterator[Step]:
    """As `RecordLoader.read_from`, for every loader: one that cannot go on reading has no places. Raises as `load`."""
    name = loader_for(path, kind)
    try:
        for item, place in _steps(name, path, fields, start, digest, limits):
            yield (shortened(item) if isinstance(item, Skipped) else checked(replaced(item), path.name)), place
    except MemoryError as error:
        raise Unreadable("there is not enough memory to read it") from error
    except Unreadable as error:
        is_empty = path.is_file() and not path.stat().st_size
        error.message = "the file is empty" if is_empty else one_line(error.message)
        raise


def goes_on(name: str) -> bool:
    """Whether the loader called `name` can go on reading at a place."""
    return hasattr(_loader(name), "read_from")


def same_before(name: str, path: Path, fields: Fields, start: Place) -> bool:
    """Whether the records before `start` are as they were when the file ended there. Raises Unreadable."""
    same = getattr(_loader(name), "same_before", None)
    with _unreadable(name):
        return same is None or same(path, fields, start)


def _steps(
    name: str, path: Path, fields: Fields, start: Place, digest: Digest, limits: Limits | None
) -> Iterator[Step]:
    loader = _loader(name)
    if getattr(loader, "ISOLATED", True):
        limits = limits or Limits.current()
        items = pool.read(name, path, fields, limits, limits.of_file(path, records=has_records(name)))
        yield from ((item, None) for item in items)
    elif not goes_on(name):
        yield from ((item, None) for item in read(name, path, fields) if not isinstance(item, Heartbeat))
    else:
        resumable: RecordLoader = plugins.load(_HERE, name)
        with _unreadable(name):
            yield from resumable.read_from(path, fields, start, digest)


def read(name: str, path: Path, fields: Fields, depth: int = 0) -> Iterator[Document | Skipped | Heartbeat]:
    """What the loader called `name` finds, read in this process and without limits. Raises as `Loader.load`.

    MemoryError passes. A file that is `depth` files deep within another one has no more than MOST_DEPTH.
    """
    with _unreadable(name):
        loader: Any = _loader(name)
        for item in loader.load(path, fields):
            if not isinstance(item, Enclosed):
                yield item
            elif depth < MOST_DEPTH:
                inner = fields if not item.id else replace(_DEFAULT, ocr=fields.ocr)
                yield from _enclosed(item, path.name, depth + 1, inner)
            else:
                yield Skipped(f"{path.name}{item.id}", f"more than {MOST_DEPTH} files deep within another")


def _enclosed(item: Enclosed, file: str, depth: int, fields: Fields) -> Iterator[Document | Skipped | Heartbeat]:
    """What is in a file within a file. One without an id is the whole of it, and read as the file itself would be.

    Of others a table is one text, and a database is left out: nobody has chosen its rows.
    """
    suffix = PurePath(f"file{PurePath(item.name).name}").suffix.lower()  # of a page at the root of a site: .html
    if item.id and not _by_suffix(suffix):
        return  # who has it names it
    if item.id and suffix in PACKED and not is_packed_text(item.name):
        yield Skipped(f"{file}{item.id}", "compressed, and its name does not say that it is a text")
        return
    with scratch_folder() as folder:
        path = folder / (f"enclosed{suffix}" if item.id else item.name)
        path.write_bytes(item.content)
        try:
            for inner in read(loader_for(path, "files" if item.id else "auto"), path, fields, depth):
                yield inner if isinstance(inner, Heartbeat) else _placed(item, file, path.name, inner)
        except Unreadable as error:
            if not item.id:
                raise
            yield Skipped(f"{file}{item.id}", error.message)


def _placed(item: Enclosed, file: str, name: str, inner: Document | Skipped) -> Document | Skipped:
    if isinstance(inner, Skipped):
        return Skipped(f"{file}{item.id or inner.path.removeprefix(name)}", inner.reason)
    if not item.id:
        return inner
    place = f"/{inner.id.removeprefix('#')}" if inner.id else ""
    metadata = {**item.metadata, **inner.metadata}
    return replace(inner, id=item.id + place, title=inner.title or item.name, metadata=metadata)


@contextmanager
def _unreadable(name: str) -> Iterator[None]:
    """Raise what the loader `name` raises as Unreadable, except errors of our own."""
    try:
        yield
    except (SemsearchError, MemoryError):
        raise
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    except Exception as error:  # third-party parsers raise anything; one bad file must not end the run
        raise Unreadable(f"the {name} loader failed: {type(error).__name__}: {error}"[:300]) from error


def load_stream(stream: BinaryIO, kind: str = "auto", fields: Fields = _DEFAULT) -> Iterator[Document | Skipped]:
    """The documents of standard input, named "-" in reasons. JSON lines are recognised by their first line."""
    with spooled(stream, "-") as path:
        if kind == "auto" and records_on_stdin(path):
            kind = "jsonl"
        yield from load(path, kind, fields)


@contextmanager
def spooled(stream: BinaryIO, name: str) -> Iterator[Path]:
    """A temporary file `name` with the content of `stream`."""
    with scratch_folder() as folder:
        path = folder / name
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        yield path


@cache
def _loader(name: str) -> Loader:
    loader: Loader = plugins.load(_HERE, name)  # 0.1 ms, mostly to list this folder
    return loader


def _by_suffix(suffix: str) -> str | None:
    """The name of the loader for a suffix."""
    return LOADERS.get(suffix) or (_of_other_distributions().get(suffix) if suffix else None)


@cache
def _of_other_distributions() -> dict[str, str]:
    names = set(plugins.names(_HERE)) - set(plugins.names(_HERE, foreign=False))
    return {suffix: name for name in sorted(names) for suffix in plugins.load(_HERE, name).SUFFIXES}
