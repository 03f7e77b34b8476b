"""Which index `index` means where no name was given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from semsearch import settings
from semsearch.cli.common import Options, pick
from semsearch.cli.output import text
from semsearch.errors import SemsearchError, UsageError


def usual_name(options: Options, files: Sequence[Path], *, from_stdin: bool) -> str:
    """The only one that follows these files, else a new one called like them; says so on stderr.

    Raises UsageError where several follow them, or an index of that name follows something else.
    """
    if not files:
        if from_stdin and not settings.names(options.folder()):
            raise UsageError("what comes from standard input needs a name.", "Say -n NAME.")
        return pick(options)
    following = [name for name in settings.names(options.folder()) if _follows(options, name, files)]
    if len(following) > 1:
        raise UsageError("several indexes follow this path.", f"Say -n with one of: {', '.join(following)}.")
    name = following[0] if following else _called_like(files)
    if not following and name in settings.names(options.folder()):
        raise UsageError(f"an index called {name} exists, and it follows other files.",
                         f"Say -n {name} to add these to it, or -n with another name.")  # fmt: skip
    if not options.quiet:
        text.note(f"{'updating' if following else 'new'} index {name} in {options.folder()}")
    return name


def _follows(options: Options, name: str, files: Sequence[Path]) -> bool:
    from semsearch.index import Index

    try:
        with Index.open(settings.index_folder(name, options.folder())) as index:
            roots = [root["path"] for root in index.info()["recipe"].get("roots", ())]
    except SemsearchError:
        return False  # a broken index is not the one that was meant, and none of this command's business
    return all(any(file.resolve().is_relative_to(root) for root in roots) for file in files)


def _called_like(files: Sequence[Path]) -> str:
    """A name made from that of the folder, or of the one file."""
    paths = [file.resolve() for file in files]
    first = paths[0].parent if len(paths) > 1 else paths[0]
    label = first.stem if len(paths) == 1 and first.is_file() else first.name
    return re.sub(r"[^\w.-]+", "-", label).strip(".-") or "documents"
