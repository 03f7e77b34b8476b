"""How often each fault is tried: a few times with fixed seeds in the suite, a sample under `-m long`, all by
`scripts/faults/run`.

Every test of this folder takes its number of trials from `trials` and says with `record` what became of them, so that
`scripts/faults/run` prints one table of what was tried.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

AMOUNT = os.environ.get("SEMSEARCH_FAULTS", "few")  # or "sample", or "full"
REPORT = os.environ.get("SEMSEARCH_FAULTS_REPORT")  # a file of JSON lines


def trials(sample: int, full: int) -> int:
    """The number of trials of one fault in this run: three of eight of the sample where nobody asked for more."""
    return {"few": -(-sample * 3 // 8), "sample": sample, "full": full}[AMOUNT]


def record(fault: str, tried: int, **outcomes: int) -> None:
    """Note that a fault was tried so often, and how often each outcome came: `lost`, `wrong`, `found`, `harmless`, …"""
    if REPORT:
        with Path(REPORT).open("a", encoding="utf-8") as report:
            report.write(json.dumps({"fault": fault, "tried": tried, **outcomes}) + "\n")
