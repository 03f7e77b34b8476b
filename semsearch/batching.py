"""Texts to token ids and to batches: cut the sentence and never the prompt, sort by length, restore the order.

What a user types is text: "[MASK]" in a sentence is a bracket, a word and a bracket. What was cut is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer as FastTokenizer

from semsearch.bundle import Cuts, Prompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHARACTERS_PER_TOKEN = 16  # of the part of a very long text that is tokenised first; English has 4 to 5
MARGIN = 128  # tokens near the end of that part that its cut may have changed: a word has at most 100 pieces


class Tokenizer:
    """A tokenizer.json, and the longest input of an encoder in tokens, special ones included."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        self._fast = FastTokenizer.from_file(str(path))
        self._fast.no_truncation()
        self._fast.no_padding()
        self._fast.encode_special_tokens = True  # "[SEP]" typed by a user must not end the sentence
        self.max_tokens = max_tokens
        self.cuts = Cuts()

    def ids(self, texts: Sequence[str], prompt: Prompt) -> list[list[int]]:
        """Token ids of before + text + after, at most max_tokens each; `cuts` grows by what was left out."""
        plain = [clean(text) for text in texts]
        heads = [text[: CHARACTERS_PER_TOKEN * self.max_tokens] for text in plain]
        encodings = self._fast.encode_batch_fast([prompt.before + head + prompt.after for head in heads])
        return [
            encoding.ids
            if len(encoding.ids) <= self.max_tokens and len(head) == len(text)
            else self._cut(text, len(head), prompt)
            for text, head, encoding in zip(plain, heads, encodings, strict=True)
        ]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text alone, without prompt and special tokens."""
        plain = [clean(text) for text in texts]
        return [len(e.ids) for e in self._fast.encode_batch_fast(plain, add_special_tokens=False)]

    def _cut(self, text: str, size: int, prompt: Prompt) -> list[int]:
        """The ids of a long text: the first `size` characters are tokenised, more where they are too few."""
        head = text[:size]
        encoding = self._fast.encode(prompt.before + head + prompt.after)
        over = len(encoding.ids) - self.max_tokens
        if size < len(text) and over < MARGIN:
            return self._cut(text, 2 * size, prompt)
        if over <= 0:
            return list(encoding.ids)
        slot = _slot(encoding, len(prompt.before), len(head))
        dropped = set(slot[max(0, len(slot) - over) :])
        self.cuts.passages += 1
        self.cuts.tokens += over + len(text[size:].split())
        return [token for at, token in enumerate(encoding.ids) if at not in dropped]


def clean(text: str) -> str:
    """The text with half surrogate pairs, which no tokenizer takes, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def by_length(lengths: Sequence[int], *, most_texts: int, most_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Indices of texts in batches, the longest texts first.

    A batch has at most `most_texts` texts and, padded to its longest, `most_tokens` tokens; one text always fits.
    """
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    start = 0
    while start < len(order):
        size = max(1, min(most_texts, most_tokens // max(1, lengths[order[start]])))
        yield order[start : start + size]
        start += size


def padded(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of ids -> ids (n, t) filled up with 0, and their mask (n, t) of 1 for a real token."""
    longest = max(len(row) for row in rows)
    ids = np.zeros((len(rows), longest), dtype=np.int64)
    mask = np.zeros((len(rows), longest), dtype=np.int64)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
        mask[at, : len(row)] = 1
    return ids, mask


def _slot(encoding: Any, start: int, length: int) -> list[int]:
    """Positions of the tokens that come from the sentence alone."""
    return [
        at
        for at, ((first, last), special) in enumerate(zip(encoding.offsets, encoding.special_tokens_mask, strict=True))
        if not special and first >= start and last <= start + length
    ]
