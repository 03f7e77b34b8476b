"""Pairs of sentences that a person pastes or uploads, in memory, so that a reload of the page finds them."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from semsearch.evaluation import SentencePair as Pair
from semsearch.utils.quantities import count

from ..shared import pairs
from ..shared.messages import plain

MOST_SETS = 8
NAME = "set"  # of the pairs, in the URL
EXAMPLE = """sentence1,sentence2,score
A plane is taking off.,An air plane is taking off.,5
A man is playing a large flute.,A man is playing a flute.,3.8"""
BOX = "pairs"


@dataclass(frozen=True, slots=True)
class PairSet:
    """Pairs, their text or the name of their file, and a digest of both."""

    digest: str
    pairs: tuple[Pair, ...]
    text: str = ""
    file: str = ""


def current() -> PairSet | None:
    """The pairs of the file, else of the box, else of the URL. Raises SemsearchError where they cannot be read."""
    before = None
    with suppress(KeyError):
        before = _set(str(st.query_params.get(NAME) or st.session_state.get(NAME, "")))
    if before and not before.file:
        st.session_state.setdefault(BOX, before.text)
    left, right = st.columns([3, 2])
    hint = (
        "CSV, tab-separated or JSON lines: sentence1, sentence2 and, optionally, a human score on any scale. A heading "
        "is optional. Ctrl+Enter compares them."
    )
    text = left.text_area("Pairs, one per line", None, 168, None, BOX, hint, _forget, placeholder=EXAMPLE) or ""
    file = right.file_uploader("… or a file", pairs.SUFFIXES, key="file", on_change=_forget)
    right.caption("An uploaded file replaces the text. It is read here and stays in memory only.")
    if file is not None:
        return _read(file.getvalue(), file.name)
    if text.strip():
        return _read(text.encode(errors="replace"), "")
    if before and before.file:
        row = right.container(horizontal=True, vertical_alignment="center")
        row.markdown(f"**{plain(before.file)}**, {count(len(before.pairs), 'pair')}", width="stretch")
        row.button("Discard", on_click=_forget, help="Forget these pairs.")
        return _in_url(before)
    return None


def _read(content: bytes, file: str) -> PairSet | None:
    digest = hashlib.sha256(file.encode() + b"\0" + content).hexdigest()[:12]
    try:
        pair_set = _set(digest)
    except KeyError:
        text = pairs.decoded(content)
        pair_set = PairSet(digest, tuple(pairs.read(text)), "" if file else text, file)
    return _in_url(_set(digest, pair_set)) if pair_set.pairs else None


@st.cache_resource(max_entries=MOST_SETS, show_spinner=False)
def _set(digest: str, _new: PairSet | None = None) -> PairSet:
    """The pairs with this digest, at first those that are `_new`. Raises KeyError where there are none."""
    if _new is None:
        raise KeyError(digest)
    return _new


def _in_url(pair_set: PairSet) -> PairSet:
    st.query_params[NAME] = st.session_state[NAME] = pair_set.digest
    return pair_set


def _forget() -> None:
    """Drop the set from the URL: other pairs take its place, or none."""
    st.query_params.pop(NAME, None)
    st.session_state.pop(NAME, None)
