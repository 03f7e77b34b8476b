"""The encoders that a page compares or measures: how they are chosen, loaded, named and shown.

A link or a typed name downloads nothing: what is not on this machine is offered for download. One that cannot be loaded
shows an error of its own; the others stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Encoder, SemsearchError
from semsearch.prompts import templates

from . import jobs, messages, pool, widgets
from .widgets import URL

MODELS = "Models"  # the key of jobs that fetch and remove one
WRITE = "A name, a folder, or FOLDER#TEMPLATE"
T = TypeVar("T")
ON_A_PAGE = {  # what an error says for the command line, and how it reads on a page
    r"semsearch models list": "the page Indexes & models",
    r"semsearch templates list( --kind \w+)?": "the page Templates",
    r"\bUse --template ": "Write MODEL#TEMPLATE with ",
    r"--template (\S+)": r"MODEL#\1",
    r"Fetch it once without --offline: semsearch models pull \S+": "Fetch it while the network is there",
}


def several(key: str, most: int) -> list[str]:
    """Encoders that a person chooses, under `key` in the URL: local ones, or any that is named."""
    left, right = st.columns((4, 1), vertical_alignment="bottom")
    names = left.multiselect(
        "Encoders",
        local_names(),
        default=["default", "cot-minilm"],
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
    name = box(label, local_names(), key, hint, bind=URL, on_change=on_change)
    return name if name and is_local(name, key) else ""


def box(
    label: str,
    names: Sequence[str] | Mapping[str, str],
    key: str,
    hint: str,
    *,
    place: DeltaGenerator | None = None,
    at: int | None = None,
    empty: str = WRITE,
    bind: Any = None,
    on_change: Callable[[], None] | None = None,
) -> str:
    """An encoder chosen from `names` or typed, at first the one at `at`; "" for none. A mapping gives labels."""
    labels = names if isinstance(names, Mapping) else {}
    chosen = (place or st).selectbox(
        label,
        list(names),
        at,
        format_func=lambda name: labels.get(name, name),
        key=key,
        help=hint,
        on_change=on_change,
        placeholder=empty,
        accept_new_options=True,
        bind=bind,
    )
    return (chosen or "").strip()


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
    model = box("Model", hub, f"{key} model", hint, empty="Folder or name")
    library = templates()
    template = st.selectbox(
        "Template",
        list(library),
        index=list(library).index("cot-bert"),
        key=f"{key} template",
        format_func=lambda name: f"{name} — {next(iter(library[name].text.values()))}",
    )
    st.button("Add", key=f"{key} add", disabled=not model, on_click=_add, args=(key, f"{model}#{template}"))


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
        messages.caption(f"{name}{size} is being downloaded and will be used as soon as it is complete.", row)
        return False
    messages.caption(f"{name}{size} is not on this machine; it can be downloaded from the Hugging Face hub.", row)
    row.button("Download and use it", key=f"fetch {place} {name}", on_click=fetch, args=(model,))
    return False


def fetch(model: str) -> None:
    """Download a model in the background: the body of a click."""

    def work(_: jobs.Report) -> jobs.Outcome:
        folder = Encoder.pull(model)
        return jobs.Outcome("It is part of semsearch." if folder is None else f"Downloaded to {folder}")

    jobs.begin((MODELS, model), f"Downloading {model}", work, stoppable=False)


def load(names: Sequence[str]) -> dict[str, Encoder]:
    """Those that load, by name."""
    found = {}
    for name in names:
        with errors_of(name):
            if is_local(name):
                found[name] = pool.encoder(name)
    return found


def measure_each(encoders: Mapping[str, Encoder], measure: Callable[[Encoder], T]) -> Iterator[tuple[str, T]]:
    """The result of `measure` for each encoder; one that fails shows its error and is left out."""
    for name, encoder in encoders.items():
        with errors_of(name):
            yield name, measure(encoder)


@contextmanager
def errors_of(name: str) -> Iterator[None]:
    """Show any error of an encoder as a sentence."""
    try:
        yield
    except Exception as error:  # a broken file can fail in any library that reads it
        messages.error(failure(name, error))


def failure(name: str, error: Exception) -> str:
    """Why an encoder failed: of an unforeseen error its type, as the log has the rest."""
    if isinstance(error, SemsearchError):
        return f"{short_name(name)}: {page_wording(error)}"
    return f"{messages.sentence(error, short_name(name))} Check its files, or choose another one."


def page_wording(error: SemsearchError) -> str:
    """An error as a sentence that names pages where it names commands."""
    text = messages.capitalized(str(error))
    for command, page in ON_A_PAGE.items():
        text = re.sub(command, page, text)
    return text


def labels(names: Collection[str]) -> dict[str, str]:
    """A short name for each; the whole one where two have the same.

    >>> labels(["/models/a/onnx", "/models/b/onnx", "/models/bert"])
    {'/models/a/onnx': '/models/a/onnx', '/models/b/onnx': '/models/b/onnx', '/models/bert': 'bert'}
    """
    ends = [short_name(name) for name in names]
    return {name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)}


def short_name(name: str) -> str:
    """The end of a long name: the last part of a path says most.

    >>> short_name("/models/bert/#cot-bert")
    'bert#cot-bert'
    """
    model, mark, template = name.partition("#")
    found = (model.rstrip("/").rpartition("/")[2] or model) + mark + template
    return found if len(found) <= 44 else "…" + found[-43:]
