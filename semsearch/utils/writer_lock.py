"""The lock of a folder that one process at a time may write to: a lock file and its holder's pid.

The operating system releases the lock when its holder dies, so a kill leaves nothing to clean up. The pid is for the
error message of other processes. (For an index, the lock also prevents SQLite's WAL-reset bug, 3.7.0 to 3.51.2, which
two connections trigger that checkpoint at once.)
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from semsearch.errors import Locked, NotFound, SemsearchError

LOCK = "writer.lock"
PID = "writer.pid"


class WriterLock:
    """The exclusive right to write to `folder`, until `release()`.

    Raises Locked, with the holder's pid, where another process, or another object of this one, has it, NotFound where
    the folder has vanished.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, Timeout  # 90 ms to import, and readers need no lock

        self._pid = folder / PID
        self._lock = FileLock(folder / LOCK, timeout=0, thread_local=False)  # any thread may release it
        try:
            self._lock.acquire()
        except Timeout:
            if not folder.exists():
                raise NotFound(f"{folder} is gone.", "Check the disk it is on.") from None
            if type(self._lock) is not FileLock:
                raise _unlockable(folder, os.strerror(errno.ENOSYS)) from None
            raise Locked(
                f"{folder} is being written to by {_holder(self._pid)}.",
                "Wait until it has finished, or stop it. Reading and searching work meanwhile.",
            ) from None
        except (OSError, NotImplementedError) as error:
            raise _unlockable(folder, getattr(error, "strerror", None) or str(error)) from error
        if type(self._lock) is not FileLock:  # filelock takes a file for a lock there, and a kill leaves it for good
            self._lock.release()
            raise _unlockable(folder, os.strerror(errno.ENOSYS))
        with contextlib.suppress(OSError):  # a full disk must not prevent deleting documents
            self._pid.write_text(f"{os.getpid()}\n", encoding="ascii")

    def release(self) -> None:
        """Release the lock; a file system that refuses does so when this process ends. Does nothing the second time."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                self._pid.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._lock.release()


def _unlockable(folder: Path, reason: str) -> SemsearchError:
    return SemsearchError(f"{folder} cannot be locked for writing: {reason}.", "Searching and `dump` still work.")


def holder(folder: Path) -> int | None:
    """The pid of the process that holds the lock of `folder`; None without one, even if a killed one left its pid.

    The lock is tried only where there is a pid, and a stale pid is removed, so that polling does not disturb writers.
    """
    if _pid_in(folder / PID) is None:
        return None
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return _pid_in(folder / PID)  # read again: the first may be that of a killed process
    except (OSError, NotImplementedError):
        return None
    with contextlib.suppress(OSError):
        (folder / PID).unlink(missing_ok=True)
    lock.release()
    return None


def _pid_in(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _holder(pid_file: Path) -> str:
    pid = _pid_in(pid_file)
    if pid is None:  # it has the lock, and is about to write its pid
        return "another process"
    return f"another object of this process (pid {pid})" if pid == os.getpid() else f"another process (pid {pid})"
