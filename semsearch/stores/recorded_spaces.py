"""Spaces of an index beside the current one: an unfinished one, or one that was kept to compare encoders.

The recipe has an entry for each under `KEY`, by the id of the space: the reference of its `encoder`, and whether it was
`complete` once. A recipe may be a stranger's, so no entry is taken at its word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # `--help` reads this file, and does without numpy
    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import Space
    from semsearch.types import JsonMapping, JsonObject

KEY = "other_spaces"


class OtherSpace(NamedTuple):
    """A space beside the current one. `encoder`: its reference, "" where that is not on record.

    `complete`: every passage had a vector in it once; those that were added since then have none.
    """

    space: Space
    encoder: str
    complete: bool


def other_spaces(reader: StoreReader) -> list[OtherSpace]:
    """The spaces beside the current one, oldest first."""
    with reader.snapshot():
        entries = recorded(reader.state().recipe)
        return [OtherSpace(space, *_entry(entries.get(str(space.id)))) for space in reader.state().spaces[1:]]


def recorded(recipe: JsonMapping) -> JsonObject:
    """What the recipe says of them, by id."""
    entries = recipe.get(KEY, {})
    return dict(entries) if isinstance(entries, dict) else {}


def _entry(entry: object) -> tuple[str, bool]:
    """The reference and completeness. A space without a record was left by a run that was killed after its switch."""
    record = entry if isinstance(entry, dict) else {}
    encoder = record.get("encoder")
    return encoder if isinstance(encoder, str) else "", record.get("complete") is not False
