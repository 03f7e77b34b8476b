"""Evaluation reports: one JSON file per run with all that is needed to repeat it, and Markdown tables of several.

A table holds comparable runs: those of one kind and one protocol. Its columns are the `table` of a run; everything
else that was measured is in the run's `scores`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import environment
from semsearch.types import JsonObject
from semsearch.utils.file_contents import hashed

SCHEMA = 1
SUFFIX = ".json"
TABLES = "report.md"  # written next to the runs of a folder
ENCODER = ("name", "fingerprint", "method", "dim", "max_tokens", "precision", "device", "provider")

REQUIRED = (  # keys that a table needs, with a dot before those inside an object
    *("date", "encoder.name", "encoder.fingerprint"),
    *("machine.processor", "machine.cores", "machine.memory", "machine.system", "machine.libraries"),
    *("protocol", "run", "table"),
)

Run: TypeAlias = JsonObject


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of measuring an encoder, and what it was measured on.

    `protocol` describes how it was measured: figures of two protocols are not comparable. `row` distinguishes runs of
    one encoder and protocol. `files` is the data read.
    """

    protocol: str
    scores: Mapping[str, object]
    table: Mapping[str, float | int | None]
    settings: Mapping[str, object] = field(default_factory=dict)
    row: Mapping[str, str] = field(default_factory=dict)
    files: Iterable[Path] = ()


def run(
    kind: str, info: Mapping[str, object], measured: Measurement, *, name: str, reference: str = "", took_s: float
) -> Run:
    """The record of a run of `kind` that measured the encoder described by `info`, which the user called `name`."""
    encoder = {key: info[key] for key in ENCODER if key in info}
    return {
        "schema": SCHEMA,
        "run": kind,
        "protocol": measured.protocol,
        "encoder": {"asked": name, **encoder, "reference": reference or name},
        "data": {short: hashed(file) for short, file in _short_names(measured.files).items()},
        "settings": dict(measured.settings),
        "row": dict(measured.row),
        "table": finite(measured.table),
        "scores": finite(measured.scores),
        "took_s": round(took_s, 3),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "semsearch": environment.version("semsearch"),
        "machine": environment.describe(),
    }


def write(runs: Sequence[Run], to: Path) -> list[Path]:
    """Write each run: a single one to the file `to`, or any number into the folder `to`, with tables of its runs.

    Raises UsageError for several runs and one file, and for a folder that contains other JSON.
    """
    check(to, len(runs))
    single = to.suffix == SUFFIX
    (to.parent if single else to).mkdir(parents=True, exist_ok=True)
    saved = [to if single else to / name(each) for each in runs]
    for path, each in zip(saved, runs, strict=True):
        path.write_text(json.dumps(each, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if not single:
        (to / TABLES).write_text(tables(read([to])) + "\n", encoding="utf-8")
    return saved


def check(to: Path, count: int) -> None:
    """Raise UsageError if `count` runs cannot be written to `to`; call it before hours of measuring."""
    if to.suffix == SUFFIX:
        if count != 1:
            raise UsageError(f"{count} runs do not go into one file.", f"Name a folder: {to.with_suffix('')}")
        if to.is_dir():
            raise UsageError(f"{to} is a folder.", "Name a file that ends in .json, or a folder that does not.")
    elif to.is_dir():
        for file in to.glob(f"*{SUFFIX}"):
            _read(file)  # the folder's tables are made from all of its runs
    elif to.exists():
        raise UsageError(f"{to} is not a folder, and does not end in {SUFFIX}.", "Name FILE.json, or a folder.")


def name(each: Run) -> str:
    """The file name of a run: kind, encoder, and a hash of what distinguishes it from other runs of the two.

    >>> name({"run": "sts", "protocol": "all", "encoder": {"name": "a/b", "fingerprint": "00ff"}, "data": {}})
    'sts-b-00ff-6de1df.json'
    """
    own = json.dumps([each["protocol"], each["data"], each.get("settings")], sort_keys=True)
    encoder = re.sub(r"[^\w.-]+", "-", each["encoder"]["name"].rpartition("/")[2]).strip("-")
    mark = hashlib.sha256(own.encode()).hexdigest()[:6]
    return f"{each['run']}-{encoder[:60]}-{each['encoder']['fingerprint'][:8]}-{mark}{SUFFIX}"


def read(paths: Iterable[Path]) -> list[Run]:
    """The runs in these files and folders, oldest first. Raises NotFound, and UsageError for a file that is no run."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise NotFound(
                f"{path} does not exist.",
                "Name a file or folder with saved runs.",
                "Name a file or folder written by --report.",
            )
        files += sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise NotFound("there are no runs.", "Make one with save_run.", "Make one: semsearch eval … --report FOLDER")
    return sorted((_read(file) for file in files), key=lambda each: str(each["date"]))


def tables(runs: Sequence[Run]) -> str:
    """Markdown: a table for each kind and protocol, a row per run, with machines and versions below."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for each in runs:
        groups.setdefault((each["run"], each["protocol"]), []).append(each)
    parts = []
    for (kind, protocol), group in groups.items():
        encoders = [f"{each['encoder']['name']} ({each['encoder']['fingerprint'][:8]})" for each in group]
        parts.append(f"### {kind}\n\n{protocol}\n\n{markdown(*rows(group, encoders))}")
    machines = dict.fromkeys(environment.CAPTION.format(**each["machine"]) for each in runs)
    return "\n\n".join([*parts, "\n".join(f"Machine: {one}" for one in machines)])


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A GitHub Markdown table, its columns aligned so that it is readable as plain text too.

    >>> print(markdown(["a", "b"], [["x|y", "1"]]))
    | a    | b |
    | ---- | - |
    | x\\|y | 1 |
    """
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in [heads, *rows]]
    widths = [max(1, *(len(row[at]) for row in cells)) for at in range(len(heads))]
    lines = [cells[0], ["-" * width for width in widths], *cells[1:]]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def shown(value: float | int | None) -> str:
    """A table cell: integers as they are, others with two decimals, or four below 10 in size.

    >>> shown(82.031), shown(-1.23456), shown(1379), shown(None)
    ('82.03', '-1.2346', '1379', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.4f}"


def finite(value: object) -> object:
    """`value` as JSON can represent it: NaN and infinity become None, NumPy scalars become numbers."""
    if isinstance(value, Mapping):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def rows(runs: Sequence[Run], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Column heads, and a row of cells for each run: its name, what distinguishes it, then its figures."""
    labels = list(dict.fromkeys(key for each in runs for key in each.get("row", {})))
    columns = list(dict.fromkeys(column for each in runs for column in each["table"]))
    cells = [
        [name, *(each.get("row", {}).get(key, "") for key in labels), *(shown(each["table"].get(c)) for c in columns)]
        for name, each in zip(names, runs, strict=True)
    ]
    return ["encoder", *labels, *columns], cells


def _read(file: Path) -> Run:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} cannot be read as JSON: {error}.", "Name files of saved runs.", "Name files written by --report."
        ) from None
    missing = next((key for key in REQUIRED if _is_missing(content, key)), None)
    if missing or not isinstance(content["table"], dict):
        raise UsageError(
            f"{file} is not a run: it has no {missing or 'table'}.",
            "Name files of saved runs.",
            "Name files written by --report.",
        )
    return dict(content)


def _is_missing(content: object, key: str) -> bool:
    for part in key.split("."):
        if not isinstance(content, dict) or part not in content:
            return True
        content = content[part]
    return False


def _short_names(files: Iterable[Path]) -> dict[str, Path]:
    """Each file by its folder and name, with as many parent folders as distinguish it from the others."""
    distinct = list(dict.fromkeys(file.absolute() for file in files))

    def is_unique(end: tuple[str, ...]) -> bool:
        return sum(other.parts[-len(end) :] == end for other in distinct) == 1

    ends = [[file.parts[-size:] for size in range(2, len(file.parts) + 1)] for file in distinct]
    unique = (next(end for end in each if is_unique(end)) for each in ends)
    return {"/".join(end): file for end, file in zip(unique, distinct, strict=True)}
