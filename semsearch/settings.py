"""What can be set once instead of with every command, and where indexes and the embedding cache live.

Order: flag > environment (SEMSEARCH_HOME, SEMSEARCH_MODEL …) > ./semsearch.toml > the user's semsearch.toml >
default. An unknown key or a value of the wrong type is an error that names the file.

A ./semsearch.toml may come with a folder that somebody else made, so it cannot reach beyond that folder: `home`
has to lie below it, `model` has to be a plain name (or NAME#TEMPLATE, with a template of the library), `offline` can
only be switched on, and the embedding cache is the user's alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from semsearch.errors import UnknownName, UsageError

PROJECT_FILE = "semsearch.toml"
STORE_FILE = "store.db"  # what makes a folder an index
PREFIX = "SEMSEARCH_"
DATA = "SEMSEARCH_DATA"  # the folder of public test sets; no setting of a file, for it is nobody's who only searches


@dataclass(frozen=True, slots=True)
class Settings:
    """One value for each key. `home` None: ./indexes where that exists, else the user's data folder."""

    home: Path | None = None
    model: str = "default"
    device: str = "auto"
    threads: int = 0
    k: int = 10
    mode: str = "hybrid"
    cache: Path | None = None
    embedding_cache_mb: int = 1024
    offline: bool = False


class Value(NamedTuple):
    """A setting and where it came from: `flag`, a variable's name, a file's path, or `default`."""

    value: Any
    origin: str


def load(flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings that hold here and now. `flags` are what a command line gave; None among them means not given.

    Raises UnknownName for a key nobody knows and UsageError for a value that cannot be.
    """
    return Settings(**{key: found.value for key, found in resolve(flags).items()})


def resolve(flags: Mapping[str, Any] | None = None) -> dict[str, Value]:
    """Every key with its value and its origin."""
    found = {field.name: Value(field.default, "default") for field in fields(Settings)}
    for file, safe in ((user_file(), False), (Path(PROJECT_FILE), True)):
        for key, value in _from_file(file, safe=safe):
            found[key] = Value(value, str(file.resolve()))
    for key in found:
        text = os.environ.get(PREFIX + key.upper(), "")
        if text:
            found[key] = Value(_checked(key, text, PREFIX + key.upper()), PREFIX + key.upper())
    for key, value in (flags or {}).items():
        if value is not None:
            found[key] = Value(_checked(key, value, "flag"), "flag")
    return found


def home(explicit: Path | None = None) -> Path:
    """The folder that holds the indexes; it need not exist yet."""
    return explicit.expanduser() if explicit else _usual_home()


def index_folder(name: str | Path, home: Path | None = None) -> Path:
    """Where the index called `name` lives: below `home`, unless `name` is a path itself.

    >>> index_folder("notes", Path("/data")).as_posix()
    '/data/notes'
    >>> index_folder("./notes", Path("/data")).as_posix()
    'notes'
    """
    if isinstance(name, Path) or "/" in name or (os.altsep and os.sep in name):
        return Path(name).expanduser()
    if not name or name.startswith((".", "-")) or not name.isprintable():
        raise UsageError(f"{name!r} cannot be the name of an index.", "Use letters, digits, '-' and '_', or a path.")
    return (home or _usual_home()) / name


def names(home: Path | None = None) -> list[str]:
    """The indexes below `home`, sorted."""
    return sorted(file.parent.name for file in (home or _usual_home()).glob(f"*/{STORE_FILE}"))


def is_index(folder: Path) -> bool:
    """Whether `folder` holds an index."""
    return (folder / STORE_FILE).is_file()


def data_folder(given: Path | None = None) -> Path:
    """Where public test sets lie: `given`, else SEMSEARCH_DATA. Raises UsageError where nobody said."""
    if given is None and not os.environ.get(DATA):
        raise UsageError("where are the test sets?", f"Say --data DIR, or set {DATA}.")
    return given if given is not None else Path(os.environ[DATA])


def cache_file() -> Path:
    """The embedding cache: one file for all indexes of a user, whatever their home. Losing it loses nothing."""
    chosen = load().cache
    if chosen:
        return chosen
    from platformdirs import user_cache_path

    return user_cache_path("semsearch", appauthor=False) / "embeddings.db"


def user_file() -> Path:
    """The user's own settings; it need not exist."""
    from platformdirs import user_config_path  # 5 ms, and only where settings are asked for

    return user_config_path("semsearch", appauthor=False) / PROJECT_FILE


def _usual_home() -> Path:
    chosen = load().home
    if chosen:
        return chosen
    if Path("indexes").is_dir():
        return Path("indexes")
    from platformdirs import user_data_path

    return user_data_path("semsearch", appauthor=False) / "indexes"


def _from_file(file: Path, *, safe: bool) -> Iterator[tuple[str, Any]]:
    """The keys of a settings file, checked; nothing where it is not there."""
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}.", "Repair or remove it.") from None
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}.", "Write one `key = value` a line.") from None
    known = [field.name for field in fields(Settings)]
    for key, value in table.items():
        if key not in known:
            raise UnknownName(f"setting ({file})", key, known)
        checked = _checked(key, value, str(file))
        yield key, _harmless(key, checked, file) if safe else checked


def _harmless(key: str, value: Any, file: Path) -> Any:
    """`value`, or UsageError where a project's file must not set it."""
    folder = Path.cwd().resolve()
    refused = (
        key in ("cache", "embedding_cache_mb")
        or (key == "home" and not (folder / value).resolve().is_relative_to(folder))
        or (key == "model" and re.fullmatch(r"\w[\w.-]*(#\w[\w-]*)?", value) is None)
        or (key == "offline" and value is False)
    )
    if refused:
        raise UsageError(
            f"{file}: a project may not set {key} = {str(value)!r}.",
            f"If you trust it, set it yourself: in {user_file()} or as {PREFIX}{key.upper()}.",
        )
    return value


def _checked(key: str, value: Any, origin: str) -> Any:
    """`value` as the type of `key`; strings come from the environment as well as from files."""
    wanted, convert = _CHECKS[key]
    try:
        return convert(value)
    except (TypeError, ValueError):
        said = f"--{key} {value or repr(value)}" if origin == "flag" else f"{origin}: {key} = {value!r}"
        raise UsageError(f"{said} cannot be.", f"It has to be {wanted}.") from None


def _path(value: Any) -> Path | None:
    if not isinstance(value, str | Path) or not str(value):
        raise TypeError
    return Path(value).expanduser()


def _whole(least: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if isinstance(value, bool | float) or int(value) < least:
            raise ValueError
        return int(value)

    return convert


def _truth(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.lower() not in words:
        raise ValueError
    return words[value.lower()]


def _matching(pattern: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
            raise ValueError
        return value

    return convert


_CHECKS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "home": ("a folder", _path),
    "model": ("the name or the folder of a model, or MODEL#TEMPLATE", _matching(r".+")),
    "device": ("auto, cpu, cuda or cuda:N", _matching(r"auto|cpu|cuda(:\d+)?")),
    "threads": ("a whole number, 0 for all cores", _whole(0)),
    "k": ("a whole number, 1 or more", _whole(1)),
    "mode": ("hybrid, semantic or keyword", _matching("hybrid|semantic|keyword")),
    "cache": ("a file", _path),
    "embedding_cache_mb": ("a whole number of megabytes, 0 for no cache", _whole(0)),
    "offline": ("true or false", _truth),
}
