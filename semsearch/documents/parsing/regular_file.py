"""Opening of a file that was found before, and may have become something else by now."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises OSError; for a pipe, a socket or a device too: reading one may never end."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # opening a pipe may not end either
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no longer a file", str(path))
    return os.fdopen(handle, "rb")


def read_regular(path: Path) -> bytes:
    """The content of a file. Raises as `open_regular`."""
    with open_regular(path) as file:
        return file.read()
