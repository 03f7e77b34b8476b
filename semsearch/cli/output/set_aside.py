"""What a restored index does not do until `semsearch trust`, in words."""

from __future__ import annotations

import semsearch
from semsearch.types import JsonMapping

NAMED = 3  # folders that are named


def in_words(apart: JsonMapping) -> str:
    """From "set_aside" of a recipe, such as "follow /data/notes and download the encoder hf:a/b"; "" for nothing."""
    paths = [root["path"] for root in apart.get("roots", ())]
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    parts = [f"follow {', '.join(paths[:NAMED])}{more}"] if paths else []
    if (encoder := apart.get("encoder")) and not semsearch.Encoder.is_local(encoder):
        parts.append(f"download the encoder {encoder}")
    return " and ".join(parts)
