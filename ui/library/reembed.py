"""Encoding an index again, in place, with another encoder: a form, and the work behind it."""

from __future__ import annotations

import streamlit as st

from semsearch import Encoder, Index, SemsearchError, admin
from semsearch.types import JsonObject, ReembedReport
from semsearch.utils.quantities import count

from ..shared import encoder_picker, messages, widgets
from ..shared.messages import plain
from ..shared.work import jobs

STOPPED = "Searches use the present vectors. Begin it again with the same encoder to go on."


def form(name: str, info: JsonObject) -> None:
    """A folded form that moves the index to another encoder; nothing for an index without one."""
    current, *others = info["spaces"]
    if not current["reference"]:
        return
    begun = next((space for space in others if space["state"] == "unfinished"), None)
    title = "Encode this index again with another encoder"
    place = st.expander(title, icon=":material/swap_horiz:", expanded=begun is not None)
    with place.form(f"reembed {name}", border=False):
        if begun is not None:
            there = f"{begun['vectors']:,} of {count(info['passages'], 'passage')}"
            st.markdown(f"Not finished: {plain(begun['encoder']['name'])} has encoded {there}. Begin again to go on.")
        names = list(dict.fromkeys([*([begun["reference"]] if begun else []), *encoder_picker.local_names()]))
        hint = "Or the folder of a model, hf:owner/name, or MODEL#TEMPLATE, such as ~/bert#cot-bert."
        encoder_picker.box("Encoder", names, f"reembed.encoder {name}", hint, index=0 if begun else None)
        hint = "Then `semsearch eval -n NAME --spaces` compares both encoders on your own documents."
        st.checkbox("Keep the present vectors too (--keep-old)", key=f"reembed.keep {name}", help=hint)
        st.caption(
            "Every passage is encoded from its text in the index; files are not read. Searches use the present vectors "
            f"until all new ones are there. {widgets.IN_BACKGROUND}"
        )
        icon = ":material/play_arrow:"
        st.form_submit_button("Encode it again", icon=icon, disabled=jobs.busy(name), on_click=_begin, args=(name,))


def _begin(name: str) -> None:
    state = st.session_state
    encoder, keep = str(state[f"reembed.encoder {name}"] or "").strip(), bool(state[f"reembed.keep {name}"])
    with messages.refusing():
        if not encoder:
            raise SemsearchError("No encoder is chosen.", "Choose one, or type its name.")
        if not Encoder.is_local(encoder):
            raise SemsearchError(f"{encoder} is not on this machine.", "Download it on the page Models first.")
        folder = admin.folder(name)

        def work(report: jobs.Report) -> jobs.Outcome:
            with Index.open(folder) as index:
                return _outcome(index.reembed(encoder, keep_old=keep, progress=report))

        what = f"Encoding {name} again with {encoder_picker.short_name(encoder)}"
        jobs.start(name, what, work, about=STOPPED)


def _outcome(report: ReembedReport) -> jobs.Outcome:
    said = f"{count(report.passages, 'passage')} are encoded with {report.encoder}, {report.encoded:,} of them now."
    said += f" The unfinished vectors of {report.replaced} were removed." if report.replaced else ""
    said += f" Kept: {', '.join(report.kept)}." if report.kept else ""
    said += " Compact frees the disk space of the vectors that were removed." if report.removed else ""
    return jobs.Outcome(said, report.warnings)
