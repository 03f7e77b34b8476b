"""Mounts for tests: a folder that records and fails, with FUSE, and a small disk in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from recording_fs import ATTRIBUTE

PROGRAM = Path(__file__).with_name("recording_fs.py")
PATIENCE = 60  # seconds until something is mounted


@dataclass(frozen=True)
class Mount:
    """A mounted folder: `path` is where programs work, `folder` what is behind it, `record` its history."""

    path: Path
    folder: Path
    record: Path

    def fail(self, **wanted: object) -> None:
        """Let operations fail, as `recording_fs.Faults` describes; without arguments none."""
        os.setxattr(self.path, ATTRIBUTE, json.dumps(wanted).encode())

    def counted(self) -> dict[str, int]:
        """How many operations of each kind there were since the last `fail`, and how many failed."""
        return dict(json.loads(os.getxattr(self.path, ATTRIBUTE)))

    def sync(self) -> None:
        """Make the entries of its top folder safe."""
        handle = os.open(self.path, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


@contextmanager
def mounted(base: Path) -> Iterator[Mount]:
    """A folder of `base`, mounted with FUSE. Skips the test where that cannot be had."""
    if reason := why_no_fuse():
        pytest.skip(reason)
    mount = Mount(base / "mount", base / "disk", base / "record")
    mount.path.mkdir(parents=True)
    mount.folder.mkdir()
    command = [sys.executable, "-S", str(PROGRAM), str(mount.folder), str(mount.path), str(mount.record)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            deadline = time.monotonic() + PATIENCE
            while not os.path.ismount(mount.path):
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.skip(f"FUSE does not mount: {server.stderr.read() if server.stderr else ''}")
                time.sleep(0.01)
            yield mount
        finally:
            unmount(mount.path)
            server.terminate()


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    """A disk in memory with so much room. Skips the test where that cannot be had."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=755", "semsearch-test", folder],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        unmount(folder)


def remount(folder: Path, options: str) -> None:
    """Change the options of a mounted disk: its size, or whether it may be written to."""
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def unmount(folder: Path) -> None:
    """Unmount now or, where a process of the test still has a file open, once it has closed it."""
    if os.path.ismount(folder) and subprocess.run(["umount", folder], capture_output=True).returncode:
        subprocess.run(["umount", "-l", folder], check=True)


def why_no_fuse() -> str:
    """Why no folder can be mounted with FUSE here; "" where it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root may mount a folder with FUSE"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "there is no /dev/fuse"
    try:
        import mfusepy  # noqa: F401
    except ImportError as error:
        return f"mfusepy is not installed ({error})"
    except (OSError, AttributeError) as error:
        return f"FUSE's library is missing (Debian: libfuse3-3): {error}"
    return ""
