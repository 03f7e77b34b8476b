"""One writer an index: a lock file, held for the life of a read-write connection.

The operating system lets go of the lock when its holder dies, so a kill leaves nothing to clean up. The
holder's pid stands in a file beside it, for the one who is refused. (The lock also keeps SQLite's WAL-reset
fault, 3.7.0 to 3.51.2, from its trigger: two writing connections that checkpoint at once.)
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from semsearch.errors import Locked, SemsearchError

LOCK = "writer.lock"
PID = "writer.pid"


class WriterLock:
    """The right to write to the index in `folder`, from here until `release()`.

    Raises Locked, naming the holder's pid, where another process (or another Store of this one) has it.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, Timeout  # 90 ms to import, and readers take no lock

        self._pid = folder / PID
        self._lock = FileLock(folder / LOCK, timeout=0, thread_local=False)  # any thread may close the Store
        try:
            self._lock.acquire()
        except Timeout:
            raise Locked(
                f"{folder} is being written to by {_holder(self._pid)}.",
                "Wait for it to finish, or end it; reading and searching work meanwhile.",
            ) from None
        except (OSError, NotImplementedError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SemsearchError(
                f"{folder} cannot be locked for writing: {reason}.", "Searching and `dump` work all the same."
            ) from error
        with contextlib.suppress(OSError):  # a full disk must not keep anyone from deleting documents
            self._pid.write_text(f"{os.getpid()}\n", encoding="ascii")

    def release(self) -> None:
        """Let the next one write. Does nothing the second time."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                self._pid.unlink(missing_ok=True)
            self._lock.release()


def holder(folder: Path) -> int | None:
    """The pid of who writes in `folder` now; None where nobody does, whatever a kill has left there.

    The lock is tried only where a pid stands, and what a kill has left is removed, so that whoever asks again and
    again is in nobody's way.
    """
    if _written(folder / PID) is None:
        return None
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return _written(folder / PID)  # read again: the one before may be of who was killed
    except (OSError, NotImplementedError):
        return None
    with contextlib.suppress(OSError):
        (folder / PID).unlink(missing_ok=True)
    lock.release()
    return None


def _written(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _holder(pid_file: Path) -> str:
    pid = _written(pid_file)
    if pid is None:  # it has the lock and is just about to write its pid
        return "another process"
    return f"this process (pid {pid}), through another Index," if pid == os.getpid() else f"another process (pid {pid})"
