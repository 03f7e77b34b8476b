"""The encoders: those known by name, those trained or exported here, and all facts about one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import streamlit as st

from semsearch import Encoder, SemsearchError
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, tables, widgets
from ..shared.messages import size
from ..shared.work import background, jobs

HUB = "hf:"
FACTS = {
    "name": "Name",
    "method": "Method",
    "dim": "Dimensions",
    "max_tokens": "Max length in tokens",
    "precision": "Precision",
    "device": "Device",
    "provider": "Execution provider",
    "fingerprint": "Fingerprint",
    "licence": "Licence",
    "source": "Source",
}
SMALL = st.column_config.TextColumn(width="small")
CATALOGUE = {
    "name": st.column_config.TextColumn(pinned=True, width=264),
    "here": st.column_config.CheckboxColumn(width="small"),
    "on disk": tables.SMALL_BYTES,
    "size": SMALL,
    "what": st.column_config.TextColumn(width=560),
    "source": st.column_config.LinkColumn(display_text="its page", width="small"),
}
SAVED = {
    "name": tables.NAME,
    "on disk": tables.SMALL_BYTES,
    "dev": st.column_config.NumberColumn(format="%.2f", width="small", help="Best validation score, in percent."),
}


def show() -> None:
    """Catalogue, own encoders, and one of them in full."""
    entries = [{**each, "description": each["description"].replace("`", "")} for each in Encoder.catalogue()]
    home = Encoder.models_dir()
    st.caption(
        "Encoders with a name. One that is not on this machine is downloaded at first use. Any other model works as "
        "well: by its folder, or as hf:owner/name."
    )
    tables.show([_row(each) for each in entries], CATALOGUE)
    st.header("Made on this machine")
    saved = Encoder.list_local(home)
    if saved:
        tables.show([_saved_row(each) for each in saved], SAVED)
    messages.caption(f"Encoders that were trained or exported into {home}." + ("" if saved else " There is none yet."))
    st.header("One of them")
    names = {each["name"]: each["name"] for each in entries} | {each["path"]: each["name"] for each in saved}
    hint = "Or a folder, hf:owner/name, or MODEL#TEMPLATE."
    if name := encoder_picker.box("Encoder", names, "encoder", hint, index=0):
        with messages.errors():
            _one(name, entries)


def _row(entry: JsonObject) -> JsonObject:
    row = {"name": entry["name"], "here": entry["local"], "on disk": entry["bytes"] or None}
    return row | {name: entry[name] for name in ("size", "licence", "source")} | {"what": entry["description"]}


def _saved_row(each: JsonObject) -> JsonObject:
    runtimes = {"onnx": "ONNX Runtime", "torch": "PyTorch"}
    row = {"name": each["name"], "runs in": runtimes.get(each.get("runs", ""), "")}
    row |= {name: each.get(name) for name in ("precision", "method")}
    row |= {"dimensions": each.get("dim") or None, "on disk": each.get("bytes")}
    row |= {"dev": each.get("trained", {}).get("score"), "fingerprint": each.get("fingerprint")}
    return row | {"folder": each["path"], "problem": each.get("problem", "")}


def _one(name: str, entries: Sequence[JsonObject]) -> None:
    """The facts about an encoder, once it is loaded; where it is on the hub, buttons that fetch and remove it."""
    model = name.partition("#")[0].strip()
    entry = next((each for each in entries if each["name"] == model), {})
    if "hub" in entry or model.startswith(HUB):
        _hub(model, entry.get("size", ""))
    if Encoder.is_local(name):
        info = background.result(("encoder", name), lambda: _info(name), "Loading the encoder …")
        if info is not None:
            _facts(info, entry.get("description", ""))
    else:
        about = f"{entry['description']}. Licence {entry['licence']}, {entry['size']}. " if entry else ""
        messages.caption(f"{about}It is not on this machine.")


def _info(name: str) -> JsonObject:
    with closing(Encoder.load(name)) as encoder:
        return dict(encoder.info)


def _facts(info: JsonObject, description: str) -> None:
    if description:
        messages.caption(description)
    facts = [(label, info[key]) for key, label in FACTS.items() if info.get(key) not in (None, "")]
    for role, (before, after) in info.get("prompts", {}).items():
        facts += [(f"Template for a {role}", f"{before}[X]{after}")] if before or after else []
    facts += [("Post-processing", step) for step in info.get("post", ())]
    tables.show([{"what": what, "value": str(value)} for what, value in facts], {"value": tables.WIDE})


def _hub(model: str, size_of_it: str) -> None:
    row = widgets.row()
    busy, here = jobs.busy((encoder_picker.MODELS, model)), Encoder.is_local(model)
    much = f" ({size_of_it})" if size_of_it else ""
    label = "Download the newest" if here else "Download it"
    hint = f"Configuration, tokenizer and safetensors from the hub{much}; never code, never pickled files."
    widgets.button(label, "download", encoder_picker.fetch, (model,), place=row, key="pull", hint=hint, off=busy)
    if not here:
        return
    sure = row.checkbox("Other programs share it", key=f"sure {model}", help="Tick this to remove it.")
    off = busy or not sure
    widgets.button("Remove it from this machine", "delete", _remove, (model,), place=row, key="rm", off=off)


def _remove(model: str) -> None:
    def work(_: jobs.Report) -> jobs.Outcome:
        try:
            return jobs.Outcome(f"{size(Encoder.remove(model))} are free again.")
        except OSError as error:
            why = f"It could not be removed: {error.strerror or error}."
            raise SemsearchError(why, "Check the permissions.") from None

    jobs.begin((encoder_picker.MODELS, model), f"Removing {model}", work, stoppable=False)
