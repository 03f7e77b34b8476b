"""Metadata that a person has set (`Index.annotate`): the recipe names their keys, and what is stored under them stays
when a file is read again, which brings its own metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from semsearch.types import Document, JsonMapping, JsonObject

KEY = "annotated"


def keys(recipe: JsonMapping) -> list[str]:
    """The keys that were ever set by a person."""
    listed = recipe.get(KEY, [])
    return [key for key in listed if isinstance(key, str)] if isinstance(listed, list) else []


def with_keys(recipe: JsonObject, metadata: Mapping[str, object]) -> JsonObject:
    """The recipe with the keys of these metadata among those."""
    named = sorted({*keys(recipe), *metadata})
    return {**recipe, KEY: named} if named else recipe


def merged(before: Mapping[str, object], metadata: Mapping[str, object]) -> JsonObject:
    """Metadata with these set, and those with None removed."""
    return {key: value for key, value in {**before, **metadata}.items() if value is not None}


def kept(document: Document, stored: Document | None, annotated: Sequence[str]) -> Document:
    """A document that is read again, with what was set on the stored one."""
    own = {} if stored is None else {key: stored.metadata[key] for key in annotated if key in stored.metadata}
    return replace(document, metadata={**document.metadata, **own}) if own else document
