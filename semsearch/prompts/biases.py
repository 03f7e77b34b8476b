"""What static token embeddings are freed of: frequent tokens, pieces of words, punctuation, capitals.

Source: PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, table 3, and table 11 for the tokens. The
tokens of cased BERT are taken for those of the uncased one, as published; RoBERTa's comma is written as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tokenizers import Tokenizer as FastTokenizer

from semsearch.errors import UnknownName
from semsearch.prompts.prompt import BIASES

PIECE = "##"  # WordPiece: a token that goes on with a word
WORD = "Ġ"  # byte-level BPE: a token that begins one
WORDPIECES = """. a the in , is to of and ' on man - s with for " at ##s woman are it two that you dog said playing i
an as was from : by white"""
BYTE_PIECES = """Ġ. Ġa Ġthe Ġin a Ġ, Ġis Ġto Ġof Ġand Ġon Ġ' s . the Ġman - Ġwith Ġfor Ġat Ġwoman Ġare Ġ" Ġthat Ġit Ġdog
Ġsaid Ġplaying Ġwas Ġas Ġfrom Ġ: Ġyou Ġan i Ġby"""
FREQUENT = {PIECE: frozenset(WORDPIECES.split()), WORD: frozenset(BYTE_PIECES.split())}
SPELLED = re.compile(r"[^\W_]")


def removed(text: str, tokenizer: FastTokenizer, biases: Collection[str]) -> str:
    """What is left of `text` as words with a space between them; "" where nothing is. Raises UnknownName."""
    for name in biases:
        if name not in BIASES:
            raise UnknownName("bias", name, BIASES)
    tokens = tokenizer.encode(f" {text}", add_special_tokens=False).tokens
    kept = [word for token in tokens if (word := _kept(token, tokenizer, biases))]
    return " ".join(kept)


def _kept(token: str, tokenizer: FastTokenizer, biases: Collection[str]) -> str:
    """The token as it is written in text, or "" where one of the biases takes it away."""
    bytes_level = tokenizer.token_to_id(f"{WORD}the") is not None
    if "frequent" in biases and token in FREQUENT[WORD if bytes_level else PIECE]:
        return ""
    if "subwords" in biases and (not token.startswith(WORD) if bytes_level else token.startswith(PIECE)):
        return ""
    word = token.removeprefix(PIECE).replace(WORD, "")
    if "punctuation" in biases and (not SPELLED.search(word) or word == "[UNK]"):
        return ""
    return word.lower() if "case" in biases else word
