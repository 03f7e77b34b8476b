"""The loop: batches in an order that follows from the seed, AdamW, a linear schedule, clipping, selection on dev.

Where it stands is kept at every score on dev, every ten minutes, and where a signal ends it. The vectors that are
judged and kept are those of the mean of the weights, where the recipe has one kept.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from semsearch.encoders import memory
from semsearch.errors import SemsearchError, UsageError
from semsearch.training import rng, schedule, signals
from semsearch.training.averaging import Average
from semsearch.training.datasets.dataset import Examples
from semsearch.training.gradients import add_gradients
from semsearch.training.model import Learner
from semsearch.training.objectives import Base
from semsearch.training.run_folder import metrics, plot, state
from semsearch.training.run_folder.state import Progress
from semsearch.training.schedule import Plan
from semsearch.training.selection import Dev

TOLD_EVERY = 10  # steps between two lines of the metrics
SAVE_SECONDS = 600.0  # between two states, at most: what a crash can cost
LOG = logging.getLogger(__name__)

Teacher = Callable[[Sequence[str]], Any]  # texts -> (n, d)
Keep = Callable[[Progress], None]  # puts the encoder as it is now where the best one lies


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run is. `loss` is the mean of the last steps, ten at most; `dev` the last score, in percent."""

    step: int
    total: int
    loss: float
    rate: float
    dev: float | None
    best: float | None
    seconds: float
    seconds_left: float


class Loop:
    """One run of one seed. What it says and where it stands lies in `home`; `keep` is called for the best encoder."""

    def __init__(
        self,
        learner: Learner,
        objective: Base,
        examples: Examples,
        planned: Plan,
        home: Path,
        *,
        dev: Dev | None = None,
        teacher: Teacher | None = None,
        keep: Keep | None = None,
        report: Callable[[Step], None] | None = None,
        title: str = "",
    ) -> None:
        self.learner, self.objective = learner, objective.to(learner.device)
        self.examples, self.plan, self.home, self.title = examples, planned, home, title
        self.recipe, self.dev, self.teacher = learner.recipe, dev, teacher
        self.keep, self.report = keep, report
        own = {f"objective.{name}": value for name, value in objective.named_parameters()}
        self.learned = learner.parameters | own
        if not self.learned:
            raise UsageError("no parameter would learn.", "Free some: the recipe holds all of them.")
        self.average = Average(learner.parameters, self.recipe.average)
        self.optimiser = torch.optim.AdamW(
            self.learned.values(),
            lr=self.recipe.rate,
            betas=self.recipe.betas,
            eps=self.recipe.epsilon,
            weight_decay=self.recipe.weight_decay,
            fused=True,
        )
        self.progress = Progress(micro=planned.micro)
        self._order: tuple[int, list[int]] = (-1, [])

    def resume(self) -> None:
        """Go on where the run stands. Raises Corrupt where what was kept does not fit."""
        found = state.load(self.home, self.average, self.learned, self.optimiser)
        least = min((each for each in (found.micro, self.plan.micro) if each), default=0)
        self.progress = replace(found, micro=least)
        metrics.cut(self.home, found.step)

    def run(self) -> Progress:
        """Train to the end of the plan. A signal ends it sooner, behind the step that it came in."""
        begun, saved = time.monotonic() - self.progress.seconds, time.monotonic()
        with signals.noticed() as stop:
            while self.progress.step < self.plan.steps and not stop:
                loss = self._step()
                self.average.add(self.progress.step)
                self._count(loss, time.monotonic() - begun)
                if due := self._due(self.progress.step):
                    self._judge()
                    self.progress = replace(self.progress, seconds=time.monotonic() - begun)
                if due or stop or time.monotonic() - saved >= SAVE_SECONDS:
                    state.save(self.home, self.progress, self.average, self.learned, self.optimiser)
                    saved = time.monotonic()
            if stop:
                LOG.warning("stopped at step %d of %d; the same command goes on.", self.progress.step, self.plan.steps)
        if self.progress.step < self.plan.steps:  # whoever handles the signal let it pass
            raise KeyboardInterrupt
        if self.progress.idle:
            LOG.warning(
                "%d of %d batches had one label alone and taught nothing: use larger batches, or data whose labels "
                "are mixed.",
                self.progress.idle,
                self.plan.steps,
            )
        return self.progress

    def _due(self, step: int) -> bool:
        """Whether the encoder is judged after this many steps."""
        return step == self.plan.steps or step % self.recipe.eval_every == 0

    def _step(self) -> float:
        """One step of the optimiser; the loss before it."""
        batch = self.examples.rows(self._batch(self.progress.step))
        rows = [self.learner.rows(view, batch.columns[view.column]) for view in self.objective.views]
        labels = self._labels(batch)
        self.learner.train()
        self.objective.train()
        self.optimiser.zero_grad(set_to_none=True)
        loss = self._added(rows, labels)
        size = float(torch.nn.utils.clip_grad_norm_(self.learned.values(), self.recipe.clip or math.inf))
        if not math.isfinite(loss) or not math.isfinite(size):
            what = f"loss is {loss}" if not math.isfinite(loss) else f"gradients are of length {size}"
            slower = f"--learning-rate {self.recipe.rate / 2:g}"
            raise SemsearchError(
                f"the {what} at step {self.progress.step + 1}.", f"Lower the learning rate, and start anew: {slower}"
            )
        for group in self.optimiser.param_groups:
            group["lr"] = schedule.rate(self.recipe, self.progress.step, self.plan.steps)
        self.optimiser.step()
        return loss

    def _added(self, rows: list[list[list[int]]], labels: Tensor | None) -> float:
        """The gradients of one batch; where memory does not hold its parts, of smaller ones."""
        before, micro = rng.state(self.learner.device), self.progress.micro
        try:
            return add_gradients(self.learner, self.objective, rows, labels, micro)
        except (RuntimeError, MemoryError) as error:
            longest = max(len(row) for view in rows for row in view)
            memory.check_smaller_batch_helps(error, self.learner.device, texts=micro, tokens=longest)
        if self.learner.device != "cpu":
            torch.cuda.empty_cache()
        rng.restore(self.learner.device, before)
        self.optimiser.zero_grad(set_to_none=True)
        self.progress = replace(self.progress, micro=max(1, (micro or self.plan.batch) // 2))
        LOG.warning(
            "memory does not hold the batch: it is computed in parts of %d texts from here on.", self.progress.micro
        )
        return self._added(rows, labels)

    def _labels(self, batch: Examples) -> Tensor | None:
        """What the objective gets beside the vectors: (n,) of the data, or (n · columns, d) of a teacher."""
        wanted, device = self.objective.labels, self.learner.device
        if wanted == "teacher" and self.teacher is not None:
            texts = [text for view in self.objective.views for text in batch.columns[view.column]]
            return torch.from_numpy(np.asarray(self.teacher(texts))).to(device)
        if wanted in ("none", "teacher") or batch.labels is None:
            return None
        if not self.objective.teaches(batch.labels):
            self.progress = replace(self.progress, idle=self.progress.idle + 1)
        return torch.tensor(batch.labels, dtype=torch.long if wanted == "class" else torch.float32, device=device)

    def _batch(self, step: int) -> list[int]:
        """The places of a step's examples."""
        epoch, at = divmod(step, len(self.examples) // self.plan.batch)
        if self._order[0] != epoch:
            self._order = epoch, schedule.order(len(self.examples), self.plan.seed, epoch)
        return self._order[1][at * self.plan.batch : (at + 1) * self.plan.batch]

    def _judge(self) -> None:
        """Score the encoder on dev, in percent; keep it where it is the best so far, or where there is no dev."""
        step, best = self.progress.step, self.progress.best
        with self.average.in_place():
            score = None if self.dev is None else self.dev.score(self.learner.encode)
            if self.dev is not None:
                metrics.note(self.home, {"step": step, "dev": score, "measure": self.dev.measure})
            self.progress = replace(self.progress, dev=score)
            if score is None or best is None or score > best:
                self.progress = replace(self.progress, best=score, best_step=step)
                if self.keep is not None:
                    self.keep(self.progress)
        plot.draw(self.home, self.title)

    def _count(self, loss: float, seconds: float) -> None:
        """Take note of a step that was done."""
        at = self.progress
        step, losses = at.step + 1, (*at.losses, loss)
        mean = float(np.mean(losses))
        used = schedule.rate(self.recipe, at.step, self.plan.steps)
        tells = step % TOLD_EVERY == 0 or self._due(step)
        if tells:
            metrics.note(self.home, {"step": step, "loss": mean, "rate": used, "seconds": round(seconds, 3)})
        self.progress = replace(at, step=step, losses=() if tells else losses, seconds=seconds)
        if self.report is not None:
            left = seconds / step * (self.plan.steps - step)
            self.report(Step(step, self.plan.steps, mean, used, at.dev, at.best, seconds, left))
