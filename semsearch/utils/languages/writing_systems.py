r"""Unicode ranges of the scripts that are written without spaces, for use inside a regular expression's [ ].

Source: the Unicode Character Database, Blocks.txt. Named parts first; each set is a union of them.
"""

from __future__ import annotations

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"
BOPOMOFO = "\u3100-\u312f\u31a0-\u31bf"
HANGUL = "\u3130-\u318f\uac00-\ud7a3\uffa0-\uffdc"  # syllables and single letters
HANGUL_JAMO = "\u1100-\u11ff\ua960-\ua97f\ud7a4-\ud7ff"  # they combine: several make one syllable
SOUTHEAST_ASIAN = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao; Burmese; Khmer: vowel signs combine
EAST_ASIAN_SYMBOLS = "\u2e80-\u303f\u3190-\u319f\u31c0-\u31ef\u3200-\u33ff\u4dc0-\u4dff\uff00-\uff65\uffdd-\uffef"

# A character is about a word. Korean is left out: it has spaces between words.
IDEOGRAPHIC = HAN + KANA + BOPOMOFO
# Text can be cut before and after each character.
EAST_ASIAN = IDEOGRAPHIC + HANGUL
# No spaces between words.
UNSPACED = IDEOGRAPHIC + SOUTHEAST_ASIAN
# What lexical search finds by trigrams: unspaced scripts, and Korean, which glues particles to its words. Part of the
# index format: a passage with one of these letters has a row in passages_cjk and 1 in its column `cjk`.
CJK = UNSPACED + HANGUL + HANGUL_JAMO
