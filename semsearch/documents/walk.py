"""The walk through a folder: the files to read, in a fixed order, and those that were skipped, with the reason.

Left out silently: what globs and ignore files exclude, hidden names, version control folders, indexes of semsearch,
and links to files that are found in their own place. Everything else that cannot be read is a Skipped.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from semsearch.documents.ignore import IgnoreRules
from semsearch.documents.suffixes import PACKED, STREAMED, is_packed_text
from semsearch.errors import GuardRail, NotFound
from semsearch.types import Skipped
from semsearch.utils.globs import path_regex
from semsearch.utils.writer_lock import LOCK

MAX_BYTES = 10 * 2**20
MAX_FILES = 100_000  # with more, it is usually the wrong folder
ON_ITS_WAY = "a mail that is not delivered yet (tmp of a Maildir)"
VERSION_CONTROL = {".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "CVS", ".fossil"}
GENERATED = {"__pycache__", "node_modules"}
_KINDS = {
    "image": "png jpg jpeg gif bmp tif tiff webp ico heic heif avif psd xcf raw cr2 nef",
    "audio": "mp3 wav flac ogg oga opus m4a aac wma aiff mid midi",
    "video": "mp4 m4v mkv mov avi webm wmv flv mpg mpeg 3gp",
    "archive": "zip gz tgz bz2 tbz xz txz zst 7z rar tar jar war whl egg deb rpm dmg iso cab apk",
    "program": "exe dll so dylib o a lib pyc pyo pyd class wasm msi node",
    "font": "ttf otf woff woff2 eot",
    "data": "npy npz pkl pickle parquet feather h5 hdf5 onnx pt pth safetensors faiss gguf mdb sqlite-wal sqlite-shm",
}
BINARY = {f".{suffix}": kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}
_SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class Rules:
    """What to read. `include`: globs, of which a file must match one; `exclude`: globs of what to leave out.

    `streamed`: suffixes without a size limit, because their files are read record by record.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    use_ignore_files: bool = True
    max_bytes: int = MAX_BYTES
    streamed: tuple[str, ...] = STREAMED


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file to read. `relative` is its path below the root, with "/", printable and storable.

    There may be a million of them, so that they have texts and no Path.
    """

    location: str
    relative: str
    size: int
    mtime_ns: int

    @property
    def path(self) -> Path:
        return Path(self.location)


def files(
    root: Path, rules: Rules, is_index: Callable[[Path], bool] = lambda _: False
) -> Iterator[FileEntry | Skipped]:
    """The files at or below `root`, sorted by name within each folder, links last. Raises NotFound without a `root`.

    A folder with a writer's lock for which `is_index` is true is left out.
    """
    try:
        status = root.stat()
    except OSError as error:
        raise NotFound(f"{root} cannot be read: {error.strerror}.", "Check the path.") from error
    if stat.S_ISDIR(status.st_mode):
        yield from _Walk(root, rules, is_index).everything()
    else:
        yield _checked(str(root), printable(root.name), status, rules)


def guard(root: Path, count: int | None, *, yes: bool) -> None:
    """Raises GuardRail for "/", a home folder and more than MAX_FILES files, unless `yes`."""
    if yes:
        return
    place = root.resolve()
    if place in (Path(place.anchor), Path.home().resolve(), Path.home().resolve().parent):
        raise GuardRail(
            f"{place} is a whole disk or home folder.",
            "Name a folder in it, or confirm it: SyncOptions(yes=True).",
            "Name a folder in it, or add --yes.",
        )
    if count is not None and count > MAX_FILES:
        raise GuardRail(
            f"{root} has more than {MAX_FILES:,} files to index.",
            "Name a smaller folder, use the include or exclude of Rules, or SyncOptions(yes=True).",
            "Name a smaller folder, use --include or --exclude, or add --yes.",
        )


@dataclass(frozen=True, slots=True)
class Unseen(Skipped):
    """A folder that could not be listed, or a file of unknown state: its documents may still exist."""


def printable(name: str) -> str:
    """`name` with bytes that are not UTF-8 written as \\xe9: printable, and storable in SQLite."""
    return os.fsencode(name).decode("utf-8", "backslashreplace") if not name.isascii() else name


class _Walk:
    def __init__(self, root: Path, rules: Rules, is_index: Callable[[Path], bool]) -> None:
        self._root = root
        self._is_index = is_index
        self._real_root = root.resolve()
        self._above = str(self._real_root).rstrip(os.sep) + os.sep
        self._rules = rules
        self._hidden = _hidden_names(rules.include)
        patterns = [f"(?:{path_regex(each).pattern})" for each in rules.exclude]  # may be a thousand single files
        self._excluded = re.compile("|".join(patterns) or "(?!)", re.DOTALL)
        self._links: list[_Entry] = []
        self._seen: defaultdict[int, set[int]] = defaultdict(set)  # device -> inodes of every file so far

    def everything(self) -> Iterator[FileEntry | Skipped]:
        """Depth first, without recursion, as folders may be nested a thousand deep; links when all else is known."""
        stack = [_Entry(str(self._root), "", is_folder=True, is_link=False, ignored=self._above_root())]
        while stack:
            entry = stack.pop()
            try:
                if entry.is_folder and _is_on_its_way(entry):
                    with os.scandir(entry.location) as mails:
                        yield from (Skipped(printable(f"{entry.relative}/{mail.name}"), ON_ITS_WAY) for mail in mails)
                elif entry.is_folder:
                    stack.extend(sorted(self._inside(entry), key=lambda e: e.relative, reverse=True))
                elif entry.is_link:
                    self._links.append(entry)
                else:
                    yield self._file(entry, os.lstat(entry.location))
            except OSError as error:
                yield Unseen(printable(entry.relative or entry.location), f"cannot be read: {error.strerror}")
        for entry in self._links:
            yield from self._link(entry)

    def _above_root(self) -> IgnoreRules:
        with suppress(OSError):  # a folder that may not be entered is told where it is listed
            return IgnoreRules.above(self._real_root) if self._rules.use_ignore_files else IgnoreRules()
        return IgnoreRules()

    def _inside(self, folder: _Entry) -> Iterator[_Entry]:
        ignored = folder.ignored
        if self._rules.use_ignore_files:
            ignored = ignored.entering(self._real_root / folder.relative)
        with os.scandir(folder.location) as scanned:
            entries = list(scanned)
        if any(entry.name == LOCK for entry in entries) and self._is_index(Path(folder.location)):
            return
        for child in entries:
            relative = f"{folder.relative}/{child.name}" if folder.relative else child.name
            is_folder = child.is_dir(follow_symlinks=False)
            entry = _Entry(child.path, relative, is_folder, child.is_symlink(), ignored)
            if self._is_wanted(entry, child.name):
                yield entry

    def _is_wanted(self, entry: _Entry, name: str) -> bool:
        if name in VERSION_CONTROL:
            return False
        if name.startswith(".") and not (_matches(self._hidden, name) or _is_maildir(entry.location)):
            return False
        if self._excluded.match(entry.relative):
            return False
        if self._rules.include and not entry.is_folder and not _matches(self._rules.include, entry.relative):
            return False
        if not self._rules.use_ignore_files:
            return True
        if entry.is_folder and name in GENERATED:
            return False
        return not entry.ignored.specs or not entry.ignored.ignores(self._above + entry.relative, entry.is_folder)

    def _link(self, entry: _Entry) -> Iterator[FileEntry | Skipped]:
        try:
            status = Path(entry.location).stat()
            inside = Path(entry.location).resolve().is_relative_to(self._real_root)
        except (OSError, RuntimeError):  # RuntimeError: a loop, in Python 3.11
            yield Skipped(printable(entry.relative), "a broken link")
            return
        if not inside:
            yield Skipped(printable(entry.relative), "a link to outside the folder")
        elif not stat.S_ISDIR(status.st_mode) and status.st_ino not in self._seen[status.st_dev]:
            yield self._file(entry, status)

    def _file(self, entry: _Entry, status: os.stat_result) -> FileEntry | Skipped:
        self._seen[status.st_dev].add(status.st_ino)
        return _checked(entry.location, printable(entry.relative), status, self._rules)


def _is_on_its_way(folder: _Entry) -> bool:
    """Whether it is the `tmp` of a Maildir."""
    place, name = os.path.split(folder.location)
    return name == "tmp" and _is_maildir(place)


def _is_maildir(place: str) -> bool:
    """Whether it is a folder of mails, whose own folders are hidden: .Archive, .Sent."""
    return all(os.path.isdir(f"{place}/{within}") for within in ("cur", "new"))  # noqa: PTH112 - Path.is_dir may raise


@dataclass(frozen=True, slots=True)
class _Entry:
    location: str
    relative: str
    is_folder: bool
    is_link: bool
    ignored: IgnoreRules


def _checked(location: str, relative: str, status: os.stat_result, rules: Rules) -> FileEntry | Skipped:
    """A file with its size, or the reason to skip it, from its name and status; it is not opened."""
    if not stat.S_ISREG(status.st_mode):
        special = next((words for is_special, words in _SPECIAL if is_special(status.st_mode)), "something else")
        return Skipped(relative, f"{special}, not a file")
    if reason := refusal(relative, status.st_size, rules):
        return Skipped(relative, reason)
    return FileEntry(location, relative, status.st_size, status.st_mtime_ns)


def refusal(relative: str, size: int, rules: Rules) -> str:
    """Why a file is not read, by its name and its size in bytes; "" if it is."""
    name = relative.rpartition("/")[2]
    suffix = name[name.rfind(".") :].lower() if "." in name[1:] else ""
    if name.lower().endswith(".warc.gz"):  # the usual form of a web archive
        suffix = ".warc"
    if suffix in BINARY and not (suffix in PACKED and is_packed_text(name)) and not _matches(rules.include, relative):
        return f"binary file ({BINARY[suffix]})"
    if size > rules.max_bytes and suffix not in rules.streamed:
        limit = f"{rules.max_bytes / 2**20:g} MB"
        return f"{_megabytes(size)} is over the limit of {limit} for files"
    return ""


def _matches(patterns: tuple[str, ...], path: str) -> bool:
    return any(path_regex(pattern).match(path) for pattern in patterns)


def _hidden_names(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The names in `patterns` that begin with a dot: hidden files and folders to include."""
    parts = {part for pattern in patterns for part in pattern.split("/")}
    return tuple(part for part in parts if part.startswith(".") and part not in (".", ".."))


def _megabytes(size: int) -> str:
    """Rounded up, so that a file just over the limit does not seem to be at it."""
    return f"{math.ceil(size / 2**20 * 10) / 10:.1f} MB"
