"""Presence of the files that documents came from, looked up without opening one."""

from __future__ import annotations

from pathlib import Path


class FilePresence:
    """Whether files are still in their folders. Each folder is looked up once."""

    def __init__(self) -> None:
        self._folders: dict[str, bool] = {}

    def has_folder(self, root: str) -> bool:
        """Whether the folder is there and may be looked into. A disk that is not mounted says nothing of its files."""
        if root not in self._folders:
            try:
                self._folders[root] = Path(root).is_dir()
            except OSError:
                self._folders[root] = False
        return self._folders[root]

    def is_gone(self, root: str, path: str) -> bool:
        """Whether a file is missing from a folder that is there.

        False for a recorded path with `\\x`, which stands for a name that is not UTF-8: the name itself is not known.
        """
        if "\\x" in path:
            return False
        try:
            return self.has_folder(root) and not Path(root, path).exists()
        except OSError:
            return False  # a subfolder that may not be looked into says nothing either
