"""What the shell offers for a word that has been begun: names of indexes, encoders, rerankers and prompt templates.

A module of its own, which is imported when the shell asks (`options.completer`): other commands need none of this. It
has to answer at once, so nothing here imports numpy or opens an index or a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from semsearch import settings
from semsearch.models import local_models
from semsearch.prompts import library
from semsearch.stores import drivers


def index(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of the indexes."""
    home = ctx.params.get("home") or ctx.find_root().params.get("home")  # it may stand after the command too
    names = drivers.stores_below(settings.home(Path(home) if home else None))
    return _beginning(names, incomplete)


def encoder(ctx: typer.Context, incomplete: str) -> list[str]:
    """Encoders of the catalogue, and folders that `train` or `export` made; after MODEL# the templates."""
    named, sign, begun = incomplete.partition("#")
    if sign:
        return [f"{named}#{name}" for name in template(ctx, begun)]
    folders = local_models.saved_encoders(local_models.models_dir())
    return _models(local_models.names("encoder"), folders, incomplete)


def reranker(_: typer.Context, incomplete: str) -> list[str]:
    """Rerankers of the catalogue, and folders that `export` made."""
    folders = local_models.saved_rerankers(local_models.models_dir())
    return _models(local_models.names("reranker"), folders, incomplete)


def model(ctx: typer.Context, incomplete: str) -> list[str]:
    """Encoders and rerankers."""
    return [*encoder(ctx, incomplete), *reranker(ctx, incomplete)]


def template(_: typer.Context, incomplete: str) -> list[str]:
    """The templates of the library."""
    return _beginning(library.templates(), incomplete)


def _models(names: Sequence[str], folders: Iterable[Path], incomplete: str) -> list[str]:
    return _beginning([*names, *map(_shown, folders)], incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _shown(folder: Path) -> str:
    """A folder as it is shortest to write."""
    here = Path.cwd()
    return f"./{folder.relative_to(here)}" if folder.is_relative_to(here) else str(folder)
