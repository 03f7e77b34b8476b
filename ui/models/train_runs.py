"""Training runs: progress at every step, charts, and buttons that stop and resume them."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from semsearch import SemsearchError
from semsearch.training import TrainingRun, training_run, training_runs

from ..shared import messages, navigation, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from ..shared.work import progress
from . import commands, run_charts

ALIVE = ("starting", "running", "stopping", "ending")
ICONS = {"done": ":material/check_circle:", "stopped": ":material/pause_circle:", "failed": ":material/error:"}
SEEDS = "seed-*/run/settings.json"  # the runs of several seeds, which are listed in place of their folder


def show(home: Path) -> bool:
    """The runs in the folders of `home`, and the chosen one as it grows. Returns whether there is any."""
    paths = [str(run.folder) for run in training_runs(home)]
    begun = (command.parents[1] for command in sorted(home.glob(f"*/{commands.COMMAND}")))
    paths += [str(folder) for folder in begun if str(folder) not in paths and not any(folder.glob(SEEDS))]
    if not paths:
        messages.info("Nothing was trained here yet. Choose a method below, a base model, and texts of yours.")
        return False
    label = lambda path: Path(path).relative_to(home).as_posix() if Path(path).is_relative_to(home) else path  # noqa: E731
    folder = Path(st.selectbox("Run", paths, key="run", bind=URL, format_func=label) or paths[0])
    state = state_of(folder, _read(folder))  # drawn again every second while it is alive
    (st.fragment(_shown, run_every=1.0) if state in ALIVE else _shown)(folder, state)
    return True


def _shown(folder: Path, before: str) -> None:
    """A run; once its state is another one, the whole page is drawn again."""
    with messages.errors():
        run = _read(folder)
        state = state_of(folder, run)
        if state != before:
            st.rerun()
        _head(folder, run, state)
        if run is not None:
            run_charts.show(run)
        if state == "done" and run and run.result:
            _next_steps(run)
        _command(folder)


def _read(folder: Path) -> TrainingRun | None:
    with suppress(SemsearchError):
        return training_run(folder)
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
    """The folder of the command that runs it: its own, or that of several seeds."""
    return folder if commands.command_of(folder) or not folder.name.startswith("seed-") else folder.parent


def _head(folder: Path, run: TrainingRun | None, state: str) -> None:
    """State, progress and settings, and the button that stops or resumes the run."""
    steps, step, owner = int(run.settings.get("steps", 0)) if run else 0, run.step if run else 0, _owner(folder)
    counted = [f"step {step:,} of {steps:,}", *_latest(run, state)] if run else []
    status = plain(" · ".join([_doing(owner, run, state), *counted]))
    command = commands.command_of(owner)
    with st.container(border=True):
        if state in ALIVE:
            st.progress(min(step / steps, 1.0) if steps else 0.0, status)
        else:
            st.markdown(f"{ICONS[state]} {status}")
        if run:
            messages.caption(_settings(run))
        if state == "failed":
            messages.error(commands.error(owner))
        if state in ALIVE:
            hint = "Ends after the current step or validation, and saves the state, so that the run can be resumed."
            stop, off = messages.refusing()(commands.stop), state != "running" and run is not None
            widgets.button("Stop", "stop", stop, (folder, run), key="train.stop", hint=hint, off=off)
        elif state != "done" and command:
            label, hint = "Resume" if run else "Try again", "Runs the same command; it continues where the run stopped."
            begin = messages.refusing()(commands.begin)
            widgets.button(label, "play_arrow", begin, (owner, command), key="train.again", hint=hint)
        elif state == "stopped":
            st.caption("It was started on the command line. Type the same command again to resume it.")


def _settings(run: TrainingRun) -> str:
    """Its settings, in a line."""
    base, examples, recipe = (run.settings.get(name, {}) for name in ("base", "examples", "recipe"))
    return (
        f"{run.settings.get('method')} on {Path(str(base.get('name', ''))).name}, {examples.get('count', 0):,} examples"
        f" of {Path(str(examples.get('source', ''))).name}, batch size {recipe.get('batch')}, learning rate "
        f"{recipe.get('rate'):g}, seed {run.settings.get('seed')} · {run.folder}"
    )


def _doing(owner: Path, run: TrainingRun | None, state: str) -> str:
    """The state, and before the first step what is prepared and for how long already."""
    if state not in ("starting", "running") or (run and run.step):
        return "validating" if state == "running" and run and run.moment.doing == "validating" else state
    if not commands.command_of(owner):  # of the command line, which says so in its own window
        return state
    at = commands.preparing(owner) or "starting the process"
    return f"{state} for {progress.duration(commands.age(owner))}: {at}"


def _latest(run: TrainingRun, state: str) -> list[str]:
    """Loss, time, time left and scores."""
    parts, moment = [], run.moment
    if run.losses:
        parts.append(f"loss {run.losses[-1][1]:.4f}")
    if seconds := moment.seconds or float(next((one["seconds"] for one in run.metrics[::-1] if "seconds" in one), 0)):
        parts.append(progress.duration(seconds))
    if state == "running" and moment.seconds_left:
        parts.append(f"{progress.duration(moment.seconds_left)} left")
    if run.best:
        parts += [f"score {run.scores[-1][1]:.2f}", f"best {run.best[1]:.2f} at step {run.best[0]:,}"]
    return parts


def _next_steps(run: TrainingRun) -> None:
    """The next steps with the trained encoder."""
    result, folder = run.result or {}, str(run.folder)
    if result.get("score") is not None:
        messages.success(f"Best score {result['score']:.2f}, at step {result['step']:,}: that checkpoint was saved.")
    row = widgets.row()
    hint, args = "Chooses it in the panel for a new index.", ("", "add.encoder", folder)
    widgets.button("Create an index with it", "database", _go, args, place=row, key="train.index.it", hint=hint)
    hint, args = "For ONNX Runtime, without PyTorch.", ("Export", "export.model", folder)
    widgets.button("Export it", "output", _go, args, place=row, key="train.export.it", hint=hint)
    address = f"compare?{urlencode({'m': ['default', folder]}, doseq=True)}"
    hint, icon = "With the default encoder, sentence by sentence.", ":material/compare_arrows:"
    row.link_button("Compare it", address, help=hint, icon=icon)


def _go(part: str, key: str, folder: str) -> None:
    """Fill in a field of another part of this page, or of the panel in the library, and go there."""
    st.session_state[key] = folder
    if part:
        st.session_state["part"] = part
    else:
        st.session_state["add.into"] = "A new index"
        navigation.go_on("library")


def _command(folder: Path) -> None:
    owner = _owner(folder)
    if arguments := commands.command_of(owner):
        with st.expander("The command and its output", icon=":material/terminal:"):
            st.code(shlex.join(["semsearch", *arguments]), language=None, wrap_lines=True)
            if lines := commands.output(owner):
                st.code("\n".join(lines), language=None, wrap_lines=True)
