"""Export: an encoder for ONNX Runtime, which needs no PyTorch, and how near it came to what it was made from."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import Encoder, Progress, SemsearchError

from ..shared import jobs, model_picker, pool
from ..shared.format import size
from . import commands

KEY = "Export"
DTYPES = {
    "fp32": "fp32: the vectors of the model itself; its indexes open with either",
    "fp16": "fp16: half the size",
    "int8": "int8: smallest, and fastest on a CPU",
}
MEASURED = {  # docs/export.md, "What is proven"
    "least_cosine": "Least cosine of a text's vector to that of PyTorch",
    "mean_cosine": "Mean cosine to PyTorch",
    "largest_difference": "Largest difference of a number",
    "batch_difference": "The same text, alone and beside others",
    "spearman_of_pairs": "Spearman of the cosines of unrelated sentences",
    "stsb_dev": "STS-B dev, Spearman in percent",
    "stsb_dev_fp32": "STS-B dev of PyTorch",
    "texts": "Texts that were compared",
}
TARGETS = {"onnx": "ONNX Runtime", "torch": "PyTorch: the weights as they are, for a GPU or to train on"}
SECONDS = 0.3  # between two looks at a process


def show() -> None:
    """The form, and the report of each export that was made."""
    saved = Encoder.list_local(Encoder.models_dir())
    st.caption(
        "Writes a model of PyTorch as a folder that ONNX Runtime runs, without PyTorch. It is measured first, "
        "against PyTorch on the same texts; where it is off, nothing is written."
    )
    _form(model_picker.in_torch())
    _reports([each for each in saved if each.get("runs") == "onnx"])


def _form(sources: dict[str, str]) -> None:
    with st.form("export", border=True):
        left, right = st.columns(2)
        left.selectbox(
            "Model",
            sources,
            key="export.model",
            format_func=lambda one: sources.get(one, one),
            accept_new_options=True,
            index=None,
            placeholder="A folder, a name, or MODEL#TEMPLATE",
            help="A folder of PyTorch weights, a name of the catalogue, hf:owner/name; with #TEMPLATE "
            "another way to read it.",
        )
        right.text_input(
            "Name of the export",
            key="export.name",
            placeholder="bert-int8",
            help=f"A folder of this name is made in {pool.plain(str(Encoder.models_dir()))}. Left empty, it is "
            "called like the model and the precision.",
        )
        st.radio("Precision", DTYPES, key="export.dtype", format_func=lambda one: DTYPES[one])
        with st.expander("Options", icon=":material/tune:"):
            _options()
        st.form_submit_button(
            "Export it",
            icon=":material/output:",
            on_click=_begin,
            disabled=jobs.busy((KEY,)),
            help="Takes a minute or two, and some gigabytes of memory for a large model. It runs in the background.",
        )


def _options() -> None:
    """What else `semsearch export --help` has."""
    left, right = st.columns(2)
    left.selectbox(
        "Behind the model (--post)",
        ("nothing", "whitening", "flow"),
        key="export.post",
        help="Fitted on the passages of an index, without labels, and part of the export.",
    )
    right.selectbox("Fitted on the passages of (--fit-index)", pool.names(), key="export.fit")
    left.number_input(
        "Power of the whitening (--power)",
        0.0,
        1.0,
        1.0,
        0.1,
        key="export.power",
        help="1 evens out wholly, 0.2 a little.",
    )
    right.number_input("Keep the first numbers of a vector (--dim)", 1, value=None, key="export.dim", placeholder="all")
    left.selectbox("Written for (--to)", TARGETS, key="export.to", format_func=lambda one: TARGETS[one])
    right.checkbox("Replace an export of this name (--force)", key="export.force")


def _told() -> list[str]:
    """The options that say something, as flags."""
    state = st.session_state
    told = [f"--to={state['export.to']}"] if state["export.to"] != "onnx" else []
    told += [f"--dim={state['export.dim']}"] if state["export.dim"] else []
    told += ["--force"] if state["export.force"] else []
    if (post := state["export.post"]) != "nothing":
        told += [f"--post={post}", f"--fit-index={state['export.fit']}"]
        told += [f"--power={state['export.power']:g}"] if post == "whitening" else []
    return told


def _begin() -> None:
    state = st.session_state
    model, dtype = (state["export.model"] or "").strip(), state["export.dtype"]
    if not model:
        jobs.refuse("Export what? Choose a model, or write its folder.")
        return
    name = state["export.name"].strip() or f"{_called(model)}-{dtype}"
    if Path(name).name != name or name.startswith((".", "-")):
        jobs.refuse("An export needs a name without '/'. Use letters, digits, '-' and '_'.")
        return
    told = ["export", f"--output={Encoder.models_dir() / name}", f"--dtype={dtype}", "--json", *_told()]
    jobs.begin(
        (KEY,),
        f"{_called(model)} to {name}",
        lambda tell: _exported([*told, "--", model], tell),
        about="Nothing is written.",
    )


def _called(model: str) -> str:
    """
    >>> _called("/models/bert/#cot-bert"), _called("hf:owner/name")
    ('bert-cot-bert', 'name')
    """
    folder, _, template = model.partition("#")
    last = folder.rstrip("/").rpartition("/")[2].removeprefix("hf:")
    return re.sub(r"[^\w.-]+", "-", f"{last}-{template}" if template else last).strip("-.") or "model"


def _exported(arguments: Sequence[str], tell: jobs.Told) -> jobs.Outcome:
    """Run the command to its end. Raises SemsearchError where it could not, Stopped where a person ends it."""
    with tempfile.TemporaryDirectory(prefix="semsearch-") as place:
        answer, notes = Path(place, "answer"), Path(place, "notes")
        with answer.open("wb") as out, notes.open("wb") as err:
            running = commands.process(arguments, stdout=out, stderr=err)
        try:
            while running.poll() is None:
                told = [line for line in _lines(notes) if not line.startswith("{")]
                tell(Progress(0, 0, "texts", told[-1] if told else ""))
                time.sleep(SECONDS)
        finally:
            if running.poll() is None:
                running.terminate()
                running.wait()
        return _outcome(answer.read_bytes(), _lines(notes))


def _outcome(answer: bytes, lines: Sequence[str]) -> jobs.Outcome:
    try:
        told = json.loads(answer)
    except ValueError:
        raise SemsearchError("the export ended without a word.", lines[-1] if lines else "") from None
    if "error" not in told:
        made = told["export"]
        gate = made.get("parity", {}).get("gate", "the weights were copied, and nothing is to be measured")
        return jobs.Outcome(f"{size(made['size'])} in {made['folder']}. It passed: {gate}.")
    failed = told["error"]
    figures = [f"{MEASURED.get(key, key)}: {value}" for key, value in _figures(lines).items()]
    if not figures:
        raise SemsearchError(failed["message"], failed.get("fix", ""))
    return jobs.Outcome(f"It did not pass: {failed['message']} {failed.get('fix', '')}", tuple(figures))


def _figures(lines: Sequence[str]) -> dict[str, Any]:
    """What was measured, which the command says on its way: a line of JSON."""
    for line in reversed(lines):
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            return found
    return {}


def _lines(notes: Path) -> list[str]:
    return [line for line in notes.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]


def _reports(exported: Sequence[Mapping[str, Any]]) -> None:
    """How near one of the exports came to PyTorch."""
    st.subheader("What was measured")
    if not exported:
        st.caption("No export was made here yet.")
        return
    by_path = {each["path"]: each for each in exported}
    path = st.selectbox("Export", by_path, key="exported", format_func=lambda one: by_path[one]["name"])
    made = by_path.get(path) or exported[0]
    parity = made["parity"]
    if parity.get("gate"):
        st.success(pool.plain(f"Passed: {parity['gate']}."), icon=":material/check:")
    elif not parity:
        st.info("Nothing was measured of it.", icon=":material/info:")
    rows = [
        {"what": MEASURED.get(key, key), "figure": f"{value:,}" if key == "texts" else f"{value:g}"}
        for key, value in parity.items()
        if isinstance(value, int | float)
    ]
    if rows:
        st.dataframe(rows, hide_index=True, width="content")
    versions = ", ".join(f"{name} {version}" for name, version in parity.get("made_with", {}).items())
    st.caption(
        pool.plain(
            f"{made['precision']}, {size(made['bytes'])}, fingerprint {made['fingerprint']}, in "
            f"{made['path']}{f'; made with {versions}' if versions else ''}"
        )
    )
