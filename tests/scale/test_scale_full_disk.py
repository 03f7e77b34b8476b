"""The disk that scripts/faults/store_faults.py fills: what is full takes nothing."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers.scripts import loaded

pytestmark = pytest.mark.scale


def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path) -> None:
    faults = loaded("faults.store_faults")
    with ExitStack() as stack:
        try:
            disk = stack.enter_context(faults.disk_of("full", tmp_path / "server", 8))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"mounts need root: {error}")
        file = disk.folder / "written"
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            file.write_bytes(b"x" * 10_000)
        disk.free()
        assert file.write_bytes(b"x" * 10_000) == 10_000
    assert not os.path.ismount(tmp_path / "server")
