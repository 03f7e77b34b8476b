"""Settings for all commands, and the locations of indexes and of the embedding cache.

Order: flag > environment (SEMSEARCH_HOME, SEMSEARCH_MODEL …) > ./semsearch.toml > the user's semsearch.toml >
default. An unknown key or a value of the wrong type is an error that names the file.

A ./semsearch.toml may have come with a folder from somebody else, so it cannot affect anything outside that folder:
`home` must be below it, `model` and `reranker` must be plain names (or NAME#TEMPLATE, with a template of the library),
`offline` can only be switched on, the limits on reading a file (`read_…`) can only be lowered, and the embedding cache
cannot be set.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from semsearch.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from semsearch.types import Mode

PROJECT_FILE = "semsearch.toml"
LARGEST = 1_000_000  # bytes of a settings file
LONGEST_NAME = 200  # bytes of the name of an index: file systems take 255, and files beside its folder have longer ones
PREFIX = "SEMSEARCH_"
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
DATA = "SEMSEARCH_DATA"  # the folder of public test sets; not a setting, as searching does not need it


@dataclass(frozen=True, slots=True)
class Settings:
    """A value for each key. `home` None: ./indexes where it exists, else the user's data folder."""

    home: Path | None = None
    model: str = "default"
    device: str = "auto"
    threads: int = 0
    k: int = 10
    mode: Mode = "hybrid"
    cache: Path | None = None
    embedding_cache_mb: int = 1024
    reranker: str = "default"
    offline: bool = False
    read_seconds: int = 30
    read_memory_mb: int = 1024
    read_output_mb: int = 10


class Value(NamedTuple):
    """A setting and its origin: `flag`, the name of a variable, the path of a file, or `default`."""

    value: Any
    origin: str


def load(flags: Mapping[str, object] | None = None) -> Settings:
    """The current settings. `flags` are those of a command line, where None means that a flag was not used.

    Raises UnknownName for an unknown key, UsageError for an invalid value.
    """
    return Settings(**{key: value.value for key, value in resolve(flags).items()})


def resolve(flags: Mapping[str, object] | None = None) -> dict[str, Value]:
    """Every key with its value and its origin."""
    values = {field.name: Value(field.default, "default") for field in fields(Settings)}
    for file, safe in ((user_file(), False), (Path(PROJECT_FILE), True)):
        for key, value in _from_file(file, safe=safe):
            values[key] = Value(value, str(file.resolve()))
    for key in values:
        variable = PREFIX + key.upper()
        if text := os.environ.get(variable):
            values[key] = Value(_checked(key, text, variable), variable)
    for key, value in (flags or {}).items():
        if value is not None:
            values[key] = Value(_checked(key, value, "flag"), "flag")
    return values


def home(explicit: Path | None = None) -> Path:
    """The folder that holds the indexes; it need not exist yet."""
    chosen = Path(explicit).expanduser() if explicit else load().home
    if chosen:
        return chosen
    if Path("indexes").is_dir():
        return Path("indexes")
    from platformdirs import user_data_path

    return user_data_path("semsearch", appauthor=False) / "indexes"


def index_folder(name: str | Path, below: Path | None = None) -> Path:
    """The folder of the index called `name`: below the folder of indexes, unless `name` is a path itself.

    >>> index_folder("notes", Path("/data")).as_posix()
    '/data/notes'
    >>> index_folder("./notes", Path("/data")).as_posix()
    'notes'
    """
    if not isinstance(name, str | Path):
        raise UsageError(f"an index is named by a text or a path, not {name!r}.", 'For example: "notes".')
    if isinstance(name, Path) or "/" in name or (os.altsep and os.sep in name):
        if "\0" in str(name):
            raise UsageError(f"{str(name)!r} cannot be the place of an index.", "A path has no character NUL.")
        return Path(name).expanduser()
    if not name or name.startswith((".", "-")) or not name.isprintable() or len(os.fsencode(name)) > LONGEST_NAME:
        what = repr(name) if len(name) < LONGEST_NAME else f"a text of {len(name)} letters"
        raise UsageError(
            f"{what} cannot be the name of an index.", "Use up to 200 letters, digits, '-' and '_', or a path."
        )
    return home(below) / name


def judgements_file(folder: Path) -> Path:
    """The file beside an index with what a person said of its hits."""
    return folder.parent / ".judgements" / f"{folder.name}.json"


def data_folder(explicit: Path | None = None) -> Path:
    """The folder of public test sets: `explicit`, else SEMSEARCH_DATA. Raises UsageError where neither is set."""
    folder = explicit or os.environ.get(DATA)
    if not folder:
        raise UsageError(
            "the folder of the test sets is not set.",
            f"Pass the folder, or set {DATA}.",
            f"Use --data DIR, or set {DATA}.",
        )
    return Path(folder)


def cache_file() -> Path:
    """The embedding cache: one file for all indexes of a user, wherever they are. It can be deleted at any time."""
    from platformdirs import user_cache_path

    return load().cache or user_cache_path("semsearch", appauthor=False) / "embeddings.db"


def user_file() -> Path:
    """The user's settings file, which need not exist."""
    from platformdirs import user_config_path  # 5 ms

    return user_config_path("semsearch", appauthor=False) / PROJECT_FILE


def _from_file(file: Path, *, safe: bool) -> Iterator[tuple[str, object]]:
    """The checked values of a settings file by key; none where it does not exist."""
    try:
        text = _content(file).decode()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"{file}: cannot be read: {reason}.", "Repair or remove it.") from None
    import tomllib

    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: TOMLDecodeError, and a number of too many digits
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"{file}: {problem}.", "Write `key = value` on each line.") from None
    keys = [field.name for field in fields(Settings)]
    for key, value in table.items():
        if key not in keys:
            raise UnknownName(f"setting ({file})", key, keys)
        checked = _checked(key, value, str(file))
        if safe:
            _check_project(key, checked, file)
        yield key, checked


def _content(file: Path) -> bytes:
    """The content of a regular file. Raises OSError for anything else, which might never end, and a file too large."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError("it is no regular file")
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # no waiting for a pipe's other end
    with os.fdopen(handle, "rb") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):  # replaced meanwhile
            raise OSError("it is no regular file")
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(f"it is larger than {LARGEST:,} bytes")
    return content


def _check_project(key: str, value: object, file: Path) -> None:
    """Raises UsageError for a value that the settings file of a project must not set."""
    folder = Path.cwd().resolve()
    refused = (
        key in ("cache", "embedding_cache_mb")
        or (key == "home" and not (folder / str(value)).resolve().is_relative_to(folder))
        or (key in ("model", "reranker") and re.fullmatch(r"\w[\w.-]*(#\w[\w-]*)?", str(value)) is None)
        or (key == "offline" and value is False)
        or (key.startswith("read_") and isinstance(value, int) and value > getattr(Settings(), key))
    )
    if refused:
        raise UsageError(
            f"{file}: a project may not set {key} = {str(value)!r}.",
            f"If you trust the project, set it in {user_file()} or as {PREFIX}{key.upper()}.",
        )


def _checked(key: str, value: object, origin: str) -> object:
    """`value` converted to the type of `key`. Strings come from the environment as well as from files."""
    expected, convert = _CHECKS[key]
    try:
        return convert(value)
    except (TypeError, ValueError):
        setting = f"--{key}" if origin == "flag" else f"{key} ({origin})"
        raise UsageError(f"{value!r} is not a valid value for {setting}.", f"It must be {expected}.") from None


def _path(value: object) -> Path | None:
    if not isinstance(value, str | Path) or not str(value):
        raise TypeError
    return Path(value).expanduser()


def _integer(minimum: int) -> Callable[[object], int]:
    def convert(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str) or int(value) < minimum:
            raise ValueError
        return int(value)

    return convert


def _boolean(value: object) -> bool:
    word = str(value).lower()
    if not isinstance(value, bool | str) or word not in (*TRUE, *FALSE):
        raise ValueError
    return word in TRUE


def _matching(pattern: str) -> Callable[[object], str]:
    def convert(value: object) -> str:
        if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
            raise ValueError
        return value

    return convert


_CHECKS: dict[str, tuple[str, Callable[[object], object]]] = {
    "home": ("a folder", _path),
    "model": ("the name or the folder of a model, or MODEL#TEMPLATE", _matching(r".+")),
    "reranker": ("the name or the folder of a reranker", _matching(r".+")),
    "device": ("auto, cpu, cuda or cuda:N", _matching(r"auto|cpu|cuda(:\d+)?")),
    "threads": ("an integer, or 0 for all cores", _integer(0)),
    "k": ("an integer of 1 or more", _integer(1)),
    "mode": ("hybrid, semantic or keyword", _matching("hybrid|semantic|keyword")),
    "cache": ("a file", _path),
    "embedding_cache_mb": ("an integer, in megabytes, or 0 for no cache", _integer(0)),
    "offline": ("true or false", _boolean),
    "read_seconds": ("an integer of 1 or more, in seconds for a file", _integer(1)),
    "read_memory_mb": ("an integer of 64 or more, in megabytes for the process that reads a file", _integer(64)),
    "read_output_mb": ("an integer of 1 or more, in megabytes of text from a file", _integer(1)),
}
