"""Metrics of a run: JSON lines, one for every few steps and one for every validation.

{"step": 10, "loss": 2.31, "rate": 1e-05, "seconds": 12.3}
{"step": 125, "dev": 77.02, "measure": "Spearman on STS-B dev"}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from semsearch.training import runs
from semsearch.utils import atomic_write

FILE = runs.METRICS


def append(home: Path, line: Mapping[str, object]) -> None:
    """Append a line to the metrics in the folder `home`."""
    with (home / FILE).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def truncate(home: Path, step: int) -> None:
    """Remove the lines after `step`, which will be written again."""
    lines = [line for line in runs.read_lines(home / FILE) if line["step"] <= step]
    atomic_write.write_text(home / FILE, "".join(f"{json.dumps(line)}\n" for line in lines))
