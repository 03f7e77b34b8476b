"""What a restored index does not do until its owner says so: follow folders, and download an encoder.

A dump may be somebody else's, and its recipe names folders to read and a model to fetch. Both are set aside in the
recipe under one key. The `bases` stay: they are names, by which the documents of the dump are shown, and nothing is
read because of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt
from semsearch.stores.recorded_spaces import KEY as OTHER_SPACES

if TYPE_CHECKING:
    from semsearch.types import JsonMapping, JsonObject

KEY = "set_aside"
SHIPPED = ("default", "hashing")  # encoders that are never downloaded


def set_aside(recipe: JsonMapping) -> JsonObject:
    """The recipe of an index that was just restored. Raises Corrupt for one that is no recipe."""
    encoder = recipe.get("encoder", SHIPPED[0])
    apart: JsonObject = {"roots": [*_list(recipe.get("roots", [])), *_list(_mapping(recipe, KEY).get("roots", []))]}
    if not all(isinstance(prefix, str) for prefix in _mapping(recipe, "bases").values()):
        raise Corrupt("the dump is damaged: the name of a folder is no text.")
    if not (encoder is None or isinstance(encoder, str)):
        raise Corrupt("the dump is damaged: its encoder is not named by a text.")
    if encoder is not None and _is_foreign(encoder):
        apart["encoder"] = encoder
    apart = {key: value for key, value in apart.items() if value}
    others = {key: value for key, value in recipe.items() if key not in (KEY, "roots", OTHER_SPACES)}
    beside = {key: _unnamed(entry) for key, entry in _mapping(recipe, OTHER_SPACES).items() if isinstance(entry, dict)}
    return {**others, **({OTHER_SPACES: beside} if beside else {}), **({KEY: apart} if apart else {})}


def _is_foreign(encoder: object) -> bool:
    """Whether an encoder might be downloaded."""
    return not isinstance(encoder, str) or (encoder not in SHIPPED and not Path(encoder).is_absolute())


def _unnamed(entry: JsonObject) -> JsonObject:
    """The entry of a space beside the current one, without the name of an encoder that might be downloaded."""
    return {**entry, "encoder": ""} if _is_foreign(entry.get("encoder")) else entry


def adopted(recipe: JsonMapping) -> JsonObject:
    """The recipe with what was set aside, except for folders that are followed again by now."""
    roots = _list(recipe.get("roots", []))
    followed = [Path(root["path"]) for root in roots]
    back = [root for root in folders(recipe) if not any(Path(root["path"]).is_relative_to(one) for one in followed)]
    return {**{key: value for key, value in recipe.items() if key != KEY}, "roots": [*roots, *back]}


def with_encoder(recipe: JsonMapping, encoder: str) -> JsonObject:
    """The recipe with an encoder that its owner has chosen, in place of the dump's."""
    apart = {key: value for key, value in _mapping(recipe, KEY).items() if key != "encoder"}
    others = {key: value for key, value in recipe.items() if key != KEY}
    return {**others, "encoder": encoder, **({KEY: apart} if apart else {})}


def folders(recipe: JsonMapping) -> list[JsonObject]:
    """The folders and files that were set aside, as in `roots`."""
    return _list(_mapping(recipe, KEY).get("roots", []))


def encoder(recipe: JsonMapping) -> str:
    """The encoder that must not be downloaded; "" for none."""
    return str(_mapping(recipe, KEY).get("encoder", ""))


def _mapping(recipe: JsonMapping, key: str) -> JsonObject:
    value = recipe.get(key, {})
    if not isinstance(value, dict):
        raise Corrupt(f"the recipe is damaged: {key} is {value!r:.40}.")
    return value


def _list(value: object) -> list[JsonObject]:
    """A list of roots, each with a path."""
    if not isinstance(value, list) or not all(isinstance(x, dict) and isinstance(x.get("path"), str) for x in value):
        raise Corrupt(f"the recipe is damaged: its folders are {value!r:.40}.")
    return value
