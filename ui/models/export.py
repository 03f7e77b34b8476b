"""Export: an encoder for ONNX Runtime, without PyTorch, and its parity with the source."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from semsearch import Encoder, SemsearchError, admin
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, tables
from ..shared.messages import plain, size
from ..shared.work import jobs
from . import commands

KEY = "Export"
DTYPES = {
    "fp32": "fp32: the same vectors as the model; an index opens with either",
    "fp16": "fp16: half the size",
    "int8": "int8: smallest, and fastest on a CPU",
}
MEASURED = {  # docs/export.md, "What is proven"
    "least_cosine": "Lowest cosine of a text's vector to that of PyTorch",
    "mean_cosine": "Mean cosine to PyTorch",
    "largest_difference": "Largest difference in one dimension",
    "batch_difference": "The same text alone and in a batch",
    "spearman_of_pairs": "Spearman of the cosines of unrelated sentences",
    "stsb_dev": "STS-B dev, Spearman in percent",
    "stsb_dev_fp32": "STS-B dev of PyTorch",
    "texts": "Texts compared",
}
POSTS = {"": "nothing", "whitening": "whitening", "flow": "flow"}
TARGETS = {"": "ONNX Runtime", "torch": "PyTorch: the weights as they are, for a GPU or to train on"}


def show() -> None:
    """The form, and the parity report of each export."""
    saved = Encoder.list_local(Encoder.models_dir())
    st.caption(
        "Writes a PyTorch model as a folder for ONNX Runtime, which needs no PyTorch. The export is first compared "
        "with PyTorch on the same texts; where its vectors differ, nothing is written."
    )
    _form(encoder_picker.torch_models())
    _reports([each for each in saved if each.get("runs") == "onnx"])


def _form(sources: dict[str, str]) -> None:
    with st.form("export", border=True):
        left, right = st.columns(2)
        hint = (
            "A folder of PyTorch weights, a name of the catalogue, or hf:owner/name; with #TEMPLATE it is read through "
            "that template."
        )
        encoder_picker.box("Model", sources, "export.model", hint, place=left)
        hint = f"A folder in {plain(str(Encoder.models_dir()))}, by default named after model and precision."
        right.text_input("Name of the export", key="export.name", placeholder="bert-int8", help=hint)
        st.radio("Precision", DTYPES, key="export.dtype", format_func=DTYPES.__getitem__)
        with st.expander("Options", icon=":material/tune:"):
            _options()
        hint = "Takes a minute or two, and some gigabytes of memory for a large model. It runs in the background."
        busy = jobs.busy((KEY,))
        st.form_submit_button("Export it", hint, icon=":material/output:", on_click=_begin, disabled=busy)


def _options() -> None:
    """The other options of `semsearch export --help`; the key of a box ends in its flag."""
    left, right = st.columns(2)
    hint, key = "Fitted on the passages of an index, without labels, and part of the export.", "export.post"
    left.selectbox("Post-processing (--post)", POSTS, format_func=POSTS.__getitem__, key=key, help=hint)
    right.selectbox("Fitted on the passages of (--fit-index)", admin.names(), key="export.fit-index")
    hint, key = "1 whitens fully, 0.2 a little.", "export.power"
    left.number_input("Whitening power (--power)", 0.0, 1.0, None, 0.1, key=key, help=hint, placeholder="1")
    right.number_input("Truncate vectors to dimensions (--dim)", 1, value=None, key="export.dim", placeholder="all")
    left.selectbox("Target (--to)", TARGETS, key="export.to", format_func=TARGETS.__getitem__)
    right.checkbox("Replace an export of this name (--force)", key="export.force")


def _begin() -> None:
    state = st.session_state
    model, dtype = (state["export.model"] or "").strip(), state["export.dtype"]
    with messages.refusing():
        if not model:
            raise SemsearchError("There is no model to export.", "Choose one, or type its folder.")
        name = state["export.name"].strip() or f"{_default_name(model)}-{dtype}"
        if Path(name).name != name or name.startswith((".", "-")):
            raise SemsearchError("An export needs a name without '/'.", "Use letters, digits, '-' and '_'.")
        steps = {"whitening": ["post", "fit-index", "power"], "flow": ["post", "fit-index"]}
        post = steps.get(state["export.post"], [])
        flags = [*commands.flags("export", ["to", "dim", *post]), *(["--force"] if state["export.force"] else [])]
        output = f"--output={Encoder.models_dir() / name}"
        command = ["export", output, f"--dtype={dtype}", "--json", *flags, "--", model]
        what, about = f"{_default_name(model)} to {name}", "Nothing is written."
        jobs.start((KEY,), what, lambda report: _outcome(*commands.answered(command, report)), about=about)


def _default_name(model: str) -> str:
    """
    >>> _default_name("/models/bert/#cot-bert"), _default_name("hf:owner/name")
    ('bert-cot-bert', 'name')
    """
    folder, _, template = model.partition("#")
    last = folder.rstrip("/").rpartition("/")[2].removeprefix("hf:")
    return re.sub(r"[^\w.-]+", "-", f"{last}-{template}" if template else last).strip("-.") or "model"


def _outcome(answer: JsonObject, lines: Sequence[str]) -> jobs.Outcome:
    if "error" not in answer:
        made = answer["export"]
        gate = made.get("parity", {}).get("gate", "the weights were copied, so there is nothing to compare")
        return jobs.Outcome(f"{size(made['size'])} in {made['folder']}. It passed: {gate}.")
    failed = answer["error"]
    parity: JsonObject = next((json.loads(line) for line in reversed(lines) if line.startswith("{")), {})
    if not parity:
        raise SemsearchError(failed["message"], failed.get("fix", ""))
    figures = tuple(f"{MEASURED.get(key, key)}: {value}" for key, value in parity.items())
    return jobs.Outcome(f"It did not pass: {failed['message']} {failed.get('fix', '')}", figures)


def _reports(exported: Sequence[JsonObject]) -> None:
    """The parity report of an export."""
    st.header("Parity with PyTorch")
    if not exported:
        st.caption("There is no export yet.")
        return
    by_path = {each["path"]: each for each in exported}
    path = st.selectbox("Export", by_path, key="exported", format_func=lambda each: by_path[each]["name"])
    made = by_path.get(path) or exported[0]
    parity = made["parity"]
    if parity.get("gate"):
        messages.success(f"Passed: {parity['gate']}.")
    elif not parity:
        messages.info("Parity was not measured.")
    rows = [
        {"what": MEASURED.get(key, key), "figure": f"{value:,}" if key == "texts" else f"{value:g}"}
        for key, value in parity.items()
        if isinstance(value, int | float)
    ]
    if rows:
        tables.show(rows, width="content")
    versions = ", ".join(f"{name} {version}" for name, version in parity.get("made_with", {}).items())
    about = f"{made['precision']}, {size(made['bytes'])}, fingerprint {made['fingerprint']}, in {made['path']}"
    messages.caption(f"{about}; made with {versions}" if versions else about)
