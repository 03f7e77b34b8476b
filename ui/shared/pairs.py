"""Pairs of sentences: the public test sets, and pairs from a file or a text box."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

import streamlit as st

from semsearch import SemsearchError
from semsearch.evaluation import SentencePair as Pair
from semsearch.evaluation import read_pairs, sts_tasks

from . import messages

DATA = "SEMSEARCH_DATA"
MOST = 20_000
SUFFIXES = ("csv", "tsv", "txt", "jsonl", "ndjson")  # of files that are offered for upload


def public_sets(split: str) -> Sequence[str]:
    """The STS tasks on this machine that have this split; none, with a note on what to set, where no test set is."""
    try:
        return sts_tasks(split=split)
    except SemsearchError as error:
        why = f"{messages.capitalized(error.message)} The variable {DATA} names the folder of public test sets, in "
        said = f"{why}SentEval's layout (STS/ and SICK/). Set it, and start these pages again:"
        messages.info(said, icon="folder_off")
        st.code(f"{DATA}=~/senteval/data semsearch ui", language=None)
        return ()


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 as spreadsheets save it. Raises SemsearchError."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise SemsearchError(f"The file is not UTF-8 (byte {error.start}).", "Save it as UTF-8.") from None


def read(text: str) -> list[Pair]:
    """The pairs in a text, in order. Raises SemsearchError that names the line.

    >>> read("sentence1,sentence2,score\\nA car.,An auto.,4.5")
    [SentencePair(first='A car.', second='An auto.', gold=4.5)]
    """
    pairs = read_pairs(text)
    if len(pairs) > MOST:
        raise SemsearchError(f"There are more than {MOST:,} pairs.", "Use fewer, or: semsearch sts --pairs FILE")
    return pairs


def read_scored(text: str) -> list[Pair]:
    """The same, where every pair must have a score. Raises SemsearchError."""
    listed = read(text)
    if lacking := sum(pair.gold is None for pair in listed):
        raise SemsearchError(f"{lacking} of {len(listed)} pairs have no score.", "Write: sentence1, sentence2, score")
    return listed


def split(pairs: Sequence[Pair]) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Sentences and scores of pairs that all have a score, as the functions of semsearch take them."""
    return tuple((pair.first, pair.second) for pair in pairs), tuple(pair.gold or 0.0 for pair in pairs)
