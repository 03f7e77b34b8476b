"""The methods of training, read in another process: they import PyTorch, which the page server does without."""

from __future__ import annotations

import json
import subprocess
import sys

from semsearch import SemsearchError
from semsearch.training import require_packages
from semsearch.types import JsonObject

PROGRAM = "import json, semsearch.training as t; print(json.dumps(t.training_methods()))"


def training_methods() -> list[JsonObject]:
    """As `semsearch.training.training_methods`. Raises MissingExtra where PyTorch is not installed."""
    require_packages()
    ran = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if ran.returncode:
        lines = ran.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise SemsearchError(f"The training methods cannot be read: {lines[-1][:300]}", "See `semsearch doctor`.")
    listed: list[JsonObject] = json.loads(ran.stdout)
    return listed
