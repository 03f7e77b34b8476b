"""Tokenization of texts under a prompt. Long sentences are truncated and counted; prompts are never truncated.

User input is always plain text: "[MASK]" in a sentence is a bracket, a word and a bracket.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from tokenizers import Tokenizer as FastTokenizer

from semsearch.errors import UsageError
from semsearch.prompts import MARKS, PLACEHOLDER, Prompt, biases
from semsearch.types import TruncationStats

CHARACTERS_PER_TOKEN = 16  # in the part of a very long text that is tokenised first; English has 4 to 5
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
MARGIN = 128  # tokens near the end of that part that the split may have changed: a word has at most 100 pieces
Part = Literal["prompt", "sentence", "both"]
PROMPT: Part = "prompt"


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """The token ids of a prompt around an empty sentence, special tokens included.

    `mask` and `pad` are the ids of [MASK] and [PAD], -1 if there is none; `lead` and `trail` are the numbers of special
    tokens before and after every text. `place` is that of the placeholder in `before`, -1 if there is none.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    mask: int = -1
    pad: int = -1
    lead: int = 0
    trail: int = 0
    place: int = -1

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


class Tokenizer:
    """A tokenizer.json with the encoder's longest input in tokens, special tokens included.

    `tokens` names the tokenizer's own mask, sep, cls and pad. A prompt with special tokens is split at them and its
    pieces tokenised separately, so that no text in the sentence is read as a special token.
    """

    def __init__(self, definition: Path | str, max_tokens: int, tokens: Mapping[str, str] | None = None) -> None:
        """`definition` is the file, or its content."""
        content = definition if isinstance(definition, str) else definition.read_text(encoding="utf-8")
        fast = FastTokenizer.from_str(content)
        fast.no_truncation()
        fast.no_padding()
        fast.encode_special_tokens = True  # "[SEP]" typed by a user must not end the sentence
        self._fast = fast
        self.max_tokens = max_tokens
        self.tokens = dict(tokens or {})
        self.truncation = TruncationStats()
        self._lead, self._trail = _surroundings(fast)
        self._strips = {each.content: (each.lstrip, each.rstrip) for each in fast.get_added_tokens_decoder().values()}
        self._split = lru_cache(64)(self._split_prompt)

    def ids(self, texts: Sequence[str], prompt: Prompt) -> list[list[int]]:
        """Token ids of before + sentence + after, at most max_tokens each; `truncation` counts the rest.

        A text without tokens becomes one [PAD], since no network runs on an empty row.
        """
        plain = [self._rewritten(clean(text), prompt) for text in texts]
        sides = [self._split(prompt.before, ending + prompt.after) for _, ending in plain]
        heads = [text[: CHARACTERS_PER_TOKEN * self.max_tokens] for text, _ in plain]
        rows = self._fast.encode_batch_fast(
            [side.around(head)[0] for side, head in zip(sides, heads, strict=True)], add_special_tokens=False
        )
        return [
            [*side.before, *row.ids, *side.after] or [max(0, self._id("pad"))]
            if len(row.ids) + len(side) <= self.max_tokens and len(head) == len(text)
            else self._cut(text, len(head), side)
            for (text, _), side, head, row in zip(plain, sides, heads, rows, strict=True)
        ]

    def frame(self, prompt: Prompt) -> PromptTokens:
        """The ids of the prompt alone. Raises UsageError if the tokenizer lacks a special token of the prompt.

        A space before the sentence counts as part of the sentence's first token.
        """
        side = self._split(prompt.before, prompt.after)
        texts = (side.left.rstrip(), side.right)
        left, right = (self._fast.encode(text, add_special_tokens=False).ids if text else [] for text in texts)
        before, after = (*side.before, *left), (*right, *side.after)
        marks = {name: self._id(name) for name in ("mask", "pad")}
        lead, place = len(self._lead), -1
        if PLACEHOLDER in prompt.before:
            pieces = _pieces(prompt.before)
            place = lead + len(self._fixed(pieces[: pieces.index(PLACEHOLDER)]))
        return PromptTokens(before, after, lead=lead, trail=len(self._trail), place=place, **marks)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text alone, without prompt and special tokens."""
        plain = [clean(text) for text in texts]
        return [len(e.ids) for e in self._fast.encode_batch_fast(plain, add_special_tokens=False)]

    def spelled(self, token: int) -> str:
        """The text of a token; "##" marks a token that continues a word, and ␣ stands for white space."""
        return str(self._fast.decode([token], skip_special_tokens=False)).strip() or "␣"

    def has(self, name: str) -> bool:
        """Whether the tokenizer has the special token `name`: mask, sep, cls or pad."""
        return self._id(name) >= 0

    def parts(self, text: str, prompt: Prompt) -> list[tuple[str, Part]]:
        """Each token of before + sentence + after without truncation, and its origin.

        An ending that the prompt's rules append to the sentence counts as prompt.
        """
        body, ending = self._rewritten(clean(text), prompt)
        side = self._split(prompt.before, ending + prompt.after)
        joined, start, end = side.around(body)
        encoding = self._fast.encode(joined, add_special_tokens=False)
        pieces = zip(encoding.tokens, encoding.offsets, strict=True)
        inner = [(token, _origin(joined, *offsets, start, end)) for token, offsets in pieces]
        outer = [[(str(self._fast.id_to_token(each)), PROMPT) for each in ids] for ids in (side.before, side.after)]
        return [*outer[0], *inner, *outer[1]]

    def _rewritten(self, text: str, prompt: Prompt) -> tuple[str, str]:
        body, ending = prompt.sentence(text)
        if not prompt.remove:
            return body, ending
        return (left, ending) if (left := biases.removed(body, self._fast, prompt.remove)) else ("", "[PAD]")

    def _cut(self, text: str, size: int, side: _Sides) -> list[int]:
        """The ids of a long text, from its first `size` characters, or more if those are too few."""
        head = text[:size]
        joined, start, end = side.around(head)
        encoding = self._fast.encode(joined, add_special_tokens=False)
        over = len(encoding.ids) + len(side) - self.max_tokens
        if size < len(text) and over < MARGIN:
            return self._cut(text, 2 * size, side)
        if over <= 0:
            return [*side.before, *encoding.ids, *side.after]
        slot = [at for at, (first, last) in enumerate(encoding.offsets) if start <= first < last <= end]
        if over > len(slot):
            raise UsageError(
                f"the prompt alone has {len(encoding.ids) + len(side) - len(slot)} tokens, and the longest input is "
                f"{self.max_tokens}.",
                "Use a shorter template.",
            )
        dropped = set(slot[len(slot) - over :])
        self.truncation.passages += 1
        self.truncation.tokens += over + len(text[size:].split())
        remaining = [token for at, token in enumerate(encoding.ids) if at not in dropped]
        return [*side.before, *remaining, *side.after]

    def _split_prompt(self, before: str, after: str) -> _Sides:
        """The prompt, split at its special tokens: ids away from the sentence, text next to it."""
        *early, left = _pieces(before)
        right, *late = _pieces(after)
        left, right = self._stripped(left, early[-1:], 1), self._stripped(right, late[:1], 0)
        taken = self._takes(early[-1:], 1), self._takes(late[:1], 0)
        return _Sides((*self._lead, *self._fixed(early)), left, right, (*self._fixed(late), *self._trail), taken)

    def _fixed(self, pieces: Sequence[str]) -> list[int]:
        """Ids of text and special tokens; white space beside a token that strips it is removed."""
        ids: list[int] = []
        for at, piece in enumerate(pieces):
            if piece in MARKS:
                ids.append(self._needed(piece))
                continue
            if piece == PLACEHOLDER:
                ids.append(0)  # any token: the method replaces its vector
                continue
            text = self._stripped(self._stripped(piece, pieces[at + 1 : at + 2], 0), pieces[max(0, at - 1) : at], 1)
            ids += self._fast.encode(text, add_special_tokens=False).ids
        return ids

    def _stripped(self, text: str, neighbour: Sequence[str], side: int) -> str:
        """`text` without the white space that a neighbouring token strips; side 0: it follows, 1: it precedes."""
        if not self._takes(neighbour, side):
            return text
        return text.rstrip(SPACES) if side == 0 else text.lstrip(SPACES)

    def _takes(self, neighbour: Sequence[str], side: int) -> bool:
        """Whether a neighbouring special token strips the white space between it and the text."""
        mark = neighbour[0] if neighbour else ""
        return mark in MARKS and self._strips.get(self.tokens.get(MARKS[mark], ""), (False, False))[side]

    def _id(self, name: str) -> int:
        number: int | None = self._fast.token_to_id(self.tokens.get(name, ""))
        return -1 if number is None else number

    def _needed(self, mark: str) -> int:
        if (number := self._id(MARKS[mark])) >= 0:
            return number
        raise UsageError(
            f"the prompt has a {mark}, and the tokenizer of this model has no such token.",
            "Use a model trained with masked tokens (BERT, RoBERTa), or a template without one.",
        )


@dataclass(frozen=True, slots=True)
class _Sides:
    """A prompt around a sentence: ids `before`, text `left` of the sentence, text `right` of it, ids `after`.

    `taken`: whether the tokens before and after the text strip white space at its ends.
    """

    before: tuple[int, ...]
    left: str
    right: str
    after: tuple[int, ...]
    taken: tuple[bool, bool]

    def __len__(self) -> int:
        """The number of tokens that do not depend on the sentence."""
        return len(self.before) + len(self.after)

    def around(self, sentence: str) -> tuple[str, int, int]:
        """The text to tokenise, and where in it the sentence begins and ends."""
        text, size = self.left + sentence + self.right, len(self.left)
        text = text.rstrip(SPACES) if self.taken[1] else text
        gone = len(text) - len(text.lstrip(SPACES)) if self.taken[0] else 0
        return text[gone:], max(0, size - gone), max(0, size + len(sentence) - gone)


def clean(text: str) -> str:
    """The text with lone surrogates, which no tokenizer accepts, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _pieces(text: str) -> list[str]:
    """A template split at its marks: text, mark, text, mark … text."""
    return re.split("(" + "|".join(re.escape(mark) for mark in (*MARKS, PLACEHOLDER)) + ")", text)


def _surroundings(fast: FastTokenizer) -> tuple[list[int], list[int]]:
    """The special tokens that the tokenizer adds before and after every text."""
    with_, alone = fast.encode("a").ids, fast.encode("a", add_special_tokens=False).ids
    start = next((at for at in range(len(with_)) if with_[at : at + len(alone)] == alone), 0)
    return with_[:start], with_[start + len(alone) :]


def _origin(text: str, first: int, last: int, start: int, end: int) -> Part:
    """The origin of text[first:last] if the sentence is text[start:end], without regard to a leading space."""
    if last <= start or first >= end:
        return PROMPT
    first += len(text[first:last]) - len(text[first:last].lstrip())
    return "sentence" if first >= start and last <= end else "both"
