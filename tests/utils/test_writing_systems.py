"""The sets of scripts and stop words, of which one is part of the index format."""

from __future__ import annotations

import re
import sys

from semsearch.utils.languages import stop_words, writing_systems

# The ranges that every index made so far was written with
STORED = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)


def members(ranges: str) -> set[str]:
    return set(re.findall(f"[{ranges}]", "".join(map(chr, range(sys.maxunicode + 1)))))


def test_the_letters_found_by_trigrams_are_those_of_every_existing_index() -> None:
    assert members(writing_systems.CJK) == members(STORED)


def test_each_script_is_in_the_sets_that_describe_it() -> None:
    expected = {"中": (1, 1, 1), "か": (1, 1, 1), "한": (0, 1, 0), "ไ": (0, 0, 1), "ខ": (0, 0, 1), "a": (0, 0, 0)}
    sets = [members(s) for s in (writing_systems.IDEOGRAPHIC, writing_systems.EAST_ASIAN, writing_systems.UNSPACED)]
    assert {letter: tuple(int(letter in each) for each in sets) for letter in expected} == expected


def test_larger_sets_of_stop_words_contain_the_smaller_ones() -> None:
    assert stop_words.QUERY < stop_words.ENGLISH < stop_words.MULTILINGUAL
    assert {"nicht", "avec", "muy", "della", "niet", "também"} <= stop_words.MULTILINGUAL
