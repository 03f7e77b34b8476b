"""What every measurement prints and writes: its arguments, a table, the machine, and the figures as JSON."""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from semsearch.evaluation.environment import caption, describe

VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")  # what multiplies bytes in one step, as Linux calls it


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the script's own description, and -o."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the figures as JSON")
    return parser


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def show(text: str, note: str, figures: object, output: Path | None) -> None:
    """Print a table with a note and the machine below it; write the figures with the machine."""
    print(f"{text}\n\n{note} {caption()}.".rstrip())
    if output:
        written: dict[str, Any] = {"machine": describe(), "figures": figures}
        output.write_text(json.dumps(written, indent=1, default=str) + "\n", encoding="utf-8")


def arithmetic() -> str:
    """The kind of this processor as far as 8-bit arithmetic goes; "" where the system does not tell."""
    file = Path("/proc/cpuinfo")
    flags = set(file.read_text(encoding="utf-8").split()) if file.is_file() else set()
    kinds = [flag for flag in VNNI if flag in flags]
    return f"with {', '.join(kinds)}" if kinds else "without VNNI" if flags else ""
