"""The runs of training: how far each is, loss and score as they come, stopping one and going on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import altair as alt
import streamlit as st

from semsearch import SemsearchError, TrainingRun, training_run, training_runs

from ..shared import jobs, pool
from ..shared.charts import BLUE, ORANGE, Chart
from ..shared.urls import URL
from . import commands

ALIVE = ("starting", "running", "stopping", "ending")
ICONS = {"done": ":material/check_circle:", "stopped": ":material/pause_circle:", "failed": ":material/error:"}
POINTS = 1_500  # of a chart: more are no finer on a screen


def runs(home: Path) -> bool:
    """The runs in the folders of `home`, and the chosen one as it grows. Whether there is any."""
    found = {str(run.folder): run for run in training_runs(home)}
    for begun in sorted(home.glob(f"*/{commands.COMMAND}")):  # also those that have not come as far as a run
        found.setdefault(str(begun.parents[1]), None)  # type: ignore[arg-type]
    found = {path: run for path, run in found.items() if run or not _several(Path(path))}
    if not found:
        st.info("Nothing was trained here yet. Choose a method below, a model to begin with, and texts of yours.",
                icon=":material/info:")  # fmt: skip
        return False
    path = st.selectbox("Run", found, key="run", bind=URL, format_func=lambda one: _called(home, one)) or next(
        iter(found)
    )
    _watched(Path(path))
    return True


def _several(folder: Path) -> bool:
    """Whether these are the runs of several seeds, each of which is shown by itself."""
    return any(folder.glob("seed-*/run/settings.json"))


def _called(home: Path, path: str) -> str:
    return Path(path).relative_to(home).as_posix() if Path(path).is_relative_to(home) else path


def _watched(folder: Path) -> None:
    """The run, drawn anew every two seconds while it is alive; once its state is another, the whole page is."""
    state = state_of(folder, _read(folder))
    shown = st.fragment(_shown, run_every=2.0) if state in ALIVE else _shown
    shown(folder, state)


def _shown(folder: Path, before: str) -> None:
    with pool.told():
        run = _read(folder)
        state = state_of(folder, run)
        if state != before:
            st.rerun()
        _head(folder, run, state)
        if run:
            _charts(run)
        if state == "done" and run and run.result:
            _next(run)
        _said(folder)


def _read(folder: Path) -> TrainingRun | None:
    try:
        return training_run(folder)
    except SemsearchError:
        return None


def state_of(folder: Path, run: TrainingRun | None) -> str:
    """starting, running, stopping, ending, done, stopped or failed."""
    alive = commands.alive(_owner(folder))
    if run and run.state == "running":
        return "stopping" if commands.stopping(folder, run.pid) else "running"
    if alive:
        return "ending" if run and run.result else "starting"
    if run and run.state == "done":
        return "done"
    return "failed" if commands.error(_owner(folder)) else "stopped"


def _owner(folder: Path) -> Path:
    """The folder whose command runs it: its own, or that of several seeds."""
    return folder if commands.begun_by(folder) or not folder.name.startswith("seed-") else folder.parent


def _head(folder: Path, run: TrainingRun | None, state: str) -> None:
    steps, step = int(run.settings.get("steps", 0)) if run else 0, run.step if run else 0
    told = [state]
    if run:
        told += [f"step {step:,} of {steps:,}", *_latest(run)]
    with st.container(border=True):
        if state in ALIVE:
            st.progress(min(step / steps, 1.0) if steps else 0.0, pool.plain(" · ".join(told)))
        else:
            st.markdown(f"{ICONS[state]} {pool.plain(' · '.join(told))}")
        if run:
            st.caption(pool.plain(_about(run)))
        if state == "failed":
            st.error(pool.plain(commands.error(_owner(folder))), icon=":material/error:")
        row = st.container(horizontal=True)
        if state in ALIVE:
            row.button("Stop", key="train.stop", icon=":material/stop:", on_click=_stop, args=(folder, run),
                       disabled=state != "running" and run is not None,
                       help="Waits for the step, and for the score if one is being taken; then saves where it stands. "
                       "It can be resumed.")  # fmt: skip
        elif state in ("stopped", "failed") and commands.begun_by(_owner(folder)):
            row.button("Go on" if run else "Try again", key="train.again", icon=":material/play_arrow:",
                       on_click=_again, args=(_owner(folder),),
                       help="Gives the same command again: it goes on where the run stood.")  # fmt: skip
        elif state == "stopped":
            st.caption("It was begun on the command line. Type the same command again, and it goes on where it stood.")


def _about(run: TrainingRun) -> str:
    """What it was told, in a line."""
    settings = run.settings
    base, examples = settings.get("base", {}), settings.get("examples", {})
    recipe = settings.get("recipe", {})
    return (
        f"{settings.get('method')} on {Path(str(base.get('name', ''))).name}, {examples.get('count', 0):,} examples of "
        f"{Path(str(examples.get('source', ''))).name}, batch {recipe.get('batch')}, rate {recipe.get('rate'):g}, seed "
        f"{settings.get('seed')} · {run.folder}"
    )


def _latest(run: TrainingRun) -> list[str]:
    losses = [line for line in run.metrics if "loss" in line]
    scores = [line for line in run.metrics if "dev" in line]
    told = []
    if losses:
        told += [f"loss {losses[-1]['loss']:.4f}", f"{losses[-1].get('seconds', 0):,.0f} s"]
    if scores:
        best = max(scores, key=lambda line: float(line["dev"]))
        told += [f"dev {scores[-1]['dev']:.2f}", f"best {best['dev']:.2f} at step {best['step']:,}"]
    return told


def _charts(run: TrainingRun) -> None:
    steps = max(run.step, 1)
    losses = [line for line in run.metrics if "loss" in line]
    scores = [line for line in run.metrics if "dev" in line]
    left, right = st.columns(2)
    with left:
        if losses:
            st.altair_chart(_line(losses, "loss", "Loss", steps, BLUE), key="loss chart")
        else:
            st.caption("The loss is told every ten steps.")
    with right:
        if scores:
            title = str(scores[-1].get("measure", "Score on dev"))
            st.altair_chart(_line(scores, "dev", f"{title}, percent", steps, ORANGE), key="dev chart")
        elif run.settings.get("dev"):
            st.caption("The first score on dev is still to come.")
        else:
            st.caption("Nothing judges this run (--validation none): the last encoder is kept.")


def _line(lines: Sequence[Mapping[str, Any]], field: str, title: str, steps: int, colour: str) -> Chart:
    """One figure over the steps."""
    thin = lines[:: max(1, len(lines) // POINTS)]
    rows = [{"step": line["step"], "value": line[field]} for line in (*thin, lines[-1])]
    many = len(rows) > 60
    chart = alt.Chart(alt.Data(values=rows)).mark_line(color=colour, point=False if many else {"color": colour})
    return chart.encode(
        x=alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, steps], nice=False), axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, padding=8)),
        tooltip=[alt.Tooltip("step:Q", format=","), alt.Tooltip("value:Q", title=field, format=".4f")],
    ).properties(title=alt.Title(title, anchor="start", fontSize=14), height=260)


def _next(run: TrainingRun) -> None:
    """What can be done with what a run has made."""
    result, folder = run.result or {}, str(run.folder)
    if result.get("score") is not None:
        st.success(f"Best score {result['score']:.2f}, reached at step {result['step']:,}: that encoder was kept.",
                   icon=":material/check:")  # fmt: skip
    row = st.container(horizontal=True)
    row.button("Make an index with it", key="train.index.it", icon=":material/database:", on_click=_go,
               args=("Indexes", "new.encoder", folder), help="Chooses it in the form for a new index.")  # fmt: skip
    row.button("Export it", key="train.export.it", icon=":material/output:", on_click=_go,
               args=("Export", "export.model", folder), help="For ONNX Runtime, without PyTorch.")  # fmt: skip
    compare = urlencode({"m": ["default", folder]}, doseq=True)
    row.link_button("Compare it", f"compare?{compare}", icon=":material/compare_arrows:",
                    help="With the usual encoder, sentence by sentence.")  # fmt: skip


def _go(part: str, key: str, folder: str) -> None:
    st.session_state["part"], st.session_state[key] = part, folder


def _said(folder: Path) -> None:
    owner = _owner(folder)
    arguments, lines = commands.begun_by(owner), commands.said(owner)
    if arguments:
        with st.expander("The same on the command line, and what it said", icon=":material/terminal:"):
            st.code(commands.written(arguments), language=None, wrap_lines=True)
            if lines:
                st.code("\n".join(lines), language=None, wrap_lines=True)


def _stop(folder: Path, run: TrainingRun | None) -> None:
    try:
        commands.stop(folder, run)
    except SemsearchError as error:
        jobs.refuse(str(error))


def _again(folder: Path) -> None:
    try:
        commands.begin(folder, commands.begun_by(folder))
    except SemsearchError as error:
        jobs.refuse(str(error))
