"""Objects in a store such as S3, by address: s3://bucket/folder, gs://…, or file:///… for a disk that machines share.

Each is read as a file of that name would be. Access is that of pyarrow: keys from the environment, and the parameters
of the address, as in s3://bucket/folder?endpoint_override=HOST:PORT&scheme=http.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from semsearch.documents.vector_files import arrow
from semsearch.errors import MissingExtra, NotFound, Unreadable, UsageError
from semsearch.utils.atomic_write import scratch_folder
from semsearch.utils.reasons import one_line

UNREACHED = "cannot be fetched: "  # begins the reason of an object that a later run may get
WITHOUT_PASSWORD = "Keys come from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, for example."


class StoredObject(NamedTuple):
    """An object: its name below the folder that was named, its address, and a text that changes with it."""

    name: str
    address: str
    size: int
    stamp: str


def below(address: str) -> list[StoredObject]:
    """The objects at or below an address, by name; hidden ones are left out. Raises NotFound, UsageError."""
    if (found_password := urlsplit(address).password) is not None:
        harmless = address.replace(f":{found_password}@", ":…@")
        raise UsageError(f"the address {harmless} has a password in it.", WITHOUT_PASSWORD)
    store, path = _opened(address)
    kinds = _fs().FileType
    try:
        top = store.get_file_info(path)
        found = [top] if top.type == kinds.File else store.get_file_info(_fs().FileSelector(path, recursive=True))
    except (OSError, ValueError) as error:
        raise NotFound(
            f"{address} cannot be read: {one_line(str(error))}", "Check the address and the keys."
        ) from error
    folder = PurePosixPath(path).parent if top.type == kinds.File else PurePosixPath(path)
    files = [one for one in found if one.type == kinds.File]
    named = {str(PurePosixPath(one.path).relative_to(folder)): one for one in files}
    shown = {name: one for name, one in named.items() if not any(part.startswith(".") for part in name.split("/"))}
    if not shown:
        raise NotFound(f"there is nothing at {address}.", "Check the address.")
    return [
        StoredObject(name, _address(address, path, one.path), one.size, str(one.mtime_ns))
        for name, one in sorted(shown.items())
    ]


@contextmanager
def local(location: str) -> Iterator[Path]:
    """A file of this machine with the content of `location`: the very file for a path.

    Raises Unreadable, with a reason that begins with UNREACHED.
    """
    if "://" not in location:
        yield Path(location)
        return
    with scratch_folder() as folder:
        try:
            store, path = _opened(location)
            copy = folder / PurePosixPath(path).name
            with store.open_input_stream(path) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target)
        except (OSError, UsageError) as error:
            raise Unreadable(f"{UNREACHED}{one_line(str(error))}") from error
        yield copy


def folder_name(address: str, found: Sequence[StoredObject]) -> str:
    """The name of the folder of an address at which these objects are."""
    place = PurePosixPath(f"/{urlsplit(address).netloc}{unquote(urlsplit(address).path)}")
    is_object = len(found) == 1 and found[0].name == place.name
    return place.parent.name if is_object else place.name


def _opened(address: str) -> tuple[Any, str]:
    """The store of an address, and the path in it. Raises UsageError, MissingExtra."""
    try:
        store, path = _fs().FileSystem.from_uri(address)
    except (ValueError, OSError, NotImplementedError) as error:
        raise UsageError(
            f"{address} is no address of an object: {one_line(str(error))}", "Write s3://BUCKET/…"
        ) from error
    return store, path.rstrip("/")


def _address(folder: str, path: str, inner: str) -> str:
    """The address of the object at `inner` in the store of `folder`, whose own path is `path`."""
    head, mark, parameters = folder.partition("?")
    start = unquote(head).rstrip("/").removesuffix(path)
    return f"{start}{quote(inner)}{mark}{parameters}"


def _fs() -> Any:
    arrow("an object in a store")
    try:
        import pyarrow.fs as fs  # with arrow
    except ImportError as error:
        raise MissingExtra("an object in a store", "arrow", "pyarrow") from error
    return fs
