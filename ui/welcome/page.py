"""The page of a home without an index: one panel that makes one from a folder, from files or from the sample."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index, SemsearchError, SyncReport, admin
from semsearch.types import Survey
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation, pool, widgets
from ..shared.messages import size
from ..shared.work import background, jobs, progress
from . import folders

PATH, FILES = "first folder", "first files"  # keys of the widgets
MOST_TYPES = 4  # that are named
WORDS = """Type a folder, or drop files. semsearch reads them, and then finds passages by what they mean. Everything
stays on this machine."""
Fill = Callable[[Index, jobs.Report], SyncReport]


def page() -> None:
    """The page."""
    st.title("Search your own documents")
    messages.outcome_of_click()
    with st.container(border=True, key="welcome"):
        st.markdown(WORDS)
        typed = _folder()
        counted = st.container()
        files = st.file_uploader("Or drop files here", accept_multiple_files=True, key=FILES)
        place = folders.expanded(typed) if typed else None
        ready = bool(files) or (place is not None and _surveyed(place, counted))
        name = _name(place.name if place and not files else "documents")
        row = widgets.row()
        label = f"Make the index “{name}” and search it" if ready else "Make the index and search it"
        click, args = (_of_files, (name,)) if files else (_of_folder, (name, str(place)))
        widgets.button(label, "bolt", click, args, place=row, key="first index", kind="primary", off=not ready)
        hint = "Sixty short articles on everyday and technical subjects."
        widgets.button("Try the sample", "menu_book", _of_sample, place=row, hint=hint)
    home = folders.shortened(pool.home())
    row = widgets.row()
    row.caption(messages.plain(f"The index is kept in {home}. Other encoders and options:"), width="content")
    navigation.link("indexes", {}, place=row)


def _folder() -> str:
    """The field for a folder: it completes the names of folders, and takes any path that is typed."""
    typed = str(st.session_state.get(PATH) or "")
    hint = "The folder, or a single file. It is only read. Type a part of its name, or all of its path, then Enter."
    places = folders.suggested(typed)
    options = places if typed in ("", *places) else [typed, *places]
    chosen = st.selectbox(
        "Folder",
        options,
        None,
        key=PATH,
        placeholder="~/notes",
        accept_new_options=True,
        help=hint,
        filter_mode="fuzzy",
    )
    return str(chosen or "").strip()


def _surveyed(place: Path, told_at: DeltaGenerator) -> bool:
    """Say what is in the folder, and how long it will take; whether there is anything to read."""
    with told_at, messages.errors():
        if not place.exists():
            raise SemsearchError(f"{place} does not exist.", "Check the path.")
        work = lambda: (admin.survey(place), _encoder(place)[1])  # noqa: E731
        surveyed = background.result(("survey", str(place)), work, "Counting files, and reading some of them …")
        if surveyed is None:
            return True  # one need not wait for it
        estimate, why = surveyed
        messages.caption(described(estimate))
        if why:
            messages.caption(f"{why[0].upper()}{why[1:]}.")
        return estimate.files > 0
    return False


def _encoder(place: Path) -> tuple[str, str]:
    """The encoder for an index of the folder, and why it is another than usual."""
    return admin.usual_encoder(admin.languages_of_files([place]))


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


def _name(suggested: str) -> str:
    """A name for the index of a folder, which no other index has.

    >>> _name("My notes (old)")
    'My-notes-old'
    """
    stem, taken = re.sub(r"[^\w.]+", "-", suggested).strip("-._") or "documents", admin.names()
    numbered = (f"{stem}-{at}" for at in range(2, len(taken) + 3))
    return next(name for name in (stem, *numbered) if name not in taken)


def _of_folder(name: str, place: str) -> None:
    encoder, _ = _encoder(Path(place))
    what = f"Indexing {folders.shortened(Path(place))}"
    _make(name, what, lambda index, report: index.sync(place, None, report), encoder)


def _of_sample() -> None:
    with messages.refusing():
        try:
            place = folders.sample()
        except StopIteration:
            raise SemsearchError("The sample was not installed.", "Choose a folder instead.") from None
        _make("sample", "Indexing the sample", lambda index, report: index.sync(place, None, report))


def _of_files(name: str) -> None:
    uploads = [(file.name, file.getvalue()) for file in st.session_state[FILES]]

    def fill(index: Index, report: jobs.Report) -> SyncReport:
        return index.add_files(((each, BytesIO(content)) for each, content in uploads), report)

    _make(name, f"Adding {count(len(uploads), 'file')}", fill)


def _make(name: str, what: str, fill: Fill, encoder: str = "default") -> None:
    """Make the index, fill it in the background, and go on to Search; one that cannot be filled is removed again."""
    with messages.refusing():
        Index.create(name, encoder=encoder).close()
        folder = admin.folder(name)

        def work(report: jobs.Report) -> jobs.Outcome:
            try:
                with Index.open(folder) as index:
                    return progress.outcome(fill(index, report))
            except SemsearchError:
                with Index.open(folder) as index:
                    empty = not len(index)
                if empty:
                    admin.remove(folder)
                raise

        jobs.start(name, what, work)
        index_picker.choose([name])
        navigation.go_on(index_picker.SEARCH)
