"""Name of the index that `index PATH` without -n means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import semsearch
from semsearch import settings
from semsearch.cli.lookup import choose_index
from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.errors import SemsearchError, UsageError


def index_name(options: Options, files: Sequence[Path], *, from_stdin: bool) -> str:
    """The only index that follows these files, else a new one named after them; printed to stderr.

    Raises UsageError where several indexes follow them, or an index of that name follows other files.
    """
    known = settings.names(options.folder())
    if not files:
        if from_stdin and not known:
            raise UsageError("text from standard input needs the name of an index.", "Pass -n NAME.")
        return choose_index(options)
    following = [name for name in known if _follows(settings.index_folder(name, options.folder()), files)]
    if len(following) > 1:
        raise UsageError("several indexes follow this path.", f"Name one with -n: {', '.join(following)}.")
    name = following[0] if following else _name_after(files)
    if not following and name in known:
        raise UsageError(
            f"an index called {name} exists, but it follows other files.",
            f"Pass -n {name} to add these files to it, or -n with another name.",
        )
    if not options.quiet:
        console.note(f"{'updating' if following else 'new'} index {name} in {options.folder()}")
    return name


def _follows(folder: Path, files: Sequence[Path]) -> bool:
    try:
        with semsearch.Index.open(folder) as index:
            roots = [root["path"] for root in index.info()["recipe"].get("roots", ())]
    except SemsearchError:
        return False  # a broken index is not the one that is meant, and no concern of this command
    return all(any(file.resolve().is_relative_to(root) for root in roots) for file in files)


def _name_after(files: Sequence[Path]) -> str:
    """The name of the folder, or of the only file."""
    paths = [file.resolve() for file in files]
    first = paths[0].parent if len(paths) > 1 else paths[0]
    label = first.stem if len(paths) == 1 and first.is_file() else first.name
    return re.sub(r"[^\w.-]+", "-", label).strip(".-") or "documents"
