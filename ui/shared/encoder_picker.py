"""Which encoders are compared. One that cannot be loaded is an error of its own; the others stand."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import streamlit as st

from semsearch import Encoder, SemsearchError

from . import model_picker, pool

MOST = 6
LOG = logging.getLogger(__name__)
T = TypeVar("T")


def chosen() -> list[str]:
    """The names that a person chose."""
    return model_picker.several("Encoders", "m", ("default", "cot-minilm"), most=MOST)


def loaded(names: Sequence[str]) -> dict[str, Encoder]:
    """Those that load, by the name that was given."""
    found = {}
    for name in names:
        with told(name):
            if model_picker.here(name):
                found[name] = pool.encoder(name)
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
        st.error(pool.plain(f"{short(name)}: {said(error)}"), icon=":material/error:")
    except Exception as error:  # a broken file can fail in any library that reads it
        LOG.exception("the encoder %r failed", name)
        why = f"{short(name)} does not work: {type(error).__name__}. Check its files, or choose another one."
        st.error(pool.plain(why), icon=":material/error:")


def labels(names: Collection[str]) -> dict[str, str]:
    """A short name for each; the whole one where two have the same.

    >>> labels(["/models/a/onnx", "/models/b/onnx", "/models/bert"])
    {'/models/a/onnx': '/models/a/onnx', '/models/b/onnx': '/models/b/onnx', '/models/bert': 'bert'}
    """
    ends = [short(name) for name in names]
    return {name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)}


def said(error: SemsearchError) -> str:
    """An error with what to do on a page, where its own words are for the command line."""
    text = str(error)
    for typed, seen in TYPED.items():
        text = re.sub(typed, seen, text)
    return text


TYPED = {
    r"semsearch models list": "the page Indexes & models",
    r"semsearch templates list( --kind \w+)?": "the page Templates",
    r"\bUse --template ": "Write MODEL#TEMPLATE with ",
    r"--template (\S+)": r"MODEL#\1",
    r"Fetch it once without --offline: semsearch models pull \S+": "Fetch it while the network is there",
}


def short(name: str) -> str:
    """The end of a long name: a folder's path says less than its last part.

    >>> short("/models/bert/#cot-bert")
    'bert#cot-bert'
    """
    model, mark, template = name.partition("#")
    found = (model.rstrip("/").rpartition("/")[2] or model) + mark + template
    return found if len(found) <= 44 else "…" + found[-43:]
