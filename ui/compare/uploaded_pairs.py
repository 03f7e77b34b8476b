"""Pairs of sentences that a person pastes or uploads, in memory, so that a reload of the page finds them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from ..shared import pairs
from ..shared.messages import count, plain
from ..shared.pairs import Pair

MOST_SETS = 8
NAME = "set"  # of the pairs, in the URL
EXAMPLE = """sentence1,sentence2,score
A plane is taking off.,An air plane is taking off.,5
A man is playing a large flute.,A man is playing a flute.,3.8"""
BOX, FILE = "pairs", "file"


K = TypeVar("K")
V = TypeVar("V")


class RecentDict(OrderedDict[K, V]):
    """A dict of at most `size` items: setting one makes it the newest, and the oldest goes.

    >>> recent = RecentDict[str, int](2)
    >>> recent["a"], recent["b"], recent["a"], recent["c"] = 1, 2, 3, 4
    >>> dict(recent)
    {'a': 3, 'c': 4}
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.size:
            self.popitem(last=False)


@dataclass(frozen=True, slots=True)
class PairSet:
    """Pairs, the text or the name of the file that they are from, and a digest of both."""

    digest: str
    pairs: tuple[Pair, ...]
    text: str = ""
    file: str = ""


def current() -> PairSet | None:
    """The pairs of the file, else of the box, else of the URL. Raises SemsearchError where they cannot be read."""
    before = _sets().get(str(st.query_params.get(NAME) or st.session_state.get(NAME, "")))
    if before and not before.file:
        st.session_state.setdefault(BOX, before.text)
    left, right = st.columns([3, 2])
    hint = (
        "CSV, tab-separated or JSON lines: sentence1, sentence2 and, optionally, a human score on any scale. A heading "
        "is optional. Ctrl+Enter compares them."
    )
    text = left.text_area("Pairs, one per line", None, 168, None, BOX, hint, _forget, placeholder=EXAMPLE) or ""
    file = right.file_uploader("… or a file", pairs.SUFFIXES, key=FILE, on_change=_forget)
    right.caption("An uploaded file replaces the text. It is read here and stays in memory only.")
    if file is not None:
        return _read(file.getvalue(), file.name)
    if text.strip():
        return _read(text.encode(errors="replace"), "")
    if before and before.file:
        row = right.container(horizontal=True, vertical_alignment="center")
        row.markdown(f"**{plain(before.file)}**, {count(len(before.pairs), 'pair')}", width="stretch")
        row.button("Discard", on_click=_forget, help="Forget these pairs.")
        return _remember(before)
    return None


def _read(content: bytes, file: str) -> PairSet | None:
    digest = hashlib.sha256(file.encode() + b"\0" + content).hexdigest()[:12]
    found = _sets().get(digest)
    if found is None:
        text = pairs.decoded(content)
        found = PairSet(digest, tuple(pairs.read(text)), "" if file else text, file)
    return _remember(found) if found.pairs else None


def _remember(found: PairSet) -> PairSet:
    _sets()[found.digest] = found
    st.query_params[NAME] = st.session_state[NAME] = found.digest
    return found


def _forget() -> None:
    """Drop the set from the URL: other pairs take its place, or none."""
    st.query_params.pop(NAME, None)
    st.session_state.pop(NAME, None)


@st.cache_resource(show_spinner=False)
def _sets() -> RecentDict[str, PairSet]:
    return RecentDict(MOST_SETS)
