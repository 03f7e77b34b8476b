"""The panel that adds documents: a path or dropped files, what is there, and the index that they go to."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from semsearch import Encoder, Index, SemsearchError, Splitter, SyncReport, admin
from semsearch.types import Survey
from semsearch.utils.quantities import count

from .. import encoder_picker, index_picker, messages, navigation, pool, widgets
from ..messages import plain, size
from ..work import background, jobs, progress
from . import folders, read_options

if TYPE_CHECKING:
    from semsearch.indexing.language_sample import LanguageSample

PATH, FILES, INTO, NAME, ENCODER = "add.path", "add.files", "add.into", "add.name", "add.encoder"  # keys of widgets
BEGUN, ROUND = "documents are being added", "files added so often"
PAUSE = "150ms"  # of typing, after which folders complete it
MOST_TYPES, LONGEST = 4, 40  # types that are named; letters of a completion
NEW = "A new index"
Fill = Callable[[Index, jobs.Report], SyncReport]


class Source(NamedTuple):
    """What is added: a place on this machine, or files; whether there is anything, and what a survey says of it."""

    place: Path | None = None
    files: int = 0
    ready: bool = False
    passages: int = 0
    encoder: str = ""  # for a new index of it
    why: str = ""  # that encoder
    languages: LanguageSample | None = None


@st.fragment
def show(name: str | None = None) -> None:
    """The panel, for the index with this name, unless the person chooses another one, or a new one."""
    if st.session_state.pop(BEGUN, False):
        st.rerun()
    messages.outcome_of_click()
    with st.container(border=True, key="adding"):
        source = _source()
        target, problem = _target(name, source)
        _say_what_is_read(source, target)
        with st.expander("Options", icon=":material/tune:"):
            if target == "":
                _options_of_new()
            read_options.files("add")
            read_options.records("add")
        new = target == ""
        named = _new_name(source) if new else str(target)
        row, off = widgets.row(), not source.ready or bool(problem) or jobs.busy(named)
        label = f"Make the index “{named}” and search it" if new else f"Add to {named}"
        args = (named, new, source, False)
        widgets.button(plain(label), "bolt", _begin, args, place=row, key="add", kind="primary", off=off)
        if not new:
            hint, args = "Shows what would be added. Nothing is written.", (named, new, source, True)
            off = off or source.place is None
            widgets.button("Preview additions", "preview", _begin, args, place=row, hint=hint, off=off)


def _source() -> Source:
    """The fields for a path and for files, and what is said of it."""
    hint = "A folder, which becomes a source that every update looks through, or a single file. It is only read."
    left, right = st.columns(2)
    with left:
        typed = st.text_input(
            "Folder or file on this machine", key=PATH, live=PAUSE, placeholder="~/notes", help=hint
        ).strip()
        place = st.empty()  # takes those of an earlier path away
        if completions := folders.suggested(typed):
            row = place.container(horizontal=True, gap="small", key="completions")
            for each in completions:
                label = each if len(each) <= LONGEST else f"…{each[1 - LONGEST :]}"
                key = f"path {each}"
                widgets.button(plain(label), "folder", _complete, (each,), place=row, key=key, kind="tertiary")
    hint = "Their text is stored in the index, the files are not, and an update leaves them alone."
    files = right.file_uploader("Or drop files here", accept_multiple_files=True, key=_files_key(), help=hint)
    if files:
        return Source(files=len(files), ready=True)
    return _surveyed(folders.expanded(typed), unfinished=bool(completions)) if typed else Source()


def _files_key() -> str:
    """The key of the field for files: another one once they have been added, as nothing else clears it."""
    return f"{FILES}{st.session_state.get(ROUND) or ''}"


def _complete(path: str) -> None:
    st.session_state[PATH] = f"{path}/"


def _surveyed(place: Path, *, unfinished: bool) -> Source:
    """Say what is in the folder, and how long it will take; the encoder is loaded while the person reads that."""
    with messages.errors(_in_field):
        if not place.exists():
            if unfinished:  # folders that begin so are offered
                return Source()
            raise SemsearchError(f"{place} does not exist.", "Type the path of a folder or a file.")
        surveyed = background.result(
            ("survey", str(place)), partial(_survey, place), "Counting files, and reading some of them …"
        )
        if surveyed is None:
            return Source(place, ready=True)  # one need not wait for it
        estimate, languages, encoder, why = surveyed
        messages.caption(described(estimate))
        if estimate.files and _is_local(encoder):
            background.begin(("encoder", encoder), lambda: pool.prepare(encoder))
        return Source(place, 0, estimate.files > 0, estimate.passages, encoder, why, languages)
    return Source(place)


def _survey(place: Path) -> tuple[Survey, LanguageSample, str, str]:
    """What is in a folder, and the encoder for a new index of it, with the reason."""
    languages = admin.languages_of_files([place])
    return admin.survey(place), languages, *admin.usual_encoder(languages)


def _say_what_is_read(source: Source, target: str) -> None:
    """Which encoder a new index gets, and why; or what that of an index that is there does not read."""
    if source.languages is None:
        return
    said = admin.unread_warning(pool.index(target), source.languages) if target else source.why
    if said:
        messages.caption(f"{said[0].upper()}{said[1:].rstrip('.')}.")


def _is_local(encoder: str) -> bool:
    return Encoder.is_local(encoder.partition("#")[0])


def _in_field(why: str) -> None:
    st.caption(f":red[:material/error: {plain(messages.capitalized(why))}]")


def described(survey: Survey) -> str:
    """A survey in one line."""
    if not survey.files:
        return "There is no file in it that can be read."
    kinds = [f"{each.files:,} {each.suffix or 'without suffix'}" for each in survey.types[:MOST_TYPES]]
    kinds += [f"{count(len(survey.types) - MOST_TYPES, 'other type')}"] if len(survey.types) > MOST_TYPES else []
    least = "" if survey.complete else "more than "
    parts = [f"{least}{count(survey.files, 'file')} ({', '.join(kinds)})", size(survey.bytes)]
    if survey.seconds is not None:
        parts.append(f"about {count(survey.passages, 'passage')}, {_minutes(survey.seconds)} on this machine")
    return " · ".join([*parts, *([f"{survey.skipped:,} cannot be read"] if survey.skipped else [])])


def _minutes(seconds: float) -> str:
    minutes = round(seconds / 60)
    return "less than a minute" if seconds < 50 else f"about {count(max(minutes, 1), 'minute')}"


def _target(name: str | None, source: Source) -> tuple[str, str]:
    """The index that the documents go to, "" for a new one, and why that cannot be."""
    names = admin.names()
    if names:
        left, right = st.columns(2)
        if st.session_state.get(INTO) not in (None, NEW, *names):  # one that has been removed
            del st.session_state[INTO]
        at = names.index(name) if name in names else len(names)
        into = str(left.selectbox("Add to", [*names, NEW], at, key=INTO))
        if into != NEW:
            return into, ""
    else:
        right = st.container()
    right.text_input("Name of the new index", key=NAME, placeholder=_suggested_name(source))
    problem = ""
    with messages.errors(_in_field):
        problem = "it cannot have this name"
        new = _new_name(source)
        if "/" in new or "\\" in new:
            raise SemsearchError("The name of an index has no '/'.", "Use letters, digits, '-' and '_'.")
        admin.folder(new)
        if new in names:
            raise SemsearchError(f"There is an index {new} already.", "Choose it above, or another name.")
        problem = ""
    return "", problem


def _new_name(source: Source) -> str:
    return str(st.session_state.get(NAME) or "").strip() or _suggested_name(source)


def _suggested_name(source: Source) -> str:
    return free_name(source.place.name if source.place else "documents")


def free_name(wanted: str) -> str:
    """A name for the index of a folder, which no other index has.

    >>> free_name("My notes (old)")
    'My-notes-old'
    """
    stem, taken = re.sub(r"[^\w.]+", "-", wanted).strip("-._")[:60] or "documents", admin.names()
    numbered = (f"{stem}-{at}" for at in range(2, len(taken) + 3))
    return next(name for name in (stem, *numbered) if name not in taken)


def _options_of_new() -> None:
    """Encoder, splitter and vector index, under the names of `semsearch index --help`."""
    hint = (
        "Or the folder of a model, hf:owner/name, or MODEL#TEMPLATE, such as ~/bert#cot-bert. All documents of an "
        "index share it. The index can be encoded again with another one later."
    )
    names = encoder_picker.local_names()
    encoder_picker.box("Encoder", names, ENCODER, hint, placeholder="by the language of the texts")
    hint = f"{widgets.SPLIT_HELP} It can be changed later, in the library."
    widgets.splitter_fields("add.split", Splitter(), kind_help=hint)
    hint = (
        "auto: by the number of vectors. exact and flat: every vector, by numpy or FAISS. compressed: a code "
        "for every vector, in a third of the memory. ivf: codes of the nearest cells only, for millions."
    )
    st.selectbox("Vector index (--backend-type)", admin.backends(), key="add.backend", help=hint)


def _begin(name: str, new: bool, source: Source, dry_run: bool) -> None:
    """Add what is in the fields: the body of a click."""
    state, place, passages = st.session_state, source.place, source.passages
    uploads = [(file.name, file.getvalue()) for file in state.get(_files_key()) or ()]
    options = replace(read_options.options("add", state), dry_run=dry_run)

    def fill(index: Index, report: jobs.Report) -> SyncReport:
        if uploads:
            return index.add_files(((each, io.BytesIO(content)) for each, content in uploads), report, options)
        return index.sync(() if place is None else (place,), options, report)

    what = f"Adding {count(len(uploads), 'file')}" if uploads else f"Indexing {folders.shortened(place or Path())}"
    with messages.refusing():
        if new:
            encoder = str(state.get(ENCODER) or "").strip() or source.encoder
            encoder = encoder or (admin.usual_encoder(admin.languages_of_files([place]))[0] if place else "default")
            make(name, what, fill, encoder, passages)
        else:
            about = "Nothing is written." if dry_run else ""
            opened = lambda report: _filled(pool.open_copy(name), fill, report)  # noqa: E731
            expected = None if dry_run else passages
            jobs.start(name, f"Preview: {what}" if dry_run else what, opened, about=about, expected=expected)
        if not dry_run:
            state[PATH] = state[NAME] = ""
            state[ROUND] = state.get(ROUND, 0) + bool(uploads)
        state[BEGUN] = True


def _filled(index: Index, fill: Fill, report: jobs.Report) -> jobs.Outcome:
    with index:
        return progress.outcome(fill(index, report))


def make(name: str, what: str, fill: Fill, encoder: str = "default", passages: int = 0) -> None:
    """Make the index, fill it in the background, and go on to Search; one that cannot be filled is removed again.

    Raises SemsearchError.
    """
    if not _is_local(encoder):
        raise SemsearchError(f"{encoder} is not on this machine.", "Download it on the page Models first.")
    chosen = "add.split.kind" in st.session_state
    splitter = widgets.splitter_chosen("add.split") if chosen else None
    backend = st.session_state.get("add.backend") or "auto"
    Index.create(name, encoder=pool.encoder(encoder), splitter=splitter, backend=backend).close()
    folder = admin.folder(name)

    def work(report: jobs.Report) -> jobs.Outcome:
        try:
            return _filled(pool.open_copy(name), fill, report)
        except SemsearchError:
            with Index.open(folder) as index:
                empty = not len(index)
            if empty:
                admin.remove(folder)
            raise

    jobs.start(name, what, work, expected=passages)
    index_picker.choose([name])
    navigation.go_on(index_picker.SEARCH)
