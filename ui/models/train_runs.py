"""Training runs: how far each is, loss and score as they come, stopping and resuming."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import altair as alt
import streamlit as st

from semsearch import SemsearchError
from semsearch.training import TrainingRun, training_run, training_runs

from ..shared import messages, widgets
from ..shared.charts import BLUE, ORANGE, Chart
from ..shared.messages import plain
from ..shared.widgets import URL
from . import commands

ALIVE = ("starting", "running", "stopping", "ending")
ICONS = {"done": ":material/check_circle:", "stopped": ":material/pause_circle:", "failed": ":material/error:"}
POINTS = 1_500  # of a chart: more are no finer on a screen


def show(home: Path) -> bool:
    """The runs in the folders of `home`, and the chosen one as it grows. Whether there is any."""
    found: dict[str, TrainingRun | None] = {str(run.folder): run for run in training_runs(home)}
    for command in sorted(home.glob(f"*/{commands.COMMAND}")):  # also those that ended before they wrote a run
        found.setdefault(str(command.parents[1]), None)
    paths = [path for path, run in found.items() if run or not _has_seeds(Path(path))]
    if not paths:
        messages.info("Nothing was trained here yet. Choose a method below, a base model, and texts of yours.")
        return False
    label = lambda path: _label(home, path)  # noqa: E731
    _watch(Path(st.selectbox("Run", paths, key="run", bind=URL, format_func=label) or paths[0]))
    return True


def _has_seeds(folder: Path) -> bool:
    """Whether it contains a run for each of several seeds, which are listed themselves."""
    return any(folder.glob("seed-*/run/settings.json"))


def _label(home: Path, path: str) -> str:
    return Path(path).relative_to(home).as_posix() if Path(path).is_relative_to(home) else path


def _watch(folder: Path) -> None:
    """The run, drawn again every two seconds while it is alive; once its state changes, the whole page is."""
    state = state_of(folder, _read(folder))
    shown = st.fragment(_shown, run_every=2.0) if state in ALIVE else _shown
    shown(folder, state)


def _shown(folder: Path, before: str) -> None:
    with messages.errors():
        run = _read(folder)
        state = state_of(folder, run)
        if state != before:
            st.rerun()
        _head(folder, run, state)
        if run:
            _charts(run)
        if state == "done" and run and run.result:
            _next_steps(run)
        _command(folder)


def _read(folder: Path) -> TrainingRun | None:
    try:
        return training_run(folder)
    except SemsearchError:
        return None


def state_of(folder: Path, run: TrainingRun | None) -> str:
    """starting, running, stopping, ending, done, stopped or failed."""
    alive = commands.is_alive(_owner(folder))
    if run and run.state == "running":
        return "stopping" if commands.stopping(folder, run.pid) else "running"
    if alive:
        return "ending" if run and run.result else "starting"
    if run and run.state == "done":
        return "done"
    return "failed" if commands.error(_owner(folder)) else "stopped"


def _owner(folder: Path) -> Path:
    """The folder whose command runs it: its own, or that of several seeds."""
    return folder if commands.command_of(folder) or not folder.name.startswith("seed-") else folder.parent


def _head(folder: Path, run: TrainingRun | None, state: str) -> None:
    steps, step, owner = int(run.settings.get("steps", 0)) if run else 0, run.step if run else 0, _owner(folder)
    status = plain(" · ".join([state, *([f"step {step:,} of {steps:,}", *_latest(run)] if run else [])]))
    with st.container(border=True):
        if state in ALIVE:
            st.progress(min(step / steps, 1.0) if steps else 0.0, status)
        else:
            st.markdown(f"{ICONS[state]} {status}")
        if run:
            messages.caption(_settings(run))
        if state == "failed":
            messages.error(commands.error(owner))
        row = st.container(horizontal=True)
        if state in ALIVE:
            hint = (
                "Ends after the current step, and after a score that is being measured; saves its state to be resumed."
            )
            stop, off = messages.refusing()(commands.stop), state != "running" and run is not None
            widgets.button("Stop", "stop", stop, (folder, run), place=row, key="train.stop", hint=hint, off=off)
        elif state in ("stopped", "failed") and commands.command_of(owner):
            label = "Resume" if run else "Try again"
            hint = "Runs the same command again: it continues where the run has stopped."
            begin, args = messages.refusing()(commands.begin), (owner, commands.command_of(owner))
            widgets.button(label, "play_arrow", begin, args, place=row, key="train.again", hint=hint)
        elif state == "stopped":
            st.caption("It was begun on the command line. Type the same command again to resume it.")


def _settings(run: TrainingRun) -> str:
    """Its settings, in a line."""
    settings = run.settings
    base, examples = settings.get("base", {}), settings.get("examples", {})
    recipe = settings.get("recipe", {})
    return (
        f"{settings.get('method')} on {Path(str(base.get('name', ''))).name}, {examples.get('count', 0):,} examples of "
        f"{Path(str(examples.get('source', ''))).name}, batch size {recipe.get('batch')}, learning rate "
        f"{recipe.get('rate'):g}, seed {settings.get('seed')} · {run.folder}"
    )


def _latest(run: TrainingRun) -> list[str]:
    losses, scores = _with(run, "loss"), _with(run, "dev")
    parts = []
    if losses:
        parts += [f"loss {losses[-1]['loss']:.4f}", f"{losses[-1].get('seconds', 0):,.0f} s"]
    if scores:
        best = max(scores, key=lambda line: float(line["dev"]))
        parts += [f"score {scores[-1]['dev']:.2f}", f"best {best['dev']:.2f} at step {best['step']:,}"]
    return parts


def _with(run: TrainingRun, field: str) -> list[Mapping[str, Any]]:
    return [line for line in run.metrics if field in line]


def _charts(run: TrainingRun) -> None:
    steps, losses, scores = max(run.step, 1), _with(run, "loss"), _with(run, "dev")
    left, right = st.columns(2)
    with left:
        if losses:
            st.altair_chart(_line(losses, "loss", "Loss", steps, BLUE), key="loss chart")
        else:
            st.caption("The loss is reported every ten steps.")
    with right:
        if scores:
            title = str(scores[-1].get("measure", "Validation score"))
            st.altair_chart(_line(scores, "dev", f"{title}, percent", steps, ORANGE), key="dev chart")
        elif run.settings.get("dev"):
            st.caption("There is no validation score yet.")
        else:
            st.caption("There is no validation data (--validation none): the last checkpoint is used.")


def _line(lines: Sequence[Mapping[str, Any]], field: str, title: str, steps: int, colour: str) -> Chart:
    """One figure over the steps."""
    thin = lines[:: max(1, len(lines) // POINTS)]
    rows = [{"step": line["step"], "value": line[field]} for line in (*thin, lines[-1])]
    many = len(rows) > 60
    chart = alt.Chart(alt.Data(values=rows)).mark_line(color=colour, point=False if many else {"color": colour})
    line: Chart = chart.encode(
        x=alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, steps], nice=False), axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, padding=8)),
        tooltip=[alt.Tooltip("step:Q", format=","), alt.Tooltip("value:Q", title=field, format=".4f")],
    ).properties(title=alt.Title(title, anchor="start", fontSize=14), height=260)
    return line


def _next_steps(run: TrainingRun) -> None:
    """What can be done with the trained encoder."""
    result, folder = run.result or {}, str(run.folder)
    if result.get("score") is not None:
        messages.success(
            f"Best score {result['score']:.2f}, reached at step {result['step']:,}: that checkpoint was saved."
        )
    row = st.container(horizontal=True)
    hint, args = "Chooses it in the form for a new index.", ("Indexes", "new.encoder", folder)
    widgets.button("Create an index with it", "database", _go, args, place=row, key="train.index.it", hint=hint)
    hint, args = "For ONNX Runtime, without PyTorch.", ("Export", "export.model", folder)
    widgets.button("Export it", "output", _go, args, place=row, key="train.export.it", hint=hint)
    address = f"compare?{urlencode({'m': ['default', folder]}, doseq=True)}"
    hint, icon = "With the default encoder, sentence by sentence.", ":material/compare_arrows:"
    row.link_button("Compare it", address, help=hint, icon=icon)


def _go(part: str, key: str, folder: str) -> None:
    st.session_state["part"], st.session_state[key] = part, folder


def _command(folder: Path) -> None:
    owner = _owner(folder)
    arguments, lines = commands.command_of(owner), commands.output(owner)
    if arguments:
        with st.expander("The command and its output", icon=":material/terminal:"):
            st.code(commands.as_typed(arguments), language=None, wrap_lines=True)
            if lines:
                st.code("\n".join(lines), language=None, wrap_lines=True)
