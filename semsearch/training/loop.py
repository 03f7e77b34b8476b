"""The training loop: shuffled batches, AdamW, a learning rate schedule, gradient clipping, validation, checkpoints.

Its state is saved at every validation, every `save_seconds`, and when a signal stops it. With an EMA of the weights,
the average is validated and saved as the encoder.
"""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from semsearch.errors import SemsearchError, UsageError
from semsearch.models import batching
from semsearch.training import runs
from semsearch.training.datasets.dataset import Dataset
from semsearch.training.model import TrainableModel
from semsearch.training.objectives._base import BaseObjective
from semsearch.training.optimisation import rng
from semsearch.training.optimisation.averaging import WeightAverage
from semsearch.training.optimisation.gradients import add_gradients
from semsearch.training.optimisation.schedule import Schedule, learning_rate, order
from semsearch.training.run_folder import plot, state
from semsearch.training.run_folder.state import RunState
from semsearch.training.runs import Doing, TrainingMoment
from semsearch.training.validation import Validation

LOG_EVERY = 10  # steps between two lines of the metrics
LOG = logging.getLogger(__name__)

Teacher = Callable[[Sequence[str]], NDArray[np.float32]]  # texts -> (n, d)
SaveBest = Callable[[RunState], None]  # replaces the best encoder by the current one
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """Progress after a step. `loss` is the mean of the last steps, at most ten.

    `score` is that of the last validation and `best` the highest so far, in percent.
    """

    step: int
    total: int
    loss: float
    learning_rate: float
    score: float | None
    best: float | None
    seconds: float
    seconds_left: float


@dataclass
class Loop:
    """One run with one seed. Metrics and state are written to `home`; `save_best` is called for each best encoder."""

    model: TrainableModel
    objective: BaseObjective
    dataset: Dataset
    schedule: Schedule
    home: Path
    validation: Validation | None = None
    teacher: Teacher | None = None
    save_best: SaveBest | None = None
    report: Callable[[TrainingStep], None] | None = None
    title: str = ""
    save_seconds: float = 600.0
    patience: int = 0  # validations without a better score after which the run ends; 0: it takes every step

    def __post_init__(self) -> None:
        self.hyperparameters = self.model.hyperparameters
        self.objective.to(self.model.device)
        head = {f"objective.{name}": value for name, value in self.objective.named_parameters()}
        self.parameters = self.model.parameters | head
        if not self.parameters:
            raise UsageError("no parameter would be trained.", "Unfreeze some: the hyperparameters freeze all of them.")
        self.average = WeightAverage(self.model.parameters, self.hyperparameters.ema_decay)
        self.optimiser = torch.optim.AdamW(
            self.parameters.values(),
            lr=self.hyperparameters.learning_rate,
            betas=self.hyperparameters.betas,
            eps=self.hyperparameters.epsilon,
            weight_decay=self.hyperparameters.weight_decay,
            fused=True,
        )
        self.state = RunState(grad_cache_size=self.schedule.grad_cache_size)

    def resume(self) -> None:
        """Continue from the saved state. Raises Corrupt where it does not belong to this run."""
        saved = state.load(self.home, self.average, self.parameters, self.optimiser)
        sizes = [size for size in (saved.grad_cache_size, self.schedule.grad_cache_size) if size]
        self.state = replace(saved, grad_cache_size=min(sizes, default=0))
        runs.truncate_metrics(self.home, saved.step)
        runs.write_moment(self.home, TrainingMoment(saved.step, seconds=saved.seconds))

    def run(self) -> RunState:
        """Train to the last step, or until `patience` is at an end. A signal stops the run after the current step."""
        started, saved = time.monotonic() - self.state.seconds, time.monotonic()
        with deferred_signals() as stop:
            if self.patience and not self.state.step:
                self._score()  # for the record
            while not self._is_over() and not stop:
                loss = self.step()
                self.average.update(self.state.step)
                self._record(loss, time.monotonic() - started)
                if due := self._is_due(self.state.step):
                    self._validate()
                    self.state = replace(self.state, seconds=time.monotonic() - started)
                if due or stop or time.monotonic() - saved >= self.save_seconds:
                    state.save(self.home, self.state, self.average, self.parameters, self.optimiser)
                    saved = time.monotonic()
            if self._is_over():
                stop.clear()  # there is nothing left to stop
            if stop:
                LOG.warning(
                    "stopped at step %d of %d; the same command continues the run.",
                    self.state.step,
                    self.schedule.steps,
                )
        if not self._is_over():  # the signal's own handler returned
            raise KeyboardInterrupt
        if self.state.idle_batches:
            LOG.warning(
                "%d of %d batches had a single label and no gradient: use larger batches, or shuffle the labels.",
                self.state.idle_batches,
                self.schedule.steps,
            )
        return self.state

    def _is_over(self) -> bool:
        """Whether the last step was taken, or the score has not become better for so many validations."""
        waited = self.state.step - self.state.best_step
        tired = (
            bool(self.patience and self.state.best_step) and waited >= self.patience * self.hyperparameters.eval_every
        )
        return tired or self.state.step == self.schedule.steps

    def _is_due(self, step: int) -> bool:
        """Whether the encoder is validated after this many steps."""
        return step == self.schedule.steps or step % self.hyperparameters.eval_every == 0

    def step(self) -> float:
        """One step of the optimiser; the loss before it. Raises SemsearchError where loss or gradients are infinite."""
        batch = self.dataset.select(self._batch(self.state.step))
        rows = [self.model.rows(view, batch.columns[view.column]) for view in self.objective.views]
        labels = self._labels(batch)
        self.model.train()
        self.objective.train()
        self.optimiser.zero_grad(set_to_none=True)
        loss = self._add_gradients(rows, labels)
        norm = float(
            torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.hyperparameters.max_grad_norm or math.inf)
        )
        if not math.isfinite(loss) or not math.isfinite(norm):
            what = f"loss is {loss}" if not math.isfinite(loss) else f"gradient norm is {norm}"
            lower, fix = self.hyperparameters.learning_rate / 2, "Start anew with a lower learning rate"
            raise SemsearchError(
                f"the {what} at step {self.state.step + 1}.",
                f"{fix}: {lower:g}.",
                f"{fix}: --learning-rate {lower:g} --force",
            )
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.hyperparameters, self.state.step, self.schedule.steps)
        self.optimiser.step()
        return loss

    def _add_gradients(self, rows: list[list[list[int]]], labels: Tensor | None) -> float:
        """Add the gradients of one batch; where memory is full, computed in smaller parts."""
        before, size = rng.state(self.model.device), self.state.grad_cache_size
        try:
            return add_gradients(self.model, self.objective, rows, labels, size)
        except (RuntimeError, MemoryError) as error:
            longest = max(len(row) for view in rows for row in view)
            batching.check_smaller_batch_helps(error, self.model.device, texts=size, tokens=longest)
        if self.model.device != "cpu":
            torch.cuda.empty_cache()
        rng.restore(self.model.device, before)
        self.optimiser.zero_grad(set_to_none=True)
        self.state = replace(self.state, grad_cache_size=max(1, (size or self.schedule.batch_size) // 2))
        LOG.warning(
            "memory is full: batches are computed in parts of %d texts from now on.", self.state.grad_cache_size
        )
        return self._add_gradients(rows, labels)

    def _labels(self, batch: Dataset) -> Tensor | None:
        """The labels of a batch: (n,) of the data, or the vectors (n · columns, d) of the teacher."""
        kind, device = self.objective.labels, self.model.device
        if kind == "teacher" and self.teacher is not None:
            texts = [text for view in self.objective.views for text in batch.columns[view.column]]
            return torch.from_numpy(np.asarray(self.teacher(texts))).to(device)
        if kind in ("none", "teacher") or batch.labels is None:
            return None
        if not self.objective.teaches(batch.labels):
            self.state = replace(self.state, idle_batches=self.state.idle_batches + 1)
        return torch.tensor(batch.labels, dtype=torch.long if kind == "class" else torch.float32, device=device)

    def _batch(self, step: int) -> list[int]:
        """The indices of a step's examples."""
        epoch, at = divmod(step, len(self.dataset) // self.schedule.batch_size)
        indices = order(len(self.dataset), self.schedule.seed, epoch)
        return indices[at * self.schedule.batch_size : (at + 1) * self.schedule.batch_size]

    def _score(self) -> float | None:
        """The score of the encoder, added to the metrics; None where there is no validation."""
        if self.validation is None:
            return None
        score = self.validation.score(self.model.encode)
        runs.append_metrics(self.home, {"step": self.state.step, "dev": score, "measure": self.validation.measure})
        return score

    def _validate(self) -> None:
        """Score the encoder; save it where it is the best so far, or where there is no validation."""
        step, best = self.state.step, self.state.best
        with self.average.applied():
            score = self._score()
            self.state = replace(self.state, score=score)
            if score is None or best is None or score > best:
                self.state = replace(self.state, best=score, best_step=step)
                if self.save_best is not None:
                    self.save_best(self.state)
        plot.draw(self.home, self.title)

    def _record(self, loss: float, seconds: float) -> None:
        """Count a completed step, log it and report it."""
        at = self.state
        step, losses = at.step + 1, (*at.losses, loss)
        mean = float(np.mean(losses))
        used = learning_rate(self.hyperparameters, at.step, self.schedule.steps)
        due = step % LOG_EVERY == 0 or self._is_due(step)
        if due:
            runs.append_metrics(self.home, {"step": step, "loss": mean, "rate": used, "seconds": round(seconds, 3)})
        left = seconds / step * (self.schedule.steps - step)
        doing: Doing = "validating" if self.validation is not None and self._is_due(step) else "training"
        runs.write_moment(self.home, TrainingMoment(step, loss, round(seconds, 3), round(left, 3), doing))
        self.state = replace(at, step=step, losses=() if due else losses, seconds=seconds)
        if self.report is not None:
            self.report(TrainingStep(step, self.schedule.steps, mean, used, at.score, at.best, seconds, left))


@contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Delay the usual effect of a signal until the end of the block; a second signal takes effect at once.

    Yields the list of signals that have arrived. Does nothing outside the main thread, and for signals that are ignored
    or handled outside Python.
    """
    arrived: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        current = {number: signal.getsignal(number) for number in SIGNALS}
        handlers = {number: usual for number, usual in current.items() if usual not in (None, signal.SIG_IGN)}

    def restore() -> None:
        for number, usual in handlers.items():
            signal.signal(number, usual)

    def request(number: int, frame: object) -> None:
        if arrived:
            restore()
            signal.raise_signal(number)
        arrived.append(number)

    for number in handlers:
        signal.signal(number, request)
    try:
        yield arrived
    finally:
        restore()
    if arrived:
        signal.raise_signal(arrived[0])
