"""Try every fault as often as docs/trust.md says: kills, power cuts, full disks, damage, hostile files.

    scripts/faults/run [--sample] [-o REPORT.jsonl] [PYTEST ARGUMENT...]      needs: scripts/test, run once

It takes about an hour on two cores. --sample: the numbers of the suite, two minutes. At the end a Markdown table says
how often each fault was tried and what became of it. `scripts/faults/planted.py` shows that these tests can fail.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from scripts.shared.places import CHECKOUT


def table(report: Path) -> str:
    """A row per fault: how often it was tried, and its outcomes; tests of the same fault are added up."""
    totals: dict[str, Counter[str]] = {}
    for line in report.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        totals.setdefault(row.pop("fault"), Counter()).update(row)
    rows = ["| fault | trials | outcomes |", "|---|---|---|"]
    for fault, counts in sorted(totals.items()):
        tried = counts.pop("tried")
        outcomes = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())
        rows.append(f"| {fault} | {tried:,} | {outcomes} |")
    return "\n".join(rows)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sample", action="store_true", help="the numbers of the suite")
    options.add_argument("-o", "--output", type=Path, help="keep the outcomes, as JSON lines")
    chosen, rest = options.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        report = (chosen.output or Path(scratch) / "report.jsonl").absolute()
        report.write_text("")
        environment = {**os.environ, "SEMSEARCH_FAULTS_REPORT": str(report)}
        environment["SEMSEARCH_FAULTS"] = "sample" if chosen.sample else "full"
        command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "tests/faults", *rest]
        code = subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode
        print(table(report))
    return code


if __name__ == "__main__":
    sys.exit(main())
