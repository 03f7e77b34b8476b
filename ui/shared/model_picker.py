"""The encoders that can be chosen, and whether they are on this machine: a link or a typed name downloads nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from semsearch import Encoder
from semsearch.prompts import templates

from . import jobs, messages, widgets
from .messages import plain
from .urls import URL

MODELS = "Models"  # the key of jobs that fetch and remove one
WRITE = "A name, a folder, or FOLDER#TEMPLATE"


def several(label: str, key: str, default: Sequence[str], *, most: int) -> list[str]:
    """Encoders that a person chooses, under `key` in the URL: local ones, or any that is named."""
    left, right = st.columns((4, 1), vertical_alignment="bottom")
    names = left.multiselect(
        label,
        local_names(),
        default=list(default),
        key=key,
        bind=URL,
        accept_new_options=True,
        placeholder=WRITE,
        help="Or the folder of a model, a name from the page Indexes & models, or MODEL#TEMPLATE, such as "
        "~/bert#cot-bert. Press Enter after it.",
    )
    hint = "Add a model with a template."
    with right.popover("Template", icon=":material/add:", width="stretch", help=hint):
        _add_with_template(key)
    wanted = [name.strip() for name in dict.fromkeys(names) if name.strip()]
    if len(wanted) > most:
        messages.warning(f"Only the first {most} are used. Remove some to see the others.")
    if not wanted:
        messages.info("Choose an encoder.")
    return wanted[:most]


def one(label: str, key: str, hint: str, on_change: Callable[[], None] | None = None) -> str:
    """An encoder that a person chooses, if it is local; "" otherwise."""
    options = local_names()
    chosen = st.selectbox(
        label,
        options,
        None,
        help=hint,
        key=key,
        bind=URL,
        accept_new_options=True,
        placeholder=WRITE,
        on_change=on_change,
    )
    name = (chosen or "").strip()
    return name if name and is_local(name, key) else ""


def local_names() -> list[str]:
    """Encoders that need no download: part of semsearch, fetched before, trained or exported here."""
    names = [str(entry["name"]) for entry in Encoder.catalogue() if entry["local"]]
    return [
        *names,
        *(str(entry["path"]) for entry in Encoder.list_local(Encoder.models_dir()) if not entry.get("problem")),
    ]


def torch_models() -> dict[str, str]:
    """What can be trained and exported, with labels: PyTorch encoders made here, then those of the hub."""
    own = Encoder.list_local(Encoder.models_dir())
    labels = {each["path"]: f"{each['name']} (yours)" for each in own if each.get("runs") == "torch"}
    return labels | {each["name"]: with_download(each) for each in Encoder.catalogue() if "hub" in each}


def with_download(entry: dict[str, str]) -> str:
    """The name of a catalogue entry, with the size of its download where it is not local."""
    return entry["name"] if entry["local"] else f"{entry['name']} (downloads {entry['size']} first)"


def _add_with_template(key: str) -> None:
    """A model and a template by hand: the same model can be compared with itself."""
    hub = [str(entry["name"]) for entry in Encoder.catalogue() if "hub" in entry]
    hint = (
        "A BERT, a RoBERTa or a decoder in PyTorch; an encoder that was trained or exported has its template built in."
    )
    place = f"{key} model"
    model = st.selectbox(
        "Model", hub, None, help=hint, key=place, accept_new_options=True, placeholder="Folder or name"
    )
    library = templates()
    template = st.selectbox(
        "Template",
        list(library),
        index=list(library).index("cot-bert"),
        key=f"{key} template",
        format_func=lambda name: f"{name} — {next(iter(library[name].text.values()))}",
    )
    name = f"{(model or '').strip()}#{template}"
    st.button("Add", key=f"{key} add", disabled=not model, on_click=_add, args=(key, name))


def _add(key: str, name: str) -> None:
    st.session_state[key] = [*(each for each in st.session_state[key] if each != name), name]


def is_local(name: str, place: str = "") -> bool:
    """Whether it needs no download; where it does, a button offers it, once in each `place`."""
    model = name.partition("#")[0].strip()
    if Encoder.is_local(model):
        return True
    entry = next((each for each in Encoder.catalogue() if each["name"] == model), {})
    size = f" ({entry['size']})" if entry.get("size") else ""
    row = widgets.row()
    if jobs.busy((MODELS, model)):
        row.caption(plain(f"{name}{size} is being downloaded and will be used as soon as it is complete."))
        return False
    row.caption(plain(f"{name}{size} is not on this machine; it can be downloaded from the Hugging Face hub."))
    row.button("Download and use it", key=f"fetch {place} {name}", on_click=_fetch, args=(model,))
    return False


def _fetch(model: str) -> None:
    def work(_: jobs.Report) -> jobs.Outcome:
        Encoder.pull(model)
        return jobs.Outcome("Downloaded.")

    jobs.begin((MODELS, model), f"Downloading {model}", work, stoppable=False)
