"""Texts and models stay on this machine: no library that encodes reports to anybody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ENCODE = "from semsearch import Encoder; Encoder.load('default', cache=None).encode('a')"


def test_encoding_leaves_no_file_in_the_home_of_a_user(tmp_path: Path) -> None:
    """The telemetry of ONNX Runtime has an id of the machine and a queue of events in ~/.cache."""
    settings = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "ORT_", "SEMSEARCH_"))}
    subprocess.run([sys.executable, "-c", ENCODE], env=settings | {"HOME": str(tmp_path)}, check=True)
    assert list(tmp_path.rglob("*")) == []
