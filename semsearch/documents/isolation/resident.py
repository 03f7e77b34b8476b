"""The memory that a process occupies now."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def resident_bytes(pid: int) -> int:
    """The resident set of a process; 0 where it has ended, and on Windows, where memory is not limited."""
    try:
        if sys.platform == "linux":
            return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return 0 if sys.platform == "win32" else _by_ps(pid)
    except (OSError, ValueError, IndexError):
        return 0


def _by_ps(pid: int) -> int:
    import subprocess  # 15 ms, and only where there is no /proc

    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, timeout=5, check=False)
    return int(shown.stdout) * 1024
