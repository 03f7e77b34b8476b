"""Known-item retrieval, an evaluation without labels: a sentence of an index must find a passage that contains it.

It is easy for lexical search and fair for dense search: it fails where text is badly chunked, badly encoded or repeated
in near copies. It says nothing about questions worded differently from the text; those need judged queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from semsearch.chunking.sentences import sentences
from semsearch.documents.parsing import front_matter
from semsearch.errors import UsageError
from semsearch.evaluation.retrieval import averaged
from semsearch.types import JsonObject, Mode, Query, Results

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
        passage = front_matter.behind(passages[at])
        parts = [passage[start:end].strip() for start, end in sentences(passage)]
        long = [part for part in parts if len(part.split()) >= MIN_WORDS]
        if long:
            chosen = long[int(rng.integers(len(long)))]
            (partial if len(parts) > 1 else whole).setdefault(chosen)
    return [*partial, *whole][:sample]


def own_sentences(name: str, texts: Iterable[str], sample: int = 200, seed: int = 0) -> list[str]:
    """`sample_sentences` of the passages `texts` of the index called `name`. Raises UsageError if there are none."""
    chosen = sample_sentences(texts, sample, seed)
    if not chosen:
        raise UsageError(f"index {name} has no sentence of four words or more.", "Index more text first.")
    return chosen


_UNQUOTED = str.maketrans(dict.fromkeys('"“”„«»「」『』', " "))  # what is quoted would be demanded


@dataclass(frozen=True, slots=True)
class KnownItems:
    """The search for n sentences: the rank of the first passage with the sentence, None beyond the first k hits, and
    the milliseconds that it took."""

    sentences: tuple[str, ...]
    ranks: tuple[int | None, ...]
    ms: tuple[float, ...]

    @property
    def missed(self) -> list[str]:
        """The sentences that were not found."""
        return [text for text, rank in zip(self.sentences, self.ranks, strict=True) if rank is None]

    def recall(self, k: int) -> float:
        """Share of the sentences whose passage was among the first k, in 0 … 1."""
        return known_item_recall(self.ranks, k)


def search_known_items(
    find: Callable[[Query], Results],
    sentences: Sequence[str],
    mode: Mode,
    k: int = 10,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> KnownItems:
    """Search each sentence with `find`, such as Index.search. `progress(done, total)` is called before each of them.

    The first search is repeated, so that loading the encoder is not part of the times.
    """
    ranks: list[int | None] = []
    took: list[float] = []
    for at, sentence in enumerate(sentences):
        progress(at, len(sentences))
        query = Query(sentence.translate(_UNQUOTED), k=k, mode=mode, group="passage")
        hits = find(query) if at else [find(query) for _ in range(2)][-1]
        ranks.append(known_item_rank(sentence, [hit.text for hit in hits]))
        took.append(sum(hits.took_ms.values()))
    return KnownItems(tuple(sentences), tuple(ranks), tuple(took))


def known_item_rank(sentence: str, passages: Sequence[str]) -> int | None:
    """The rank, from 1, of the first passage that contains the sentence; None if no passage does."""
    return next((rank for rank, text in enumerate(passages, 1) if sentence in text), None)


def known_item_recall(ranks: Sequence[int | None], k: int) -> float:
    """Share of the sentences whose passage was among the first k, in 0 … 1.

    >>> known_item_recall([1, 4, None, 12], 10)
    0.5
    """
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks) if ranks else 0.0


def evaluate_known_items(
    find: Callable[[Query], Results], sentences: Sequence[str], mode: Mode, k: int = 100
) -> JsonObject:
    """nDCG@10, recall@k and MRR@10 in 0 … 1 of `find`, such as Index.search, for sentences of the index.

    The result is as that of `retrieval.evaluate`, with the sentences as queries.
    """
    items = search_known_items(find, sentences, mode, k)
    per_query = {text: _scores(rank, k) for text, rank in zip(items.sentences, items.ranks, strict=True)}
    return averaged(per_query)


def _scores(rank: int | None, k: int) -> dict[str, float]:
    """The measures of a query with one relevant passage, found at `rank`."""
    seen = math.inf if rank is None or rank > 10 else rank
    return {"nDCG@10": 1 / math.log2(seen + 1), f"recall@{k}": float(rank is not None), "MRR@10": 1 / seen}
