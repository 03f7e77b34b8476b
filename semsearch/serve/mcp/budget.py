"""Answers of a limited size: an assistant pays for every token, and refuses or cuts answers that are too long.

Assistants have different tokenizers, none of which is here. A token is counted as three bytes of JSON in UTF-8: the
tokenizer of SmolLM2 (49,152 tokens; those of assistants have more) makes one of 3.1 bytes of our Markdown pages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

from semsearch.chunking.sentences import sentences
from semsearch.types import JsonObject

BYTES_OF_A_TOKEN = 3
SHORTEST = 240  # bytes of a text that is worth showing: an answer rather has fewer hits than shorter ones
LONGEST_METADATA = 1500  # bytes of the metadata of a hit; longer ones would take the place of its text


def as_json(value: object) -> str:
    """The JSON that is sent: what the bytes are counted of."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: object) -> int:
    """Bytes of a value in the answer. A lone surrogate, which UTF-8 does not have, counts as three."""
    return len(as_json(value).encode("utf-8", "surrogatepass"))


def cut(text: str, most: int) -> str:
    """The first sentences of `text` that take at most `most` bytes of JSON; of one that is longer, its first words.

    >>> cut("Tea is hot. Ice is cold. Snow is white.", 30)
    'Tea is hot. Ice is cold.'
    >>> cut("Tea without milk and sugar", 18)
    'Tea without milk'
    """
    beginning = text[: max(0, most)]  # a character takes a byte at least
    if len(beginning) == len(text) and size(text) - 2 <= most:
        return text
    sizes = accumulate(size(character) - 2 for character in beginning)
    beginning = beginning[: sum(1 for taken in sizes if taken <= most)]
    ends = [end for _, end in sentences(beginning)[:-1]]
    if ends:
        return beginning[: ends[-1]]
    words = beginning.rpartition(" ")[0].rstrip()
    return words or beginning


def fitted(head: JsonObject, key: str, items: Sequence[JsonObject], most: int, offset: int = 0) -> JsonObject:
    """`head` with as many of `items`, under `key`, as `most` bytes have room for, their texts cut at a sentence.

    Where some are left out, `next_offset` says where to go on, if it does not already. A text that is cut has
    `text_cut` beside it. An item that alone is too long is left out, and `left_out` says so.
    """
    trimmed = [_without_long_metadata(item) for item in items]
    free = most - size({**head, key: [], "next_offset": 10**9, "left_out": [10**9]}) - 8
    needed = list(accumulate(size({**item, "text": "", "text_cut": True}) + 1 + _least(item) for item in trimmed))
    shown = sum(1 for taken in needed if taken <= free)
    if not shown and trimmed:
        return {**head, key: [], "left_out": [offset + 1], "next_offset": offset + 1}
    chosen = trimmed[:shown]
    free -= sum(size({**item, "text": "", "text_cut": True}) + 1 for item in chosen)
    answer = {**head, key: [_cut(item, share) for item, share in zip(chosen, _shares(chosen, free), strict=True)]}
    if shown < len(trimmed):
        answer["next_offset"] = offset + shown
    return answer


def _least(item: JsonObject) -> int:
    return min(size(item.get("text", "")), SHORTEST)


def _without_long_metadata(item: JsonObject) -> JsonObject:
    if size(item.get("metadata", {})) <= LONGEST_METADATA:
        return item
    return {**item, "metadata": {}, "metadata_left_out": sorted(item["metadata"])[:20]}


def _cut(item: JsonObject, share: int) -> JsonObject:
    if "text" not in item:
        return item
    text = cut(item["text"], share)
    return item if len(text) == len(item["text"]) else {**item, "text": text, "text_cut": True}


def _shares(items: Sequence[JsonObject], free: int) -> list[int]:
    """The bytes for each text: short ones get what they need, and the others share the rest evenly."""
    sizes = [size(item.get("text", "")) for item in items]
    shares = [0] * len(items)
    for done, at in enumerate(sorted(range(len(items)), key=sizes.__getitem__)):
        shares[at] = min(sizes[at], free // (len(items) - done))
        free -= shares[at]
    return shares
