"""The name of this machine, and its part of a recipe: of several that write to a store, each follows its own files."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

from semsearch.errors import Unreadable
from semsearch.types import JsonMapping, JsonObject

VARIABLE = "SEMSEARCH_MACHINE"
OWN = ("roots", "bases")  # of a recipe: what one machine follows
TAKEN = "taken"  # of a recipe: the prefixes that documents of other machines have


def name() -> str:
    """SEMSEARCH_MACHINE, else the name of the host. Machines that share their folders may share a name too."""
    return os.environ.get(VARIABLE) or socket.gethostname() or "unnamed"


def divided(recipe: JsonMapping) -> tuple[JsonObject, JsonObject]:
    """A recipe in two parts, to be stored apart: what all machines share, and what this one follows."""
    shared = {key: value for key, value in recipe.items() if key not in (*OWN, TAKEN)}
    return shared, {key: recipe[key] for key in OWN if key in recipe}


def whole(shared: JsonObject, own: JsonObject, others: Iterable[JsonMapping]) -> JsonObject:
    """The recipe as this machine sees it. `others`: what each other machine follows."""
    taken = {prefix for other in others for prefix in other.get("bases", {}).values()}
    return {**shared, **own, **({TAKEN: sorted(taken)} if taken else {})}


def foreign_document(uri: str, owner: str) -> Unreadable:
    """The refusal to write a document that another machine has from its files."""
    return Unreadable(f"{uri!r} belongs to the files of machine {owner}")
