"""Files that may be gone by now, or something else: whether they are there, and how to open one."""

from __future__ import annotations

import errno
import os
import stat
from functools import cache
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


class FilePresence:
    """Whether files are still in their folders. Each folder is looked up once."""

    def __init__(self) -> None:
        self._is_folder = cache(lambda root: Path(root).is_dir())

    def is_gone(self, root: str, path: str) -> bool:
        """Whether a file is missing from its folder. False without the folder, as its disk may not be mounted.

        False too for a recorded path with `\\x`, an escaped name that is not UTF-8: the real name is unknown.
        """
        try:
            return "\\x" not in path and self._is_folder(root) and not Path(root, path).exists()
        except OSError:
            return False  # a folder that may not be read
