"""Train: an encoder on one's own text, by the methods of the papers. It runs beside the server, in its own process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import Encoder, SemsearchError, templates, training_methods

from ..shared import background, jobs, model_picker, pool
from ..shared.urls import URL
from . import commands, train_options, train_runs

INDEX, PLACE, UPLOAD = SOURCES = ("An index", "A file or folder of this machine", "A file to upload")
NAME = re.compile(r"[^\W.-][\w.-]*")


def show() -> None:
    """The runs there are, and the form for another."""
    begun = train_runs.runs(Encoder.models_dir())
    with pool.told():
        methods = background.result("training methods", training_methods, "PyTorch is being loaded …")
        if methods:
            with st.expander("Train an encoder", icon=":material/model_training:", expanded=not begun):
                _form({each["name"]: each for each in methods})


def _form(methods: Mapping[str, Mapping[str, Any]]) -> None:
    usual = "simcse" if "simcse" in methods else next(iter(methods))
    method = methods[st.selectbox(
        "Method", methods, index=[*methods].index(usual), key="train.method", bind=URL,
        format_func=lambda name: f"{name}: needs {methods[name]['needs']}",
    ) or usual]  # fmt: skip
    st.caption(f"{pool.plain(method['what'])} [{pool.plain(method['source'])}]({method['url']})")
    left, right = st.columns(2)
    bases = model_picker.in_torch()
    left.selectbox(
        "Base model (--base)", bases, key="train.base", index=None, accept_new_options=True,
        format_func=lambda name: bases.get(name, name), placeholder="~/bert-base-uncased, hf:owner/name",
        help="What is trained: a folder of PyTorch weights, a model of the hub or one of yours. MODEL#TEMPLATE says "
        "how it is read, such as ~/bert#mean; else it is as the method's paper has it.",
    )  # fmt: skip
    right.text_input("Name of the new encoder", key="train.name", placeholder="mine",
                     help=f"A folder of this name is made in {pool.plain(str(Encoder.models_dir()))}.")  # fmt: skip
    _data(method)
    _figures(method)
    with st.expander("More options", icon=":material/tune:"):
        train_options.form(method, [*templates()])
    st.button("Train it", key="train.go", type="primary", icon=":material/play_arrow:", on_click=_begin,
              args=(method["name"],), help="Takes minutes for small data on a good machine, hours for much. It goes on "
              "while you use the other pages, and can be stopped and resumed.")  # fmt: skip


def _data(method: Mapping[str, Any]) -> None:
    names = pool.names()
    sources = SOURCES if names and not method["needs"].startswith("pairs") else SOURCES[1:]
    source = st.segmented_control("Texts to train on", sources, key="train.from", default=sources[0], required=True)
    if source == INDEX:
        st.selectbox("Index (--from-index)", names, key="train.index", help="Its passages; no label is needed.")
    elif source == UPLOAD:
        st.file_uploader("Text, JSON lines, CSV or TSV", key="train.file",
                         help="A text a line, or records whose columns are known by name: text; anchor, positive, "
                         "negative; sentence1, sentence2, score.")  # fmt: skip
    else:
        st.text_input("File or folder (--data)", key="train.path", placeholder="~/notes",
                      help="A folder or a document is read in sentences; .txt is a text a line; .jsonl, .csv and .tsv "
                      "are records whose columns are known by name.")  # fmt: skip


def _figures(method: Mapping[str, Any]) -> None:
    """What holds where nothing is said is the paper's, and stands in the empty boxes."""
    row = st.columns(5)
    row[0].number_input("Epochs", 0.01, value=None, key="train.epochs", placeholder=f"{method['epochs']:g}",
                        help="Times that the data is read.")  # fmt: skip
    row[1].number_input("Or steps", 1, value=None, key="train.steps", placeholder="by epochs")
    row[2].number_input("Batch size", 1, value=None, key="train.batch-size", placeholder=f"{method['batch']}")
    row[3].number_input("Learning rate", 0.0, value=None, key="train.learning-rate", format="%g", step=1e-6,
                        placeholder=f"{method['rate']:g}")  # fmt: skip
    row[4].number_input("Seed", 0, value=0, key="train.seed", help="What chance follows from.")


def _begin(method: str) -> None:
    name = st.session_state["train.name"].strip()
    folder = Encoder.models_dir() / name
    try:
        if not NAME.fullmatch(name):
            raise SemsearchError("An encoder needs a name.", "Use letters, digits, '-' and '_'.")
        if commands.begun_by(folder) and (folder / "run" / "settings.json").exists():
            raise SemsearchError(f"There is a run {name} already.", "Choose another name, or go on with it above.")
        told = ["train", f"--method={method}", f"--output={folder}", *_told(folder), *train_options.told()]
        commands.begin(folder, told)
    except SemsearchError as error:
        jobs.refuse(str(error))
        return
    st.session_state["run"] = str(folder)


def _told(folder: Path) -> list[str]:
    """What the form says, as the command line has it. Raises SemsearchError for what is missing."""
    state = st.session_state
    base, source = (state["train.base"] or "").strip(), state["train.from"]
    if not base:
        raise SemsearchError("There is no base model.", "Choose one, or write the folder of one.")
    flags = {key: state[f"train.{key}"] for key in ("epochs", "steps", "batch-size", "learning-rate", "seed")}
    if flags["epochs"] is not None and flags["steps"] is not None:
        raise SemsearchError("Epochs and steps were both given.", "Empty one of the two.")
    told = [f"--base={_whole(base)}"]
    if source == INDEX:
        told += [f"--from-index={state['train.index']}"]
    elif source == UPLOAD:
        told += [f"--data={_uploaded(folder)}"]
    elif path := state["train.path"].strip():
        told += [f"--data={Path(path).expanduser().absolute()}"]
    else:
        raise SemsearchError("There is nothing to train on.", "Write the path of a file or a folder.")
    return told + [f"--{key}={value:g}" if isinstance(value, float) else f"--{key}={value}"
                   for key, value in flags.items() if value is not None]  # fmt: skip


def _whole(base: str) -> str:
    """The base with its whole path, where it is a folder: it is the same from wherever the run is resumed."""
    model, mark, template = base.partition("#")
    folder = Path(model).expanduser()
    return f"{folder.absolute()}{mark}{template}" if folder.is_dir() else base


def _uploaded(folder: Path) -> Path:
    """The uploaded file, kept with the run, which may have to read it again."""
    given = st.session_state["train.file"]
    if given is None:
        raise SemsearchError("There is no file to train on.", "Choose one first.")
    file = folder / "run" / "data" / (re.sub(r"[^\w.-]+", "_", Path(given.name).name).lstrip(".-") or "data")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(given.getvalue())
    except OSError as error:
        raise SemsearchError(f"{file} cannot be written: {error.strerror or error}.", "Check the folder.") from None
    return file
