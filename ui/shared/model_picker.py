"""Which encoders can be chosen, and whether they are on this machine: a link or a typed name starts no download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from semsearch import Encoder, templates

from . import jobs, pool
from .urls import URL

MODELS = "Models"  # whose jobs fetch and remove one
WRITE = "A name, a folder, or FOLDER#TEMPLATE"


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
        st.warning(f"The first {most} are taken. Put some away to see the others.", icon=":material/warning:")
    if not wanted:
        st.info("Choose an encoder.", icon=":material/info:")
    return wanted[:most]


def one(label: str, key: str, help_: str, **how: Any) -> str:
    """An encoder that a person chooses, if it is here; "" otherwise."""
    chosen = st.selectbox(
        label, offered(), index=None, key=key, bind=URL, accept_new_options=True, placeholder=WRITE, help=help_, **how
    )
    name = (chosen or "").strip()
    return name if name and here(name, key) else ""


def offered() -> list[str]:
    """Those that need no fetching: what comes with semsearch, what was fetched, and what was made on the pages."""
    known = [str(entry["name"]) for entry in Encoder.catalogue() if entry["local"]]
    return [
        *known,
        *(str(entry["path"]) for entry in Encoder.list_local(Encoder.models_dir()) if not entry.get("problem")),
    ]


def in_torch() -> dict[str, str]:
    """What can be trained on and exported, and how it is called: own encoders of PyTorch, then those of the hub."""
    own = {each["path"]: f"{each['name']} (yours)" for each in Encoder.list_local(Encoder.models_dir())
           if each.get("runs") == "torch"}  # fmt: skip
    hub = [each for each in Encoder.catalogue() if "hub" in each]
    return own | {
        each["name"]: each["name"] if each["local"] else f"{each['name']} ({each['size']} are fetched first)"
        for each in hub
    }


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


def here(name: str, place: str = "") -> bool:
    """Whether nothing has to be fetched for it; where something has, a person is asked, once in each `place`."""
    model = name.partition("#")[0].strip()
    if Encoder.is_local(model):
        return True
    entry = next((one for one in Encoder.catalogue() if one["name"] == model), {})
    size = f" ({entry['size']})" if entry.get("size") else ""
    row = st.container(horizontal=True, vertical_alignment="center")
    if jobs.busy((MODELS, model)):
        row.caption(pool.plain(f"{name}{size} is being fetched; it is used as soon as it is here."))
        return False
    row.caption(pool.plain(f"{name}{size} is not on this machine; it can be fetched from the Hugging Face hub."))
    row.button("Fetch and use it", key=f"fetch {place} {name}", on_click=_fetch, args=(model,))
    return False


def _fetch(model: str) -> None:
    def work(_: jobs.Told) -> jobs.Outcome:
        Encoder.pull(model)
        return jobs.Outcome("It is here.")

    jobs.begin((MODELS, model), f"Fetching {model}", work, stoppable=False)
