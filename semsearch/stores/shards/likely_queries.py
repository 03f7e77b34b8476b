"""Queries like those of users, made of the texts of a folder of shards: titles and headings, and words of passages.

How many lists a search reads is chosen with them: a few words find their nearest passages in more lists than a passage
finds its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from semsearch.stores.query_words import has_cjk, words_of
from semsearch.stores.shards import rows
from semsearch.stores.shards.manifest import Shard
from semsearch.types import JsonObject
from semsearch.utils.languages.stop_words import MULTILINGUAL

MOST = 200  # queries of a kind
ROWS = 2 * MOST
LEAST_WORDS, MOST_WORDS = 2, 5  # of a query
NEAR = 12  # words from which those are taken
LONGEST_RUN = 8  # letters of a script without spaces
SEED = 23


def made(location: Path, shards: Sequence[Shard]) -> dict[str, list[str]]:
    """Different queries of each kind, at most MOST; the same ones every time. Raises Corrupt."""
    random = np.random.default_rng(SEED)
    found = list(_sample(location, shards, random))
    sample = [found[at] for at in random.permutation(len(found)).tolist()]
    titles = (str(name).strip() for row in sample for name in (row["title"], row["heading"]) if name)
    words = (some_words(row["text"], random) for row in sample)
    return {"titles": _different(titles), "words": _different(words)}


def some_words(text: str, random: np.random.Generator) -> str:
    """Two to five words of a text that are near each other, in their order; function words are left out."""
    words = [_cut(word, random) for word in words_of(text) if word.casefold() not in MULTILINGUAL]
    at = int(random.integers(max(1, len(words) - NEAR + 1)))
    near = words[at : at + NEAR]
    wanted = int(random.integers(LEAST_WORDS, MOST_WORDS + 1))
    return " ".join(near[one] for one in sorted(random.permutation(len(near))[:wanted].tolist()))


def _cut(word: str, random: np.random.Generator) -> str:
    """A word, or a part of a run of letters without spaces."""
    if len(word) <= LONGEST_RUN or not has_cjk(word):
        return word
    at = int(random.integers(len(word) - LONGEST_RUN + 1))
    return word[at : at + LONGEST_RUN]


def _sample(location: Path, shards: Sequence[Shard], random: np.random.Generator) -> Iterator[JsonObject]:
    """At most ROWS rows with their texts, from as many row groups as there are, up to ROWS."""
    there = [shard for shard in shards if shard.rows]
    each = -(-ROWS // max(1, len(there)))  # of a shard, so that of very many shards few are opened
    for shard in random.permutation(len(there)).tolist()[:ROWS]:
        with rows.reading(location / there[shard].file) as reader:
            groups = reader.metadata.num_row_groups
            for group in random.permutation(groups).tolist()[:each]:
                found = reader.read_row_group(group, ["title", "heading", "text"])
                wanted = random.permutation(len(found))[: -(-each // min(groups, each))]
                yield from found.take(wanted).to_pylist()


def _different(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))[:MOST]
