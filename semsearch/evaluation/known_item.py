"""Known-item retrieval, an evaluation without labels: a sentence of an index must find a passage that contains it.

It is easy for lexical search and fair for dense search: it fails where text is badly chunked, badly encoded or repeated
in near copies. It says nothing about questions worded differently from the text; those need judged queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from semsearch.chunking.sentences import sentences

MIN_WORDS = 4  # shorter sentences are headings and names, which occur in many passages


def sample_sentences(texts: Iterable[str], sample: int = 200, seed: int = 0) -> list[str]:
    """Up to `sample` different sentences of passages, at most one per passage; the same for the same seed.

    Passages of several sentences are preferred: from a one-sentence passage the query would be the whole passage.

    >>> sample_sentences(["Soup needs salt and time. Bread needs yeast and time."], 1)
    ['Bread needs yeast and time.']
    """
    rng, passages = np.random.default_rng(seed), list(texts)
    partial: dict[str, None] = {}
    whole: dict[str, None] = {}
    for at in rng.permutation(len(passages)).tolist():
        if len(partial) >= sample:
            break
        parts = [passages[at][start:end].strip() for start, end in sentences(passages[at])]
        long = [part for part in parts if len(part.split()) >= MIN_WORDS]
        if long:
            chosen = long[int(rng.integers(len(long)))]
            (partial if len(parts) > 1 else whole).setdefault(chosen)
    return [*partial, *whole][:sample]


def known_item_rank(sentence: str, passages: Sequence[str]) -> int | None:
    """The rank, from 1, of the first passage that contains the sentence; None if no passage does."""
    return next((rank for rank, text in enumerate(passages, 1) if sentence in text), None)


def known_item_recall(ranks: Sequence[int | None], k: int) -> float:
    """Share of the sentences whose passage was among the first k, in 0 … 1.

    >>> known_item_recall([1, 4, None, 12], 10)
    0.5
    """
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks) if ranks else 0.0
