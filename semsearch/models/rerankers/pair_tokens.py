"""Token ids of a query together with a passage, as the tokenizer of a cross-encoder frames a pair.

Of a pair that is too long the passage is truncated, never the query: a passage without the question says nothing. Only
a query longer than half of what the model reads is cut itself, to that half. User input is always plain text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tokenizers import Encoding
from tokenizers import Tokenizer as FastTokenizer

from semsearch.errors import Corrupt
from semsearch.models.tokenization import CHARACTERS_PER_TOKEN, clean

PROBE = ("a", "b")  # texts of known tokens, which show what a pair has around them


class PairRows(NamedTuple):
    """ids and segments of each pair, one number a token, and how many passages and queries were truncated."""

    ids: list[list[int]]
    segments: list[list[int]]
    truncated: int
    query_truncated: bool


@dataclass(frozen=True, slots=True)
class _Frame:
    """The special tokens before, between and after the two texts, each with its segments, and those of the texts."""

    before: tuple[list[int], list[int]]
    between: tuple[list[int], list[int]]
    after: tuple[list[int], list[int]]
    query: int
    passage: int

    def __len__(self) -> int:
        return len(self.before[0]) + len(self.between[0]) + len(self.after[0])


class PairTokenizer:
    """A tokenizer.json with the longest pair in tokens, special tokens included."""

    def __init__(self, definition: Path, max_tokens: int) -> None:
        """Raises Corrupt if the file is no tokenizer, or leaves no room for two texts."""
        try:
            fast = FastTokenizer.from_file(str(definition))
            fast.no_truncation()
            fast.no_padding()
            self._frame = _frame(fast)
        except Exception as error:  # the library raises plain Exceptions
            raise Corrupt(f"{definition} is not a tokenizer: {error}.", "Copy the model again.") from error
        fast.encode_special_tokens = True  # "[SEP]" in a text must not end it
        self._fast, self.max_tokens = fast, max_tokens
        if self.room < 2:
            raise Corrupt(f"{definition}: {max_tokens} tokens leave no room for a query and a passage.", "")

    @property
    def room(self) -> int:
        """Tokens that both texts may have together."""
        return self.max_tokens - len(self._frame)

    def rows(self, query: str, passages: Sequence[str]) -> PairRows:
        """The ids and segments of `query` with each of n passages, in order."""
        most = max(1, self.room // 2)
        asked, query_cut = self._start(query, most)
        room = self.room - len(asked)
        starts = [self._start(passage, room) for passage in passages]
        pairs = [self._framed(asked, ids) for ids, _ in starts]
        return PairRows([ids for ids, _ in pairs], [kinds for _, kinds in pairs], sum(c for _, c in starts), query_cut)

    def _start(self, text: str, most: int) -> tuple[list[int], bool]:
        """The first `most` tokens of a text, and whether it has more. Of a very long one only the start is read."""
        text = clean(text)
        head = text[: CHARACTERS_PER_TOKEN * (most + 1)]
        ids = self._ids(head)
        if len(ids) <= most and len(head) < len(text):
            ids = self._ids(text)
        return ids[:most], len(ids) > most

    def _ids(self, text: str) -> list[int]:
        return list(self._fast.encode(text, add_special_tokens=False).ids)

    def _framed(self, query: list[int], passage: list[int]) -> tuple[list[int], list[int]]:
        frame = self._frame
        ids = [*frame.before[0], *query, *frame.between[0], *passage, *frame.after[0]]
        texts = [frame.query] * len(query), [frame.passage] * len(passage)
        return ids, [*frame.before[1], *texts[0], *frame.between[1], *texts[1], *frame.after[1]]


def _frame(fast: FastTokenizer) -> _Frame:
    """What the tokenizer adds to a pair, found by tokenising one. Raises ValueError if the texts are not in it."""
    pair: Encoding = fast.encode(*PROBE)
    places = [[at for at, sequence in enumerate(pair.sequence_ids) if sequence == which] for which in (0, 1)]
    if not all(places) or places[0][-1] > places[1][0]:
        raise ValueError("it has no form for a pair of texts")
    (first, end), (second, last) = ((each[0], each[-1] + 1) for each in places)

    def cut(start: int, stop: int | None) -> tuple[list[int], list[int]]:
        return list(pair.ids[start:stop]), list(pair.type_ids[start:stop])

    return _Frame(cut(0, first), cut(end, second), cut(last, None), pair.type_ids[first], pair.type_ids[second])
