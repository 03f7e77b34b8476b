"""Commands that are a process of their own: one that has not loaded the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import NoReturn

from semsearch.types import JsonObject


def become(module: str, options: JsonObject) -> NoReturn:
    """Go on as `python -m module`, with the options as JSON; its exit code is that of this command."""
    arguments = [sys.executable, "-P", "-m", module, json.dumps(options)]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # requests run beside each other: more threads for each would wait
    sys.stdout.flush()
    if sys.platform == "win32":  # there, a replaced process ends at once for the program that waits for it
        raise SystemExit(subprocess.call(arguments))
    os.execv(arguments[0], arguments)
