"""The encoders that a page compares or measures: choosing, loading and naming them.

A link or a typed name downloads nothing: an encoder that is not on this machine is offered for download. One that
cannot be loaded shows an error of its own and does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st

from semsearch import Encoder, SemsearchError
from semsearch.prompts import templates

from . import messages, pool, widgets
from .messages import Place
from .widgets import URL
from .work import jobs

MODELS = "Models"  # the key of jobs that fetch and remove one
WRITE = "A name, a folder, or FOLDER#TEMPLATE"
T = TypeVar("T")
ON_A_PAGE = {  # wordings of errors for the command line, and those for a page
    r"semsearch reembed \S+ -m (\S+)": r"encode it again with \1 (Library, Indexes).",
    r"semsearch models list": "the page Models",
    r"semsearch templates list( --kind \w+)?": "the page Templates",
    r"\bUse --template ": "Write MODEL#TEMPLATE with ",
    r"--template (\S+)": r"MODEL#\1",
    r"Fetch it once without --offline: semsearch models pull \S+": "Fetch it while the network is there",
}


def several(key: str, most: int) -> list[str]:
    """A field for encoders, under `key` in the URL: local ones to choose from, any other by its name."""
    left, right = st.columns((3, 1), vertical_alignment="bottom")
    hint = "Or a folder, a name from the page Models, or MODEL#TEMPLATE, such as ~/bert#cot-bert; then Enter."
    options: Any = {"default": ["default", "minilm"], "accept_new_options": True, "placeholder": WRITE, "bind": URL}
    names = widgets.several("Encoders", local_names(), key, place=left, help=hint, **options)
    hint = "Add a model with a template."
    with right.popover("Template", icon=":material/add:", width="stretch", help=hint):
        _add_with_template(key)
    chosen = [name.strip() for name in dict.fromkeys(names) if name.strip()]
    if len(chosen) > most:
        messages.warning(f"Only the first {most} are used. Remove some to see the others.")
    if not chosen:
        messages.info("Choose an encoder.")
    return chosen[:most]


def one(label: str, key: str, hint: str, on_change: Callable[[], None] | None = None) -> str:
    """A field for one encoder: its name if it is local; "" otherwise."""
    name = box(label, local_names(), key, hint, bind=URL, on_change=on_change)
    return name if name and is_local(name, key) else ""


def box(
    label: str, names: Sequence[str] | Mapping[str, str], key: str, hint: str, *, place: Place = None, **other: Any
) -> str:
    """A field for an encoder from `names` or typed; "" for none. A mapping has labels; `other`: see st.selectbox."""
    labels = names if isinstance(names, Mapping) else {}
    options: dict[str, Any] = {"index": None, "placeholder": WRITE, "key": key, "help": hint, **other}
    options |= {"accept_new_options": True, "format_func": lambda name: labels.get(name, name)}
    chosen = (place or st).selectbox(label, list(names), **options)
    return str(chosen or "").strip()


def local_names() -> list[str]:
    """Encoders that need no download: part of semsearch, fetched before, trained or exported here."""
    own = [str(entry["path"]) for entry in Encoder.list_local(Encoder.models_dir()) if not entry.get("problem")]
    return [str(entry["name"]) for entry in Encoder.catalogue() if entry["local"]] + own


def torch_models() -> dict[str, str]:
    """The encoders that can be trained and exported, with labels: own ones in PyTorch, then those of the hub."""
    own = Encoder.list_local(Encoder.models_dir())
    labels = {each["path"]: f"{each['name']} (yours)" for each in own if each.get("runs") == "torch"}
    return labels | {each["name"]: with_download(each) for each in Encoder.catalogue() if "hub" in each}


def with_download(entry: dict[str, str]) -> str:
    """The name of a catalogue entry, with the size of its download where it is not local."""
    return entry["name"] if entry["local"] else f"{entry['name']} (downloads {entry['size']} first)"


def _add_with_template(key: str) -> None:
    """Fields for a model and a template: one model can be compared under several templates."""
    hub = [str(entry["name"]) for entry in Encoder.catalogue() if "hub" in entry]
    hint = "A BERT, RoBERTa or decoder in PyTorch; a trained or exported encoder has its template built in."
    model = box("Model", hub, f"{key} model", hint, placeholder="Folder or name")
    library = templates()
    label = lambda name: f"{name} — {next(iter(library[name].text.values()))}"  # noqa: E731
    usual = list(library).index("cot-bert")
    template = st.selectbox("Template", list(library), usual, key=f"{key} template", format_func=label)
    st.button("Add", key=f"{key} add", disabled=not model, on_click=_add, args=(key, f"{model}#{template}"))


def _add(key: str, name: str) -> None:
    st.session_state[key] = [*(each for each in st.session_state[key] if each != name), name]


def is_local(name: str, place: str = "") -> bool:
    """Whether an encoder needs no download; otherwise a button offers it, once in each `place`."""
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
    """The encoders that could be loaded, by name."""
    loaded = {}
    for name in names:
        with errors_of(name):
            if is_local(name):
                loaded[name] = pool.encoder(name)
    return loaded


def measure_each(
    encoders: Mapping[str, Encoder], measure: Callable[[Encoder], T], refusal: Callable[[str], None] = messages.error
) -> Iterator[tuple[str, T]]:
    """The result of `measure` for each encoder; one that fails shows its error and is left out."""
    for name, encoder in encoders.items():
        with errors_of(name, refusal):
            yield name, measure(encoder)


def measure_in_job(
    names: Collection[str], measure: Callable[[str, jobs.Report], None], report: jobs.Report
) -> list[str]:
    """Within a job, `measure` each encoder or index. Returns the errors of those that fail; the others are measured."""
    problems = []
    for at, name in enumerate(names):
        try:
            measure(name, jobs.part(report, at, len(names), short_name(name)))
        except jobs.Stopped:
            raise
        except Exception as error:  # a broken file can fail in any library that reads it
            if jobs.server_ends():
                raise jobs.Stopped from None
            problems.append(failure(name, error))
    return problems


@contextmanager
def errors_of(name: str, refusal: Callable[[str], None] = messages.error) -> Iterator[None]:
    """Show any error of an encoder as a sentence; `refusal` shows those of semsearch."""
    try:
        yield
    except Exception as error:  # a broken file can fail in any library that reads it
        show = refusal if isinstance(error, SemsearchError) else messages.error
        show(failure(name, error))


def failure(name: str, error: Exception) -> str:
    """Why an encoder failed; for an unforeseen error its type, the rest is logged."""
    if isinstance(error, SemsearchError):
        return f"{short_name(name)}: {page_wording(str(error))}"
    return f"{messages.sentence(error, short_name(name))} Check its files, or choose another one."


def page_wording(text: str) -> str:
    """An error or a warning as a sentence with pages in place of commands."""
    text = messages.capitalized(text)
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
    """The end of a long name: of a path the last part.

    >>> short_name("/models/bert/#cot-bert")
    'bert#cot-bert'
    """
    model, mark, template = name.partition("#")
    short = (model.rstrip("/").rpartition("/")[2] or model) + mark + template
    return short if len(short) <= 44 else "…" + short[-43:]
