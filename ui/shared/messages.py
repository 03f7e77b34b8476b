"""Texts of a page: notes, warnings and errors with icons, escaped for Markdown; numbers with their units."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import log10

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import SemsearchError
from semsearch.utils.untrusted import visible

LOG = logging.getLogger(__name__)
Place = DeltaGenerator | None  # where a message is drawn; None: where the page stands
MARKUP = frozenset("\\`*_{}[]()<>#+-.!|~:$&\"'^=@/")
# remark-gfm makes links of addresses even where their signs are escaped, unless a character stands within them.
ADDRESS = re.compile(r"(?:https?|www)(?=\\[:.])|\\@", re.IGNORECASE)
DATE = "The document's own date where it has one, else the day on which its file was last changed."
UNITS = ("B", "kB", "MB", "GB", "TB")
WORD_JOINER = "\u2060"  # has no width
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"  # Hebrew, Arabic …
LEFTWARD = re.compile(rf"[{_LEFTWARD}](?:(?:[{_LEFTWARD}\d]|[^\w\n])*[{_LEFTWARD}])?")
# The opening words of errors that are capitalized; a name in their place keeps its spelling.
OPENING = re.compile(r"(?:a|an|cannot|could|it|line|no|nothing|one|only|the|there|this|unknown)\b")


def plain(text: str) -> str:
    """A text that Streamlit's Markdown shows literally, as `escaped`.

    What is written from right to left stands apart, so that it does not turn the order of what surrounds it.
    """
    return LEFTWARD.sub("\u2067\\g<0>\u2069", escaped(text))


def escaped(text: str) -> str:
    """A text that Markdown shows literally: no emphasis, no link, no image, no HTML, no reversed text."""
    signs = "".join(f"\\{letter}" if letter in MARKUP else letter for letter in visible(text))
    return " ".join(ADDRESS.sub(rf"\g<0>{WORD_JOINER}", signs).split("\n"))


def one_line(text: str, most: int) -> str:
    """A text on one line of at most so many characters, cut at a word where one ends in its second half.

    >>> one_line("a\\nlong name", 20), one_line("a\\nlong name", 8)
    ('a long name', 'a long …')
    """
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    words = line[: most - 1].rpartition(" ")[0]
    return f"{words} …" if len(words) >= most // 2 else f"{line[: most - 1]}…"


def size(number: float) -> str:
    """A number of bytes.

    >>> size(0), size(999), size(1_500_000)
    ('0 B', '999 B', '1.5 MB')
    """
    power = min(int(log10(max(number, 1))) // 3, len(UNITS) - 1)
    return f"{number / 1000**power:.{min(power, 1)}f} {UNITS[power]}"


def info(*texts: str, icon: str = "info") -> None:
    """A note in plain text, each text on a line."""
    st.info("  \n".join(map(plain, texts)), icon=f":material/{icon}:")


def warning(*texts: str, place: Place = None) -> None:
    """A warning in plain text, each text on a line."""
    (place or st).warning("  \n".join(map(plain, texts)), icon=":material/warning:")


def error(text: str, place: Place = None) -> None:
    """An error in plain text."""
    (place or st).error(plain(capitalized(text)), icon=":material/error:")


def success(text: str, place: Place = None) -> None:
    """A success in plain text."""
    (place or st).success(plain(text), icon=":material/check:")


def caption(text: str, place: Place = None) -> None:
    """Small print in plain text."""
    (place or st).caption(plain(text))


def capitalized(text: str) -> str:
    """
    >>> capitalized("there is no index notes."), capitalized("notes is busy.")
    ('There is no index notes.', 'notes is busy.')
    """
    return text[:1].upper() + text[1:] if OPENING.match(text) else text


def sentence(error: BaseException, what: str = "It") -> str:
    """An error and what to do about it. For an unforeseen one its type, with `what` as subject; the rest is logged."""
    if isinstance(error, SemsearchError):
        return capitalized(str(error))
    if isinstance(error, OSError):
        return f"{what} failed on the disk: {error.strerror or error}. What was saved before is safe."
    LOG.error("%s failed", what, exc_info=error)
    return f"{what} failed: {type(error).__name__}. The log of the server has the details."


@contextmanager
def errors(show: Callable[[str], None] = error) -> Iterator[None]:
    """Show an error of semsearch in place of what the block draws, and continue with the rest of the page."""
    try:
        yield
    except SemsearchError as error:
        show(str(error))


def refuse(why: str) -> None:
    """Show on the next run of the page why a click did nothing."""
    st.session_state["refused"] = capitalized(why)


def note(done: str) -> None:
    """Show on the next run of the page what a click has done."""
    st.session_state["noted"] = done


refusing = partial(errors, refuse)  # the body of a click: an error ends it, and the next run of the page shows it


def outcome_of_click() -> None:
    """Show what the last click has done, or why it did nothing; once."""
    place = st.container()  # even where it is empty, or forms below it would close
    if why := st.session_state.pop("refused", ""):
        error(why, place)
    if done := st.session_state.pop("noted", ""):
        success(done, place)
