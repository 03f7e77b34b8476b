"""Atomic replacement of a folder: as a whole, or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from semsearch.errors import UsageError
from semsearch.models.bundle import MANIFEST
from semsearch.utils.atomic_write import sync_file, sync_folder


@contextmanager
def replaced(out: Path, *, force: bool = False, source: Path | None = None) -> Iterator[Path]:
    """A new folder to write into, which becomes `out` if the block ends without an error, else is removed.

    Raises UsageError at once where `out` is not empty: only a bundle is replaced, with `force`.
    """
    out = out.expanduser().resolve()
    check(out, force=force, source=source)
    beside = next(folder for folder in out.parents if folder.is_dir())
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", suffix=".partial", dir=beside) as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        yield new
        for file in new.rglob("*"):
            if file.is_file():
                sync_file(file)
        out.parent.mkdir(parents=True, exist_ok=True)
        old = out.rename(Path(scratch) / "old") if out.is_dir() else None
        try:
            new.rename(out)
        except BaseException:
            if old is not None:
                old.rename(out)
            raise
        sync_folder(out.parent)


def check(out: Path, *, force: bool = False, source: Path | None = None) -> None:
    """Raises UsageError where `out` cannot be created or replaced, or is `source`, the folder of the model."""
    out = out.expanduser().resolve()
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file.", "Name a folder for the bundle: -o DIR")
    if not out.is_dir() or not any(out.iterdir()):
        return
    if source is not None and out in (source.resolve(), *source.resolve().parents):
        raise UsageError(f"{out} is the folder of the model itself.", "Name another folder: -o DIR")
    if not force:
        more = ", or use --force to replace the bundle in it" if (out / MANIFEST).is_file() else ""
        raise UsageError(f"{out} is not empty.", f"Name another folder{more}.")
    if not (out / MANIFEST).is_file():
        raise UsageError(
            f"{out} contains no bundle (no {MANIFEST}), and --force replaces only bundles.",
            "Name another folder: -o DIR",
        )
