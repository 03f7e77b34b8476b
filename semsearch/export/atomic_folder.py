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
    """A new folder to write into, which becomes `out` once the block ends without an error; otherwise nothing is left.

    Raises UsageError, before anything is done, where `out` is not empty: only a bundle is replaced, with `force`.
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
        if out.is_dir():
            _swap(new, out, Path(scratch) / "old")
        else:
            new.rename(out)
        sync_folder(out.parent)


def _swap(new: Path, out: Path, old: Path) -> None:
    """Move `new` to `out`; on an error `out` is restored."""
    out.rename(old)
    try:
        new.rename(out)
    except BaseException:
        old.rename(out)
        raise


def check(out: Path, *, force: bool = False, source: Path | None = None) -> None:
    """UsageError where `out` cannot be made or replaced, or is the folder `source` that the model comes from."""
    out = out.expanduser().resolve()
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file.", "Name a folder for the bundle: -o DIR")
    if not out.is_dir() or not any(out.iterdir()):
        return
    if source is not None and out in (source.resolve(), *source.resolve().parents):
        raise UsageError(f"{out} is the folder of the model itself.", "Name another folder: -o DIR")
    if not force:
        more = ", or say --force to replace the bundle in it" if (out / MANIFEST).is_file() else ""
        raise UsageError(f"{out} is not empty.", f"Name another folder{more}.")
    if not (out / MANIFEST).is_file():
        raise UsageError(
            f"{out} holds no bundle (no {MANIFEST}), and --force replaces only bundles.", "Name another folder: -o DIR"
        )
