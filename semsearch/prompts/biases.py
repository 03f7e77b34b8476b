"""Bias removal for static token embeddings: frequent tokens, pieces of words, punctuation, capitals.

Source: PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, table 3, and table 11 for the tokens. Cased
BERT uses the tokens of the uncased one, as published; RoBERTa's comma is written as in the table.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tokenizers import Tokenizer as FastTokenizer

from semsearch.errors import UnknownName
from semsearch.prompts.prompt import BIASES

PIECE = "##"  # WordPiece: prefix of a token that continues a word
WORD = "Ġ"  # byte-level BPE: prefix of a token that begins a word
WORDPIECES = """. a the in , is to of and ' on man - s with for " at ##s woman are it two that you dog said playing i
an as was from : by white"""
BYTE_PIECES = """Ġ. Ġa Ġthe Ġin a Ġ, Ġis Ġto Ġof Ġand Ġon Ġ' s . the Ġman - Ġwith Ġfor Ġat Ġwoman Ġare Ġ" Ġthat Ġit Ġdog
Ġsaid Ġplaying Ġwas Ġas Ġfrom Ġ: Ġyou Ġan i Ġby"""
FREQUENT = {PIECE: frozenset(WORDPIECES.split()), WORD: frozenset(BYTE_PIECES.split())}


def removed(text: str, tokenizer: FastTokenizer, biases: Collection[str]) -> str:
    """The words of `text` that remain, separated by spaces; "" if none does. Raises UnknownName."""
    for name in biases:
        if name not in BIASES:
            raise UnknownName("bias", name, BIASES)
    tokens = tokenizer.encode(f" {text}", add_special_tokens=False).tokens
    byte_level = tokenizer.token_to_id(f"{WORD}the") is not None
    return " ".join(word for token in tokens if (word := _word(token, byte_level, biases)))


def _word(token: str, byte_level: bool, biases: Collection[str]) -> str:
    """The token as it is written in text, or "" if one of the biases removes it."""
    if "frequent" in biases and token in FREQUENT[WORD if byte_level else PIECE]:
        return ""
    if "subwords" in biases and (not token.startswith(WORD) if byte_level else token.startswith(PIECE)):
        return ""
    word = token.removeprefix(PIECE).replace(WORD, "")
    if "punctuation" in biases and (word == "[UNK]" or not re.search(r"[^\W_]", word)):
        return ""
    return word.lower() if "case" in biases else word
