"""Which encoders are compared. One that cannot be loaded is an error of its own; the others stand."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st

from semsearch import Encoder, SemsearchError, templates

from . import held, jobs

BUILT_IN = ("default", "cot-minilm", "hashing")
MOST = 6
MODELS = "Models"  # whose jobs fetch one
WRITE = "A name, a folder, or FOLDER#TEMPLATE"
URL: Any = "query-params"
LOG = logging.getLogger(__name__)
T = TypeVar("T")


def chosen() -> list[str]:
    """The names that a person chose."""
    return several("Encoders", "m", ("default", "cot-minilm"), most=MOST)


def several(label: str, key: str, default: Sequence[str], *, most: int) -> list[str]:
    """Encoders that a person chooses, and the URL keeps under `key`: of those on this machine, or any that is named."""
    left, right = st.columns((4, 1), vertical_alignment="bottom")
    names = left.multiselect(
        label, offered(), default=list(default), key=key, bind=URL, accept_new_options=True, placeholder=WRITE,
        help="Besides these: the folder of a model, a name of the page Indexes & models, or MODEL#TEMPLATE, such as "
        "~/bert#cot-bert. Press Enter after it.",
    )  # fmt: skip
    with right.popover("Template", icon=":material/add:", width="stretch", help="Add a model under a template."):
        _under_a_template(key)
    wanted = [name.strip() for name in dict.fromkeys(names) if name.strip()]
    if len(wanted) > most:
        st.warning(f"The first {most} are compared. Take some away to see the others.", icon=":material/warning:")
    if not wanted:
        st.info("Choose an encoder.", icon=":material/info:")
    return wanted[:most]


def offered() -> list[str]:
    """Those that need no fetching: what comes with semsearch, what was fetched, and what was made on the pages."""
    fetched = [str(entry["name"]) for entry in Encoder.catalogue() if entry["local"] and "hub" in entry]
    made = [str(entry["path"]) for entry in Encoder.saved(Encoder.home()) if not entry.get("problem")]
    return [*BUILT_IN, *fetched, *made]


def _under_a_template(key: str) -> None:
    """A model and a template by hand: the same model can stand beside itself."""
    known = [str(entry["name"]) for entry in Encoder.catalogue() if "hub" in entry]
    model = st.selectbox(
        "Model", known, index=None, key=f"{key} model", accept_new_options=True, placeholder="A folder, or a name",
        help="A BERT, a RoBERTa or a decoder that runs in Torch; an encoder that was trained or exported has its "
        "template built in.",
    )  # fmt: skip
    library = templates()
    template = st.selectbox(
        "Template", list(library), index=list(library).index("cot-bert"), key=f"{key} template",
        format_func=lambda name: f"{name} — {next(iter(library[name].text.values()))}",
    )  # fmt: skip
    name = f"{(model or '').strip()}#{template}"
    st.button("Add", key=f"{key} add", disabled=not model, on_click=_add, args=(key, name))


def _add(key: str, name: str) -> None:
    st.session_state[key] = [*(one for one in st.session_state[key] if one != name), name]


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
        st.error(held.plain(f"{short(name)}: {said(error)}"), icon=":material/error:")
    except Exception as error:  # a broken file can fail in any library that reads it
        LOG.exception("the encoder %r failed", name)
        why = f"{short(name)} does not work: {type(error).__name__}. Check its files, or choose another one."
        st.error(held.plain(why), icon=":material/error:")


def labels(names: Collection[str]) -> dict[str, str]:
    """A short name for each; the whole one where two have the same.

    >>> labels(["/models/a/onnx", "/models/b/onnx", "/models/bert"])
    {'/models/a/onnx': '/models/a/onnx', '/models/b/onnx': '/models/b/onnx', '/models/bert': 'bert'}
    """
    ends = [short(name) for name in names]
    return {name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)}


def said(error: SemsearchError) -> str:
    """An error with what to do on a page, where its own words are for the command line."""
    text = f"{error.message} {error.fix}".strip()
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


def _here(name: str) -> bool:
    """Whether nothing has to be fetched, or a person said yes to it: a link alone must not start a download."""
    model = name.partition("#")[0].strip()
    if Encoder.here(model):
        return True
    entry = next((one for one in Encoder.catalogue() if one["name"] == model), {})
    fetching = jobs.of((MODELS, model))
    size = f" ({entry['size']})" if entry.get("size") else ""
    row = st.container(horizontal=True, vertical_alignment="center")
    if fetching and fetching.state == "running":
        row.caption(held.plain(f"{name}{size} is being fetched; it is used as soon as it is here."))
        return False
    row.caption(held.plain(f"{name}{size} is not on this machine; it can be fetched from the Hugging Face hub."))
    row.button("Fetch and use it", key=f"fetch {name}", on_click=_fetch, args=(model,))
    return False


def _fetch(model: str) -> None:
    def work(_: jobs.Told) -> jobs.Outcome:
        Encoder.pull(model)
        return jobs.Outcome("It is here.")

    jobs.begin((MODELS, model), f"Fetching {model}", work, stoppable=False)


def short(name: str) -> str:
    """The end of a long name: a folder's path says less than its last part.

    >>> short("/models/bert/#cot-bert")
    'bert#cot-bert'
    """
    model, mark, template = name.partition("#")
    found = (model.rstrip("/").rpartition("/")[2] or model) + mark + template
    return found if len(found) <= 44 else "…" + found[-43:]
