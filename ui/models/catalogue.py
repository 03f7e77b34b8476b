"""The encoders: those known by name, those that were made here, and all that is known of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from semsearch import Encoder, SemsearchError

from ..shared import background, jobs, pool
from ..shared.format import size
from ..shared.model_picker import MODELS

HUB = "hf:"
FIGURES = (
    ("name", "Name"), ("method", "Method"), ("dim", "Numbers of a vector"), ("max_tokens", "Tokens that are read"),
    ("precision", "Precision"), ("device", "Runs on"), ("provider", "By"), ("fingerprint", "Fingerprint"),
    ("licence", "Licence"), ("source", "Source"),
)  # fmt: skip


def show() -> None:
    """Catalogue, own encoders, and one of them in full."""
    known, home = Encoder.catalogue(), Encoder.models_dir()
    st.caption("Known by name. What is not here is fetched when it is first used. Any other model works as well: by "
               "its folder, or as hf:owner/name.")  # fmt: skip
    _catalogue(known)
    st.subheader("Made on this machine")
    saved = Encoder.list_local(home)
    if saved:
        _saved(saved)
    st.caption(pool.plain(f"Encoders that were trained or exported into {home}."
                          + ("" if saved else " There is none yet.")))  # fmt: skip
    st.subheader("One of them")
    names = {each["name"]: each["name"] for each in known} | {each["path"]: each["name"] for each in saved}
    name = st.selectbox("Encoder", names, key="encoder", format_func=lambda one: names.get(one, one),
                        accept_new_options=True, help="Or a folder, hf:owner/name, or MODEL#TEMPLATE.")  # fmt: skip
    if name and name.strip():
        with pool.told():
            _one(name.strip(), known)


def _catalogue(known: Sequence[dict[str, Any]]) -> None:
    rows = [
        {
            "name": each["name"],
            "here": each["local"],
            "on disk": each["bytes"] or None,
            "size": each["size"],
            "licence": each["licence"],
            "source": each["source"],
            "what": each["description"],
        }
        for each in known
    ]
    st.dataframe(rows, hide_index=True, placeholder="", column_config={
        "name": st.column_config.TextColumn(pinned=True),
        "here": st.column_config.CheckboxColumn(width="small"),
        "on disk": st.column_config.NumberColumn(format="bytes", width="small"),
        "size": st.column_config.TextColumn(width="small"),
        "what": st.column_config.TextColumn(width="large"),
        "source": st.column_config.LinkColumn(display_text="its page", width="small"),
    })  # fmt: skip


def _saved(saved: Sequence[dict[str, Any]]) -> None:
    rows = [
        {
            "name": each["name"],
            "runs in": {"onnx": "ONNX Runtime", "torch": "PyTorch"}.get(each.get("runs", ""), ""),
            "precision": each.get("precision"),
            "method": each.get("method"),
            "width": each.get("dim") or None,
            "on disk": each.get("bytes"),
            "dev": each.get("trained", {}).get("score"),
            "fingerprint": each.get("fingerprint"),
            "folder": each["path"],
            "what is wrong": each.get("problem", ""),
        }
        for each in saved
    ]
    st.dataframe(rows, hide_index=True, placeholder="", column_config={
        "name": st.column_config.TextColumn(pinned=True),
        "on disk": st.column_config.NumberColumn(format="bytes", width="small"),
        "dev": st.column_config.NumberColumn(format="%.2f", width="small", help="Its best score in training, percent."),
    })  # fmt: skip


def _one(name: str, known: Sequence[dict[str, Any]]) -> None:
    """What an encoder is, once it is loaded; where it is on the hub, what fetches and removes it."""
    model = name.partition("#")[0].strip()
    entry = next((each for each in known if each["name"] == model), {})
    hub = "hub" in entry or model.startswith(HUB)
    if hub:
        _hub(model, entry.get("size", ""))
    if Encoder.is_local(name):
        told = background.result(("encoder", name), lambda: _told(name), "The encoder is being loaded …")
        if told is not None:
            _facts(told, entry.get("description", ""))
    else:
        about = f"{entry['description']}. Licence {entry['licence']}, {entry['size']}. " if entry else ""
        st.caption(pool.plain(f"{about}It is not on this machine."))


def _told(name: str) -> dict[str, Any]:
    encoder = Encoder.load(name)
    try:
        return {**encoder.info, "reference": encoder.reference}
    finally:
        encoder.close()


def _facts(told: dict[str, Any], what: str) -> None:
    if what:
        st.caption(pool.plain(what))
    rows = [{"what": label, "value": str(told[key])} for key, label in FIGURES if told.get(key) not in (None, "")]
    for role, (before, after) in told.get("prompts", {}).items():
        if before or after:
            rows.append({"what": f"Template for a {role}", "value": f"{before}[X]{after}"})
    for step in told.get("post", ()):
        rows.append({"what": "Behind it", "value": ", ".join(f"{key} {value}" for key, value in step.items())})
    st.dataframe(rows, hide_index=True, column_config={"value": st.column_config.TextColumn(width="large")})


def _hub(model: str, much: str) -> None:
    row = st.container(horizontal=True, vertical_alignment="center")
    busy, here, much = jobs.busy((MODELS, model)), Encoder.is_local(model), f" ({much})" if much else ""
    row.button(
        "Fetch its newest" if here else "Fetch it", key="pull", icon=":material/download:", disabled=busy,
        on_click=_begin, args=(model, "Fetching", _pulled),
        help=f"Fetches configuration, tokenizer and safetensors from the hub{much}; never code, never pickled files.",
    )  # fmt: skip
    if not here:
        return
    sure = row.checkbox("Other programs share it", key=f"sure {model}", help="Tick this to remove it.")
    row.button("Remove it from this machine", key="rm", icon=":material/delete:", disabled=busy or not sure,
               on_click=_begin, args=(model, "Removing", _removed))  # fmt: skip


def _begin(model: str, what: str, work: Callable[[str], jobs.Outcome]) -> None:
    jobs.begin((MODELS, model), f"{what} {model}", lambda _: work(model), stoppable=False)


def _pulled(model: str) -> jobs.Outcome:
    folder = Encoder.pull(model)
    return jobs.Outcome("It is part of semsearch." if folder is None else f"It is here: {folder}")


def _removed(model: str) -> jobs.Outcome:
    try:
        return jobs.Outcome(f"{size(Encoder.remove(model))} are free again.")
    except OSError as error:
        raise SemsearchError(f"it could not be removed: {error.strerror or error}.", "Check the rights.") from None
