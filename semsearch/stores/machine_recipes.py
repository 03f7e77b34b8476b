"""Where several machines write to a store: the name of each, its part of the recipe, and changes of the recipe.

Each follows its own files.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from semsearch.errors import EncoderMismatch, Unreadable
from semsearch.types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from semsearch.stores.protocol import StoreWriter
    from semsearch.stores.records import Space

VARIABLE = "SEMSEARCH_MACHINE"
OWN = ("roots", "bases")  # of a recipe: what one machine follows
TAKEN = "taken"  # of a recipe: the prefixes that documents of other machines have


def name() -> str:
    """SEMSEARCH_MACHINE, else the name of the host. Machines that share their folders may share a name too."""
    return os.environ.get(VARIABLE) or socket.gethostname() or "unnamed"


def change_recipe(writer: StoreWriter, made: Callable[[JsonObject], JsonObject]) -> None:
    """Record what `made` makes of the latest recipe; without a transaction where that is the same.

    `made` may be called twice, and changes nothing else.
    """
    recipe = writer.reader.state().recipe
    if made(recipe) != recipe:
        writer.change_recipe(made)


def divided(recipe: JsonMapping) -> tuple[JsonObject, JsonObject]:
    """A recipe in two parts, to be stored apart: what all machines share, and what this one follows."""
    shared = {key: value for key, value in recipe.items() if key not in (*OWN, TAKEN)}
    return shared, {key: recipe[key] for key in OWN if key in recipe}


def whole(shared: JsonObject, own: JsonObject, others: Iterable[JsonMapping]) -> JsonObject:
    """The recipe as this machine sees it. `others`: what each other machine follows."""
    taken = {prefix for other in others for prefix in other.get("bases", {}).values()}
    return {**shared, **own, **({TAKEN: sorted(taken)} if taken else {})}


def check_current(title: str, current: Space, space: int) -> None:
    """Raise EncoderMismatch unless documents go into the current space, as nobody would search their vectors."""
    if current.id != space:
        raise EncoderMismatch(
            title,
            built_with=current.name,
            got="the one before",
            fix="Another machine has re-embedded it meanwhile: open it again.",
            command="Another machine has re-embedded it meanwhile: run this again.",
        )


def foreign_document(uri: str, owner: str) -> Unreadable:
    """The refusal to write a document that another machine has from its files."""
    return Unreadable(f"{uri!r} belongs to the files of machine {owner}")
