"""What the shell offers for a word that has been begun: names of indexes, encoders, rerankers and prompt templates.

It has to come at once: the functions import what they need, none of it numpy, and open no index and no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from semsearch import settings
from semsearch.stores import drivers


def complete_index(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of the indexes."""
    home = ctx.params.get("home") or ctx.find_root().params.get("home")  # it may stand after the command too
    known = drivers.stores_below(settings.home(Path(home) if home else None))
    return _beginning(known, incomplete)


def complete_encoder(incomplete: str) -> list[str]:
    """Encoders of the catalogue, and folders that `train` or `export` made; after MODEL# the templates."""
    from semsearch.models import local_models, model_folders

    model, sign, template = incomplete.partition("#")
    if sign:
        return [f"{model}#{name}" for name in complete_template(template)]
    folders = local_models.saved_encoders(local_models.models_dir())
    return _beginning([*model_folders.catalogue(), *map(_shown, folders)], incomplete)


def complete_reranker(incomplete: str) -> list[str]:
    """Rerankers of the catalogue, and folders that `export` made."""
    from semsearch.models import local_models, model_folders

    folders = local_models.saved_rerankers(local_models.models_dir())
    return _beginning([*model_folders.rerankers(), *map(_shown, folders)], incomplete)


def complete_model(incomplete: str) -> list[str]:
    """Encoders and rerankers."""
    return [*complete_encoder(incomplete), *complete_reranker(incomplete)]


def complete_template(incomplete: str) -> list[str]:
    """The templates of the library."""
    from semsearch.prompts import library

    return _beginning(library.templates(), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _shown(folder: Path) -> str:
    """A folder as it is shortest to write."""
    here = Path.cwd()
    return f"./{folder.relative_to(here)}" if folder.is_relative_to(here) else str(folder)
