"""One JSON for each run, with all that it takes to run it again, and Markdown tables of several.

A table holds what may be compared: runs of one kind and one protocol. What stands in its columns is the `table` of a
run; everything else that was measured is in its `scores`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import environment
from semsearch.models.safetensors_files import hashed

SCHEMA = 1
SUFFIX = ".json"
TABLES = "report.md"  # what a folder of runs gets beside them
ENCODER = ("name", "fingerprint", "method", "dim", "max_tokens", "precision", "device", "provider")

NEEDED = ("date", "encoder", "machine", "protocol", "run", "table")
PARTS = {  # what a table tells of these
    "encoder": ("name", "fingerprint"),
    "machine": ("processor", "cores", "memory", "system", "libraries"),
    "table": (),
}

Run: TypeAlias = dict[str, Any]


def run(
    kind: str,
    encoder: Any,
    *,
    protocol: str,
    scores: Mapping[str, Any],
    table: Mapping[str, float | int | None],
    settings: Mapping[str, Any] | None = None,
    row: Mapping[str, str] | None = None,
    files: Iterable[Path] = (),
    asked: str = "",
    took_s: float = 0.0,
) -> Run:
    """What a run of `kind` found of `encoder`, an Encoder or an engine of one.

    `protocol` says in words how it was measured: figures of two protocols are not to be compared. `row` tells runs of
    one encoder and protocol apart. `asked` is what the encoder was called by; `files` is the data that was read.
    """
    told = {key: encoder.info[key] for key in ENCODER if key in encoder.info}
    return {
        "schema": SCHEMA,
        "run": kind,
        "protocol": protocol,
        "encoder": {"asked": asked, **told, "reference": encoder.reference or asked},
        "data": {name: hashed(file) for name, file in _named(files).items()},
        "settings": dict(settings or {}),
        "row": dict(row or {}),
        "table": finite(table),
        "scores": finite(scores),
        "took_s": round(took_s, 3),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "semsearch": environment.version("semsearch"),
        "machine": environment.describe(),
    }


def write(runs: Sequence[Run], to: Path) -> list[Path]:
    """Save each run: one as the file `to`, or any number in the folder `to`, with the tables of all that it holds.

    Raises UsageError for several runs and one file, and for a folder that holds other JSON.
    """
    check(to, len(runs))
    if to.suffix == SUFFIX:
        to.parent.mkdir(parents=True, exist_ok=True)
        _save(to, runs[0])
        return [to]
    to.mkdir(parents=True, exist_ok=True)
    saved = [to / name(each) for each in runs]
    for path, each in zip(saved, runs, strict=True):
        _save(path, each)
    (to / TABLES).write_text(tables(read([to])) + "\n", encoding="utf-8")
    return saved


def check(to: Path, count: int) -> None:
    """UsageError where `count` runs cannot be written to `to`: to be asked before what takes hours."""
    if to.suffix == SUFFIX:
        if count != 1:
            raise UsageError(f"{count} runs do not go into one file.", f"Name a folder: {to.with_suffix('')}")
        if to.is_dir():
            raise UsageError(f"{to} is a folder.", "Name a file that ends in .json, or a folder that does not.")
    elif to.is_dir():
        for file in to.glob(f"*{SUFFIX}"):
            _loaded(file)  # its tables are made of all that it holds
    elif to.exists():
        raise UsageError(f"{to} is no folder, and does not end in {SUFFIX}.", "Name FILE.json, or a folder.")


def name(each: Run) -> str:
    """The file of a run: kind, encoder, and what sets it apart from other runs of the two.

    >>> name({"run": "sts", "protocol": "all", "encoder": {"name": "a/b", "fingerprint": "00ff"}, "data": {}})
    'sts-b-00ff-6de1df.json'
    """
    own = json.dumps(
        [each[key] for key in ("protocol", "data") if key in each] + [each.get("settings")], sort_keys=True
    )
    encoder = re.sub(r"[^\w.-]+", "-", each["encoder"]["name"].rpartition("/")[2]).strip("-")
    mark = hashlib.sha256(own.encode()).hexdigest()[:6]
    return f"{each['run']}-{encoder[:60]}-{each['encoder']['fingerprint'][:8]}-{mark}{SUFFIX}"


def read(paths: Iterable[Path]) -> list[Run]:
    """The runs in these files and folders, oldest first. Raises NotFound, and UsageError for what is no run."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise NotFound(f"{path} does not exist.", "Name what --report wrote: a file or a folder.")
        files += sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise NotFound("there are no runs.", "Make one: semsearch eval … --report FOLDER")
    return sorted((_loaded(file) for file in files), key=lambda each: str(each["date"]))


def tables(runs: Sequence[Run]) -> str:
    """Markdown: a table for each kind and protocol, a row a run, with the machines and versions below."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for each in runs:
        groups.setdefault((each["run"], each["protocol"]), []).append(each)
    parts = [
        f"### {kind}\n\n{protocol}\n\n{markdown(*rows(group, [_called(each) for each in group]))}"
        for (kind, protocol), group in groups.items()
    ]
    seen = dict.fromkeys("{processor}, {cores} cores, {memory}; {system}; {libraries}".format(**each["machine"])
                         for each in runs)  # fmt: skip
    return "\n\n".join([*parts, "\n".join(f"Machine: {one}" for one in seen)])


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of GitHub's Markdown, its columns aligned so that it reads as text too.

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
    """A figure of a table: whole numbers as they are, others with two digits, or four below 10 in size.

    >>> shown(82.031), shown(-1.23456), shown(1379), shown(None)
    ('82.03', '-1.2346', '1379', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.4f}"


def finite(value: Any) -> Any:
    """The same with None in place of NaN and infinity, which JSON has not."""
    if isinstance(value, Mapping):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) or hasattr(value, "item"):
        plain = value.item() if hasattr(value, "item") else value
        return plain if math.isfinite(plain) else None
    return value


def rows(runs: Sequence[Run], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Heads, and a row of cells for each run, called by its name: what sets it apart, then its figures."""
    apart = list(dict.fromkeys(key for each in runs for key in each.get("row", {})))
    columns = list(dict.fromkeys(column for each in runs for column in each["table"]))
    cells = [
        [name, *(each.get("row", {}).get(key, "") for key in apart), *(shown(each["table"].get(c)) for c in columns)]
        for name, each in zip(names, runs, strict=True)
    ]
    return ["encoder", *apart, *columns], cells


def _called(each: Run) -> str:
    encoder = each["encoder"]
    return f"{encoder['name']} ({encoder['fingerprint'][:8]})"


def _save(path: Path, each: Run) -> None:
    path.write_text(json.dumps(each, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _loaded(file: Path) -> Run:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as JSON: {error}.", "Name what --report wrote.") from None
    missing = _missing(found, NEEDED) or [
        f"{part}.{key}" for part, keys in PARTS.items() for key in _missing(found[part], keys)
    ]
    if missing:
        raise UsageError(f"{file} is not a run: it has no {missing[0]}.", "Name what --report wrote.")
    return dict(found)


def _named(files: Iterable[Path]) -> dict[str, Path]:
    """Each file by its folder and name, and as many folders before as tell it from the others."""
    distinct = list(dict.fromkeys(file.absolute() for file in files))

    def ends(parts: int) -> list[tuple[str, ...]]:
        return [file.parts[-parts:] for file in distinct]

    def enough(file: Path) -> int:
        return next(n for n in range(2, len(file.parts) + 2) if ends(n).count(file.parts[-n:]) == 1)

    return {"/".join(file.parts[-enough(file) :]): file for file in distinct}


def _missing(found: Any, keys: Sequence[str]) -> list[str]:
    """Those of `keys` that an object lacks; of what is no object, all."""
    return [key for key in keys if key not in found] if isinstance(found, dict) else list(keys or ("columns",))
