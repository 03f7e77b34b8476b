"""Links: the folder of an index whose documents are on a server, with one small file that says where.

So a remote index has a name and a place in the home of indexes like every other, and listing the names asks no server.
Several machines may have a link to the same collection. Neither numpy nor a client is imported here, as shell
completion calls `names`.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from semsearch.errors import Corrupt, NotFound, SemsearchError, UsageError
from semsearch.utils.atomic_write import sync_folder, write_text

FILE = "store.json"
FORMAT = 1
LARGEST = 65_536  # bytes of a link
_SECRET = re.compile(r"\b(?:password|passwd|token|secret)\s*=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """Where the documents are: the driver `store`, the `address` of its server, and a `collection` there.

    `id` is drawn when a collection is created, and recorded on the server too: one that was removed there and created
    anew has another.
    """

    store: str
    address: str
    collection: str
    id: str


def new_id() -> str:
    """An id for a new collection: 32 hex digits."""
    return os.urandom(16).hex()


def refuse_secrets(address: str, variable: str) -> None:
    """Raise UsageError for an address with a password; it belongs into the environment variable `variable`."""
    try:
        url = urlsplit(address)
        named = {name.lower() for name, _ in parse_qsl(url.query)}
        secret = url.password is not None
    except ValueError as error:
        raise UsageError(f"the address of the store is none: {error}.", "Write it as postgresql://host/name.") from None
    if secret or named & {"password", "passwd", "token", "secret"} or _SECRET.search(address):
        raise UsageError("the address of a store has a password or token in it.", f"Set {variable} instead.")


def store(location: Path) -> str | None:
    """The driver of the store that `location` has a link to; None where there is no link that can be read."""
    try:
        name = _read(location / FILE).get("store")
    except (OSError, ValueError):
        return None
    return name if isinstance(name, str) else None


def read(location: Path) -> Link:
    """The link at `location`. Raises NotFound, Corrupt, SemsearchError for one of a newer version."""
    file = location / FILE
    try:
        record = _read(file)
    except FileNotFoundError:
        raise _missing(location) from None
    except (OSError, ValueError) as error:
        raise Corrupt(f"{file} cannot be read: {error}.", "Remove it, and link the index again.") from error
    if record.get("format") != FORMAT:
        reason = f"{file} has format {record.get('format')!r}; this version reads {FORMAT}."
        raise SemsearchError(reason, "Install the newer version of semsearch that wrote it.")
    values = [record.get(field.name) for field in fields(Link)]
    if not all(isinstance(value, str) and value for value in values):
        raise Corrupt(f"{file} is damaged.", "Remove it, and link the index again.")
    return Link(*map(str, values))


def write(location: Path, link: Link) -> None:
    """Make `location` a link, on disk when this returns. Raises UsageError for a folder in use."""
    try:
        location.mkdir(parents=True, exist_ok=True)
        if there := sorted(file.name for file in location.iterdir() if file.name != f".{FILE}.new"):
            raise UsageError(f"{location} is not empty ({there[0]}).", "Choose an empty or a new folder.")
        write_text(location / FILE, json.dumps({"format": FORMAT, **asdict(link)}, indent=1) + "\n")
        sync_folder(location.parent)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{location} cannot be a folder: a file is in its place.", "Choose another.") from error
    except OSError as error:
        raise SemsearchError(f"{location} cannot be created: {error.strerror}.", "Choose another folder.") from error


def names(home: Path) -> list[str]:
    """The folders with a link directly below `home`, sorted."""
    return sorted(file.parent.name for file in home.glob(f"*/{FILE}") if store(file.parent))


def is_of(driver: str, location: Path, /) -> bool:
    """Whether a link of this driver is at `location`."""
    return store(location) == driver


def names_of(driver: str, home: Path, /) -> list[str]:
    """The folders with a link of this driver directly below `home`, sorted."""
    return [name for name in names(home) if store(home / name) == driver]


def check_free(location: Path, driver: str) -> None:
    """Raise UsageError where a link of this driver, or anything else, is at `location`."""
    if store(location) == driver:
        raise UsageError(f"{location} already has an index.", "Open it, or choose another name.")
    if location.exists() and (not location.is_dir() or any(location.iterdir())):
        raise UsageError(f"{location} is not empty.", "Choose an empty or a new folder.")


def check_target(location: Path, target: Path) -> None:
    """Raise UsageError where something else than the link at `location` is at `target`, its new name."""
    if target.exists() and not target.samefile(location):
        raise UsageError(f"{target.name!r} already exists.", "Choose another name, or remove it.")


def accept_loss(location: Path, /) -> str | None:
    """Nothing: what the other side has acknowledged is its own matter. Raises NotFound."""
    read(location)
    return None


def identity(location: Path) -> tuple[int, int]:
    """The id of the collection as two numbers of 64 bits. Raises NotFound, Corrupt."""
    number = read(location).id
    return int(number[:16], 16), int(number[16:], 16)


def remove(location: Path) -> list[str]:
    """Remove the link, and its folder where nothing else is in it; the names of what stays. Raises NotFound."""
    try:
        (location / FILE).unlink()
    except FileNotFoundError:
        raise _missing(location) from None
    left = sorted(file.name for file in location.iterdir())
    if not left:
        location.rmdir()
    return left


def rename(location: Path, target: Path) -> None:
    """Give the link another name; the collection keeps its own. Raises NotFound, UsageError for a target in use."""
    if not (location / FILE).is_file():
        raise _missing(location)
    check_target(location, target)
    try:
        location.rename(target)
        sync_folder(target.absolute().parent)
    except OSError as error:
        reason = f"{location.name} cannot be renamed to {target.name}: {error.strerror or error}."
        raise SemsearchError(reason, "Check the rights to its folder; nothing was changed.") from error


def _read(file: Path) -> dict[str, object]:
    with file.open("rb") as opened:
        record = json.loads(opened.read(LARGEST))
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    return record


def _missing(location: Path) -> NotFound:
    return NotFound(
        f"there is no index at {location}.",
        "semsearch.admin.names() lists those that exist.",
        "List them: semsearch list",
    )
