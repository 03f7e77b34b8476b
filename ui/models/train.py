"""Train: an encoder for your own text, by the methods of papers, in a process of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from semsearch import Encoder, SemsearchError, admin
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from ..shared.work import background
from . import commands, train_options, train_runs
from .methods import training_methods

INDEX, PLACE, UPLOAD = SOURCES = ("An index", "A file or folder of this machine", "A file to upload")
NAME = re.compile(r"[^\W.-][\w.-]*")


def show() -> None:
    """The runs, and the form for another one."""
    any_run = train_runs.show(Encoder.models_dir())
    with messages.errors():
        methods = background.result("training methods", training_methods, "Loading the training methods …")
        if methods:
            with st.expander("Train an encoder", icon=":material/model_training:", expanded=not any_run):
                _form({each["name"]: dict(each) for each in methods})


def _form(methods: Mapping[str, JsonObject]) -> None:
    names = [*methods]
    usual = names.index("simcse") if "simcse" in methods else 0
    label = lambda name: f"{name}: needs {methods[name]['needs']}"  # noqa: E731
    name = st.selectbox("Method", names, usual, key="train.method", bind=URL, format_func=label)
    method = methods[name or names[usual]]
    st.caption(f"{plain(method['what'])} [{plain(method['source'])}]({method['url']})")
    left, right = st.columns(2)
    hint = (
        "The model to train: a folder of PyTorch weights, a model of the hub or one of yours. MODEL#TEMPLATE sets the "
        "template, such as ~/bert#mean; the default is that of the method's paper."
    )
    bases, empty = encoder_picker.torch_models(), "~/bert-base-uncased, hf:owner/name"
    encoder_picker.box("Base model (--base)", bases, "train.base", hint, place=left, placeholder=empty)
    hint = f"The folder is created in {plain(str(Encoder.models_dir()))}."
    right.text_input("Name of the new encoder", key="train.name", placeholder="mine", help=hint)
    _data(method)
    train_options.draw(train_options.MAIN, method)
    with st.expander("More options", icon=":material/tune:"):
        train_options.draw_more(method)
    hint = (
        "Takes minutes for little data on a good machine, hours for much. It continues while you use the other pages, "
        "and can be stopped and resumed."
    )
    widgets.button("Train it", "play_arrow", _begin, (method["name"],), key="train.go", hint=hint, kind="primary")


def _data(method: JsonObject) -> None:
    names = admin.names()
    sources = SOURCES if names and not method["needs"].startswith("pairs") else SOURCES[1:]
    source = widgets.choice("Training texts", sources, "train.from", bind=None)
    if source == INDEX:
        st.selectbox("Index (--from-index)", names, key="train.index", help="Its passages; no labels are needed.")
    elif source == UPLOAD:
        hint = (
            "One text per line, or records whose columns are recognized by name: text; anchor, positive, negative; "
            "sentence1, sentence2, score."
        )
        st.file_uploader("Text, JSON lines, CSV or TSV", key="train.file", help=hint)
    else:
        hint = (
            "A folder or a document is read sentence by sentence, .txt one text per line; .jsonl, .csv and .tsv are "
            "records whose columns are recognized by name."
        )
        st.text_input("File or folder (--data)", key="train.path", placeholder="~/notes", help=hint)


def _begin(method: str) -> None:
    name = st.session_state["train.name"].strip()
    folder = Encoder.models_dir() / name
    with messages.refusing():
        if not NAME.fullmatch(name):
            raise SemsearchError("An encoder needs a name.", "Use letters, digits, '-' and '_'.")
        if commands.command_of(folder) and (folder / "run" / "settings.json").exists():
            raise SemsearchError(f"There is a run {name} already.", "Choose another name, or resume it above.")
        base = (st.session_state["train.base"] or "").strip()
        if not base:
            raise SemsearchError("There is no base model.", "Choose one, or type its folder.")
        flags = [f"--base={_absolute(base)}", *train_options.flags(), _data_flag(folder)]
        commands.begin(folder, ["train", f"--method={method}", f"--output={folder}", *flags])
        st.session_state["run"] = str(folder)


def _data_flag(folder: Path) -> str:
    """The texts to train on. Raises SemsearchError where there are none."""
    state = st.session_state
    if state["train.from"] == INDEX:
        return f"--from-index={state['train.index']}"
    if state["train.from"] == UPLOAD:
        return f"--data={_save_upload(folder)}"
    if path := state["train.path"].strip():
        return f"--data={Path(path).expanduser().absolute()}"
    raise SemsearchError("There is nothing to train on.", "Type the path of a file or a folder.")


def _absolute(base: str) -> str:
    """The base with its absolute path, where it is a folder: it is found from wherever the run is resumed."""
    model, mark, template = base.partition("#")
    folder = Path(model).expanduser()
    return f"{folder.absolute()}{mark}{template}" if folder.is_dir() else base


def _save_upload(folder: Path) -> Path:
    """The uploaded file, saved in the folder of the run, which may have to read it again."""
    upload = st.session_state["train.file"]
    if upload is None:
        raise SemsearchError("There is no file to train on.", "Choose one first.")
    file = folder / "run" / "data" / (re.sub(r"[^\w.-]+", "_", Path(upload.name).name).lstrip(".-") or "data")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(upload.getvalue())
    except OSError as error:
        raise SemsearchError(f"{file} cannot be written: {error.strerror or error}.", "Check the folder.") from None
    return file
