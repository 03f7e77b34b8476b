"""Self-evaluation without labels: a sentence of an index must find a passage that holds it.

It is an easy question for words and a fair one for meaning: what fails it is badly cut, badly encoded or drowned in
copies. It says nothing about questions in other words than the texts'; for that judged queries are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from semsearch.chunking.sentences import sentences

LEAST_WORDS = 4  # shorter ones are headings and names, which many passages hold


def drawn_sentences(texts: Iterable[str], sample: int = 200, seed: int = 0) -> list[str]:
    """Up to `sample` different sentences of passages, one a passage, by a fixed seed.

    A passage of several sentences is preferred to one that is a single sentence, which would be asked for as a whole.

    >>> drawn_sentences(["Soup needs salt and time. Bread needs yeast and time."], 1)
    ['Bread needs yeast and time.']
    """
    random = np.random.default_rng(seed)
    known = list(texts)
    found: dict[str, None] = {}
    whole: dict[str, None] = {}
    for at in random.permutation(len(known)).tolist():
        if len(found) >= sample:
            break
        parts = [known[at][start:end].strip() for start, end in sentences(known[at])]
        long = [part for part in parts if len(part.split()) >= LEAST_WORDS]
        if long:
            chosen = long[int(random.integers(len(long)))]
            (found if len(parts) > 1 else whole).setdefault(chosen)
    return [*found, *whole][:sample]


def own_rank(sentence: str, passages: Sequence[str]) -> int | None:
    """The rank, from 1, of the first passage that holds the sentence; None where none does."""
    return next((rank for rank, text in enumerate(passages, 1) if sentence in text), None)


def own_recall(ranks: Sequence[int | None], k: int) -> float:
    """Share of the sentences whose passage was among the first k.

    >>> own_recall([1, 4, None, 12], 10)
    0.5
    """
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks) if ranks else 0.0
