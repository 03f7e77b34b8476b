"""pylance, the library of the Lance format: the modules of this package take it from here.

Where it is not installed, that is one clear error in place of an ImportError; what it raises becomes one clear line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from semsearch.errors import Corrupt, MissingExtra, NotFound, SemsearchError, UsageError

try:
    import lance as lance
    import pyarrow as pa
    from lance import query as words_query
except ImportError as error:
    raise MissingExtra("a store of Lance tables", "scale", "pylance") from error

if TYPE_CHECKING:
    from lance import LanceDataset

__all__ = [
    "CONFLICT",
    "Arrow",
    "Dataset",
    "check_installation",
    "explained",
    "is_conflict",
    "lance",
    "pa",
    "table_of",
    "words_query",
]

Dataset: TypeAlias = "LanceDataset"
Arrow: TypeAlias = Any  # what pyarrow and pylance take and give, without types of their own
CONFLICT = re.compile("concurrent writer|commit conflict|conflict with|too much write contention", re.IGNORECASE)
_PLACE = re.compile(r",? ?/[^ ,]*\.rs:[\d:]+")  # where in the library an error was raised
_MEANINGS = (  # what the library says, the error, what that means at {where}, what to do; the first that fits counts
    (r"No space left|StorageFull", SemsearchError, "there is no room left at {where}.", "Free some, then try again."),
    (r"Permission denied", SemsearchError, "{where} may not be written to or read by this user.", "Check its rights."),
    (r"SignatureDoesNotMatch|InvalidAccessKeyId|AccessDenied|Forbidden|status code: 403|Unauthorized|credential",
     SemsearchError, "{where} refuses this user.",
     "Set its credentials in the environment, as in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."),
    (r"NoSuchBucket", NotFound, "{where} is not there.", "Create the bucket first."),
    (r"error sending request|Connection refused|dns error|timed? ?out|error trying to connect|Generic \w+ error",
     SemsearchError, "{where} cannot be reached.", "Check the network and the address, then try again."),
    (r"was not found|Not found: |not found: .*_versions", NotFound, "its table is no longer at {where}.",
     "It may have been removed."),
    (r"[Rr]egex", UsageError, "the path pattern is too long.", "Use a shorter one."),
    (r"No such file or directory|Not a directory|Read-only file system", SemsearchError, "{where} cannot be created.",
     "Choose another folder."),
    (r"stack overflow|recursion limit", UsageError, "the filter is too deep.", "Use fewer parentheses."),
    (r"Corrupt|checksum|invalid magic|Encountered corrupt", Corrupt, "its table at {where} is damaged.",
     "Restore a dump, or an earlier copy of the table."),
)  # fmt: skip


def check_installation() -> str:
    """The library with its version. Raises MissingExtra."""
    return f"pylance {lance.__version__}"


@contextmanager
def explained(name: str, where: str) -> Iterator[None]:
    """What the library raises, as one line about the index called `name`, whose table is at `where`."""
    try:
        yield
    except (OSError, ValueError, RuntimeError, pa.ArrowException) as error:
        said = _PLACE.sub("", " ".join(str(error).split()))
        for sign, kind, message, fix in _MEANINGS:
            if re.search(sign, said):
                raise kind(f"index {name}: {message.format(where=where)}", fix) from error
        raise SemsearchError(f"index {name}: Lance says of {where}: {said[:300].rstrip('. ')}.") from error


def is_conflict(error: BaseException | None) -> bool:
    """Whether another writer has committed meanwhile."""
    return CONFLICT.search(str(error)) is not None


def table_of(rows: Iterable[Mapping[str, Any]], schema: Arrow) -> Arrow:
    """Rows, each a mapping of some columns, as a table of Arrow; what a row does not have is null."""
    listed = list(rows)
    return pa.table([_column([row.get(field.name) for row in listed], field.type) for field in schema], schema=schema)


def _column(values: Sequence[Arrow], kind: Arrow) -> Arrow:
    if not pa.types.is_fixed_size_list(kind):
        return pa.array(values, kind)
    import numpy as np

    zeros = np.zeros(kind.list_size, np.float16)
    numbers = np.concatenate([zeros if value is None else value for value in values] or [zeros[:0]])
    missing = pa.array([value is None for value in values])
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers, pa.float16()), kind.list_size, mask=missing)
