"""A folder, mounted with FUSE, that records every change and fails where it is told to.

    python recording_fs.py FOLDER MOUNT RECORD

RECORD gets a line of JSON per operation, with the bytes of a write after it, before the operation returns: its size is
a position in the history. Files and folders are named by numbers that are never used twice. What fails is set, and what
was counted read, by the extended attribute `user.fail` of MOUNT; see `Faults`.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections import Counter
from typing import Any

HIDDEN = ".fuse_hidden"  # libfuse renames a file that is removed while it is open
ATTRIBUTE = "user.fail"


class Faults:
    """Which operations fail: those of one kind, after the first so many, all or `once`; and how many there were.

    {"kind": "write", "after": 3, "once": false, "error": 5} is set, and {"write": 7, …, "failed": 4} read; the kind
    "all" is each of them. Setting {} clears all. The shared memory of SQLite never fails: it is mapped, and an error
    in a map ends any process.
    """

    def __init__(self) -> None:
        self.wanted: dict[str, Any] = {}
        self.counted: Counter[str] = Counter()

    def set(self, wanted: dict[str, Any]) -> None:
        self.wanted = wanted
        self.counted.clear()

    def check(self, kind: str, path: str) -> None:
        """Raise OSError where the operation is to fail."""
        if path.endswith("-shm"):
            return
        self.counted[kind] += 1
        self.counted["all"] += 1
        chosen = self.wanted.get("kind")
        if chosen not in (kind, "all") or self.counted[chosen] <= self.wanted["after"]:
            return
        if self.wanted["once"] and self.counted["failed"]:
            return
        self.counted["failed"] += 1
        raise OSError(self.wanted.get("error", errno.EIO), os.strerror(self.wanted.get("error", errno.EIO)))


def serve(folder: str, mount: str, record: str) -> None:
    """Mount, and answer until somebody unmounts."""
    import mfusepy

    class Folder(mfusepy.Operations):
        use_ns = True

        def __init__(self) -> None:
            self.record = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            self.numbers: dict[int, int] = {}
            self.count = 0
            self.faults = Faults()
            self.note("root", number=self.born(folder))

        # ---- the record

        def note(self, op: str, data: bytes = b"", **facts: object) -> None:
            os.write(self.record, json.dumps({"op": op, "size": len(data), **facts}).encode() + b"\n" + data)

        def born(self, path: str) -> int:
            self.count += 1
            self.numbers[os.lstat(path).st_ino] = self.count
            return self.count

        def of(self, path: str | int) -> int:
            number = self.numbers.get(os.stat(path).st_ino)
            return self.born(path) if number is None and isinstance(path, str) else number or 0

        def entry(self, path: str) -> dict[str, object]:
            """The folder and the name of a path."""
            parent, _, name = path.rpartition("/")
            return {"folder": self.of(folder + parent), "name": name}

        # ---- what changes something

        def create(self, path: str, mode: int, fi: Any = None) -> int:
            self.faults.check("create", path)
            handle = os.open(folder + path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode)
            self.note("create", number=self.born(folder + path), **self.entry(path))
            return handle

        def mkdir(self, path: str, mode: int) -> int:
            self.faults.check("create", path)
            os.mkdir(folder + path, mode)
            self.note("mkdir", number=self.born(folder + path), **self.entry(path))
            return 0

        def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
            self.faults.check("write", path)
            done = os.pwrite(fh, data, offset)
            self.note("write", data[:done], number=self.of(fh), at=offset)
            return done

        def truncate(self, path: str, length: int, fh: int | None = None) -> int:
            self.faults.check("truncate", path)
            os.truncate(folder + path if fh is None else fh, length)
            self.note("truncate", number=self.of(folder + path if fh is None else fh), length=length)
            return 0

        def rename(self, old: str, new: str) -> int:
            hidden = new.rpartition("/")[2].startswith(HIDDEN)
            if not hidden:
                self.faults.check("rename", old)
            facts = {"number": self.of(folder + old), **self.entry(old)}
            os.rename(folder + old, folder + new)
            if hidden:
                self.note("unlink", **facts)
            else:
                self.note("rename", **facts, to=self.entry(new))
            return 0

        def unlink(self, path: str) -> int:
            self.faults.check("unlink", path)
            facts = {"number": self.of(folder + path), **self.entry(path)}
            os.unlink(folder + path)
            if not path.rpartition("/")[2].startswith(HIDDEN):
                self.note("unlink", **facts)
            return 0

        def rmdir(self, path: str) -> int:
            facts = {"number": self.of(folder + path), **self.entry(path)}
            os.rmdir(folder + path)
            self.note("unlink", **facts)
            return 0

        def fsync(self, path: str, datasync: int, fh: int) -> int:
            self.faults.check("fsync", path)
            self.note("fsync", number=self.of(fh))
            return 0

        def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
            self.faults.check("fsync", path)
            self.note("fsync", number=self.of(folder + path))
            return 0

        # ---- what changes nothing that a crash could undo

        def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
            if path != "/":  # where faults are set
                self.faults.check("look", path)
            status = os.lstat(folder + path) if fh is None else os.fstat(fh)
            return {name: getattr(status, name) for name in dir(status) if name in SHOWN} | {
                name.removesuffix("_ns"): getattr(status, name)
                for name in ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")
            }

        def open(self, path: str, flags: int) -> int:
            self.faults.check("open", path)
            return os.open(folder + path, flags & ~(os.O_APPEND | os.O_DIRECT))

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            self.faults.check("read", path)
            return os.pread(fh, size, offset)

        def readdir(self, path: str, fh: int) -> list[str]:
            self.faults.check("list", path)
            return [".", "..", *os.listdir(folder + path)]

        def release(self, path: str, fh: int) -> int:
            os.close(fh)
            return 0

        def chmod(self, path: str, mode: int) -> int:
            os.chmod(folder + path, mode)
            return 0

        def chown(self, path: str, uid: int, gid: int) -> int:
            os.chown(folder + path, uid, gid)
            return 0

        def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
            os.utime(folder + path, ns=times) if times else os.utime(folder + path)
            return 0

        def statfs(self, path: str) -> dict[str, int]:
            status = os.statvfs(folder + path)
            return {name: getattr(status, name) for name in dir(status) if name.startswith("f_") and name != "f_fsid"}

        def setxattr(self, path: str, name: str, value: bytes, options: int, position: int = 0) -> int:
            if name != ATTRIBUTE:
                raise OSError(errno.ENOTSUP, "")
            self.faults.set(json.loads(value))
            return 0

        def getxattr(self, path: str, name: str, position: int = 0) -> bytes:
            if name != ATTRIBUTE:
                raise OSError(errno.ENODATA, "")
            return json.dumps(self.faults.counted).encode()

    mfusepy.FUSE(
        Folder(), mount, foreground=True, nothreads=True, default_permissions=True, allow_other=True,
        fsname="semsearch-test", attr_timeout=0, entry_timeout=0,
    )  # fmt: skip


SHOWN = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino", "st_blocks", "st_dev", "st_rdev")

if __name__ == "__main__":
    serve(*sys.argv[1:])
