"""Which encoders are compared. One that cannot be loaded is an error of its own; the others stand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st

from semsearch import Encoder, SemsearchError

from . import held

BUILT_IN = ("default", "cot-minilm", "hashing")
MOST = 6
FETCHED = "hf:"
CONSENT = "encoders to fetch"
URL: Any = "query-params"
LOG = logging.getLogger(__name__)
T = TypeVar("T")


def chosen() -> list[str]:
    """The names that a person chose."""
    names = st.multiselect(
        "Encoders", BUILT_IN, default=["default", "cot-minilm"], key="m", bind=URL, accept_new_options=True,
        placeholder="A name, a folder, or FOLDER#TEMPLATE",
        help="Besides these: the folder of a model, or MODEL#TEMPLATE, such as ~/bert#cot-bert. Press Enter after it.",
    )  # fmt: skip
    wanted = [name.strip() for name in dict.fromkeys(names) if name.strip()]
    if len(wanted) > MOST:
        st.warning(f"The first {MOST} are compared. Take some away to see the others.", icon=":material/warning:")
    if not wanted:
        st.info("Choose an encoder.", icon=":material/info:")
    return wanted[:MOST]


def loaded(names: Sequence[str]) -> dict[str, Encoder]:
    """Those that load, by the name that was given."""
    found = {}
    for name in names:
        with told(name):
            if _here(name):
                found[name] = held.encoder(name)
    return found


def each(encoders: dict[str, Encoder], measure: Callable[[Encoder], T]) -> Iterator[tuple[str, T]]:
    """What `measure` finds, encoder by encoder; one that fails says so and is left out."""
    for name, encoder in encoders.items():
        with told(name):
            yield name, measure(encoder)


@contextmanager
def told(name: str) -> Iterator[None]:
    """Any error of an encoder as a sentence."""
    try:
        yield
    except SemsearchError as error:
        st.error(held.plain(f"{short(name)}: {error.message} {error.fix}".strip()), icon=":material/error:")
    except Exception as error:  # a broken file can fail in any library that reads it
        LOG.exception("the encoder %r failed", name)
        said = f"{short(name)} does not work: {type(error).__name__}. Check its files, or choose another one."
        st.error(held.plain(said), icon=":material/error:")


def _here(name: str) -> bool:
    """Whether nothing has to be fetched, or a person said yes to it: a link alone must not start a download."""
    model = name.partition("#")[0].strip()
    entry = {} if model in BUILT_IN else next((one for one in Encoder.catalogue() if one["name"] == model), {})
    if entry.get("local", not model.startswith(FETCHED)):
        return True
    allowed: set[str] = st.session_state.setdefault(CONSENT, set())
    if name in allowed:
        return True
    size = f" ({entry['size']})" if entry.get("size") else ""
    row = st.container(horizontal=True, vertical_alignment="center")
    row.caption(held.plain(f"{name}{size} is fetched from the Hugging Face hub where it is not on this machine."))
    row.button("Fetch and use it", key=f"fetch {name}", on_click=allowed.add, args=(name,))
    return False


def short(name: str) -> str:
    """The end of a long name: a folder's path says less than its last part.

    >>> short("/models/bert/#cot-bert")
    'bert#cot-bert'
    """
    model, mark, template = name.partition("#")
    found = (model.rstrip("/").rpartition("/")[2] or model) + mark + template
    return found if len(found) <= 44 else "…" + found[-43:]
