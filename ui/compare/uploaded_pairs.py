"""Pairs of sentences that a person pastes or uploads. They stay in memory, so that a reload of the page finds them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st

from ..shared import pairs, pool
from ..shared.pairs import Pair

KEPT = 8  # sets of pairs
NAME = "set"  # of the pairs, in the URL
EXAMPLE = """sentence1,sentence2,score
A plane is taking off.,An air plane is taking off.,5
A man is playing a large flute.,A man is playing a flute.,3.8"""
BOX, FILE = "pairs", "file"


@dataclass(frozen=True, slots=True)
class Given:
    """Pairs, the text or the name of the file that they came in, and what tells them from others."""

    digest: str
    pairs: tuple[Pair, ...]
    text: str = ""
    file: str = ""


def asked() -> Given | None:
    """The pairs of the file, or else of the box, or else those of the URL. Raises SemsearchError for what are none."""
    before = _kept().get(str(st.query_params.get(NAME) or st.session_state.get(NAME, "")))
    if before and not before.file:
        st.session_state.setdefault(BOX, before.text)
    left, right = st.columns([3, 2])
    text = left.text_area(
        "Pairs, one a line", key=BOX, height=168, placeholder=EXAMPLE, on_change=_forget,
        help="CSV, tab-separated or JSON lines: sentence1, sentence2 and, if people gave one, a score on any scale. "
        "A heading is optional. Ctrl+Enter compares them.",
    )  # fmt: skip
    file = right.file_uploader(
        "… or a file", type=["csv", "tsv", "txt", "jsonl", "ndjson"], key=FILE, on_change=_forget
    )
    right.caption("A file goes before what is in the box. It is read here and kept in memory alone.")
    if file is not None:
        return _given(file.getvalue(), file.name)
    if (text or "").strip():
        return _given((text or "").encode(errors="replace"), "")
    if before and before.file:
        row = right.container(horizontal=True, vertical_alignment="center")
        row.markdown(f"**{pool.plain(before.file)}**, {len(before.pairs):,} pairs", width="stretch")
        row.button("Put away", on_click=_forget, help="Forget these pairs.")
        return _remembered(before)
    return None


def _given(content: bytes, file: str) -> Given | None:
    digest = hashlib.sha256(file.encode() + b"\0" + content).hexdigest()[:12]
    known = _kept().get(digest)
    if known is None:
        text = pairs.decoded(content)
        known = Given(digest, tuple(pairs.read(text)), "" if file else text, file)
    return _remembered(known) if known.pairs else None


def _remembered(given: Given) -> Given:
    kept = _kept()
    kept.pop(given.digest, None)
    kept[given.digest] = given
    while len(kept) > KEPT:
        kept.pop(next(iter(kept)), None)
    st.query_params[NAME] = st.session_state[NAME] = given.digest
    return given


def _forget() -> None:
    """What was there before is no longer asked for: other pairs are, or none."""
    st.query_params.pop(NAME, None)
    st.session_state.pop(NAME, None)


@st.cache_resource(show_spinner=False)
def _kept() -> dict[str, Given]:
    return {}
