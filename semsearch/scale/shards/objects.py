"""Objects in a store such as S3, by address: s3://bucket/folder, gs://…, or file:///… for a disk that machines share.

Each is read as a file of that name would be. Access is that of pyarrow: keys from the environment, and the parameters
of the address, as in s3://bucket/folder?endpoint_override=HOST:PORT&scheme=http.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from semsearch.documents.vector_files import arrow
from semsearch.errors import MissingExtra, NotFound, Unreadable, UsageError
from semsearch.utils.atomic_write import scratch_folder
from semsearch.utils.reasons import one_line

UNREACHED = "cannot be fetched: "  # begins the reason of an object that a later run may get
EDGE = BLOCK = 2**20  # bytes. Of the beginning: the first line names the columns of a table
PARQUET = b"PAR1"  # its last bytes
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
    store, path = _store(address)
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
def local(location: str, part: tuple[int, int, int] | None = None) -> Iterator[Path]:
    """A file of this machine with the content of `location`: the very file for a path.

    part: the first byte of an object, the byte after the last one, and the bytes that the whole object has. Only these
    are fetched, with what describes them, its beginning and the end of Parquet: the others are a hole in the file.
    Raises Unreadable, with a reason that begins with UNREACHED.
    """
    if "://" not in location:
        yield Path(location)
        return
    with scratch_folder() as folder:
        try:
            store, path = _store(location)
            copy = folder / PurePosixPath(path).name
            if part is None:
                with store.open_input_stream(path) as source, copy.open("wb") as target:
                    shutil.copyfileobj(source, target)
            else:
                with store.open_input_file(path) as source, copy.open("wb") as target:
                    _copy_part(source, target, *part)
        except (OSError, UsageError) as error:
            raise Unreadable(f"{UNREACHED}{one_line(str(error))}") from error
        yield copy


def opened(location: str) -> BinaryIO:
    """An object, open for reading from any place. Raises OSError, UsageError."""
    store, path = _store(location)
    found: BinaryIO = store.open_input_file(path)
    return found


def _copy_part(source: Any, target: BinaryIO, start: int, end: int, size: int) -> None:
    if source.size() != size:
        raise OSError(f"it had {size:,} bytes when the job began, and has {source.size():,} now")
    footer = footer_bytes(source, size)
    for begin, stop in ((0, min(EDGE, start)), (start, end), (max(end, size - footer) if footer else size, size)):
        source.seek(begin)
        target.seek(begin)
        while begin < stop and (block := source.read(min(BLOCK, stop - begin))):
            target.write(block)
            begin += len(block)
    target.truncate(size if footer else end)  # who reads lines would read a hole to its end


def footer_bytes(source: Any, size: int) -> int:
    """The bytes of the description at the end of a Parquet file; 0 for others."""
    source.seek(max(0, size - len(PARQUET) - 4))
    end: bytes = source.read()
    return int.from_bytes(end[:4], "little") + len(end) if end.endswith(PARQUET) else 0


def folder_name(address: str, found: Sequence[StoredObject]) -> str:
    """The name of the folder of an address at which these objects are."""
    place = PurePosixPath(f"/{urlsplit(address).netloc}{unquote(urlsplit(address).path)}")
    is_object = len(found) == 1 and found[0].name == place.name
    return place.parent.name if is_object else place.name


def _store(address: str) -> tuple[Any, str]:
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
