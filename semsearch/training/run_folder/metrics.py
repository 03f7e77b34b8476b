"""What a run said of itself: JSON lines, one for every few steps and one for every score on dev.

{"step": 10, "loss": 2.31, "rate": 1e-05, "seconds": 12.3}
{"step": 125, "dev": 77.02, "measure": "Spearman on STS-B dev"}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semsearch.training import runs
from semsearch.utils import atomic_write

FILE = runs.METRICS


def note(home: Path, line: Mapping[str, Any]) -> None:
    """Add a line to those in the folder `home`."""
    with (home / FILE).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def read(home: Path) -> list[dict[str, Any]]:
    """All whole lines. One may have been cut short as the run was killed, or be zeros since the power failed."""
    return runs.lines(home / FILE)


def cut(home: Path, step: int) -> None:
    """Leave out what was said after `step`, which will be said again."""
    kept = [line for line in read(home) if line["step"] <= step]
    atomic_write.write_text(home / FILE, "".join(f"{json.dumps(line)}\n" for line in kept))
