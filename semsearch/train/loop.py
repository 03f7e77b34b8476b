"""The loop: batches in an order that follows from the seed, AdamW, a linear schedule, clipping, selection on dev.

What a run leaves in its folder:

    encoder.json, model.safetensors, …   the encoder, the best on dev so far
    run/settings.json                    everything needed to repeat it
    run/metrics.jsonl                    a line for each step that is told, and for each score on dev
    run/loss.png                         loss and score over steps
    run/state.safetensors                where it stands, to go on; gone once it is done
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from semsearch.encoders import _device
from semsearch.errors import SemsearchError, UsageError
from semsearch.examples import Examples
from semsearch.objectives import Base, Recipe
from semsearch.train import state
from semsearch.train.gradients import add_gradients, chance
from semsearch.train.learner import Learner
from semsearch.train.selection import Dev
from semsearch.train.state import Progress

RUN = "run"
METRICS, SETTINGS = "metrics.jsonl", "settings.json"
TOLD_EVERY = 10  # steps between two lines of the metrics
LOG = logging.getLogger(__name__)

Teacher = Callable[[Sequence[str]], Any]  # texts -> (n, d)
Keep = Callable[[Progress], None]  # puts the encoder as it is now where the best one lies


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run is. `loss` is the mean since the last step that was told; `dev` the last score, in percent."""

    step: int
    total: int
    loss: float
    rate: float
    dev: float | None
    best: float | None
    seconds: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and in which parts: steps in all, texts a step, and of those how many memory holds (0: all)."""

    steps: int
    batch: int
    micro: int
    seed: int


def plan(examples: Examples, recipe: Recipe, *, steps: int = 0, micro: int = 0, seed: int = 0) -> Plan:
    """As many steps as `recipe.epochs` over the examples take, or `steps`. A last batch that is not full is left out.

    Raises UsageError where there are too few examples.
    """
    if len(examples) < 2:
        raise UsageError(
            f"{examples.source or 'the data'} has {len(examples)} usable examples.", "Training needs two or more."
        )
    batch = min(recipe.batch, len(examples))
    usual = max(1, round(recipe.epochs * (len(examples) // batch)))
    return Plan(steps or usual, batch, micro if 0 < micro < batch else 0, seed)


class Loop:
    """One run of one seed. `state` lies in `folder`/run; `keep` is called whenever the encoder is the best so far."""

    def __init__(
        self,
        learner: Learner,
        objective: Base,
        examples: Examples,
        planned: Plan,
        folder: Path,
        *,
        dev: Dev | None = None,
        teacher: Teacher | None = None,
        keep: Keep | None = None,
        report: Callable[[Step], None] | None = None,
        settings: str = "{}",
    ) -> None:
        self.learner, self.objective = learner, objective.to(learner.device)
        self.examples, self.plan = examples, planned
        self.recipe, self.dev, self.teacher = learner.recipe, dev, teacher
        self.keep, self.report, self.settings = keep, report, settings
        self.home = folder / RUN
        self.home.mkdir(parents=True, exist_ok=True)
        self.learned = learner.parameters | {f"objective.{name}": value for name, value in objective.named_parameters()}
        if not self.learned:
            raise UsageError("no parameter would learn.", "Free some: the recipe holds all of them.")
        self.optimiser = torch.optim.AdamW(
            self.learned.values(),
            lr=self.recipe.rate,
            betas=self.recipe.betas,
            eps=self.recipe.epsilon,
            weight_decay=self.recipe.weight_decay,
            fused=True,
        )
        self.progress = Progress()
        self.micro = planned.micro
        self._order: tuple[int, list[int]] = (-1, [])
        self._idle = 0  # batches that could teach nothing

    def resume(self) -> None:
        """Go on where the run in the folder stands."""
        self.progress = state.load(self.home, self.learned, self.optimiser)
        _cut(self.home / METRICS, self.progress.step)

    def run(self) -> Progress:
        """Train to the end of the plan."""
        begun, before, losses = time.monotonic(), self.progress.seconds, []
        score: float | None = None
        while self.progress.step < self.plan.steps:
            losses.append(self._step())
            step = self.progress.step + 1
            self.progress = replace(self.progress, step=step, seconds=before + time.monotonic() - begun)
            last = step == self.plan.steps
            due = last or step % self.recipe.eval_every == 0
            if due or step % TOLD_EVERY == 0:
                self._tell(step, losses, score)
                losses = []
            if due:
                score = self._judged(step)
                self.progress = replace(self.progress, seconds=before + time.monotonic() - begun)
                state.save(self.home, self.progress, self.learned, self.optimiser, self.settings)
        if self._idle:
            LOG.warning(
                "%d of %d batches had one label alone and taught nothing: use larger batches, or data whose labels "
                "are mixed.",
                self._idle,
                self.plan.steps,
            )
        return self.progress

    def _step(self) -> float:
        """One step of the optimiser; the loss before it."""
        batch = self.examples.rows(self._batch(self.progress.step))
        views = self.objective.views
        rows = [self.learner.rows(view, batch.columns[view.column]) for view in views]
        labels = self._labels(batch)
        self.learner.train()
        self.objective.train()
        self.optimiser.zero_grad(set_to_none=True)
        loss = self._added(rows, labels)
        if not math.isfinite(loss):
            raise SemsearchError(
                f"the loss is {loss} at step {self.progress.step + 1}.", "Lower the learning rate: --rate 1e-5"
            )
        torch.nn.utils.clip_grad_norm_(self.learned.values(), self.recipe.clip or math.inf)
        for group in self.optimiser.param_groups:
            group["lr"] = rate(self.recipe, self.progress.step, self.plan.steps)
        self.optimiser.step()
        return loss

    def _added(self, rows: list[list[list[int]]], labels: Tensor | None) -> float:
        """The gradients of one batch; where memory does not hold its parts, of smaller ones."""
        before = chance(self.learner.device)
        try:
            return add_gradients(self.learner, self.objective, rows, labels, self.micro)
        except (RuntimeError, MemoryError) as error:
            if not _device.out_of_memory(error) or self.micro == 1:
                raise
        if self.learner.device != "cpu":
            torch.cuda.empty_cache()
            torch.cuda.set_rng_state(before, self.learner.device)
        else:
            torch.set_rng_state(before)
        self.micro = max(1, (self.micro or self.plan.batch) // 2)
        LOG.warning("memory does not hold the batch: it is computed in parts of %d texts from here on.", self.micro)
        self.optimiser.zero_grad(set_to_none=True)
        return self._added(rows, labels)

    def _labels(self, batch: Examples) -> Tensor | None:
        wanted = self.objective.labels
        if wanted == "none":
            return None
        if wanted == "teacher":
            if self.teacher is None:
                raise UsageError("this way of training needs a teacher.", "Name one: --teacher MODEL")
            texts = [text for view in self.objective.views for text in batch.columns[view.column]]
            return torch.from_numpy(np.asarray(self.teacher(texts))).to(self.learner.device)
        if batch.labels is None:
            raise UsageError(
                f"{self.examples.source} has no labels.", "Add a column label or score, or choose another method."
            )
        if not self.objective.teaches(batch.labels):
            self._idle += 1
        kind = torch.long if wanted == "class" else torch.float32
        return torch.tensor(batch.labels, dtype=kind, device=self.learner.device)

    def _batch(self, step: int) -> list[int]:
        """The rows of a step: each epoch has an order of its own, which follows from the seed."""
        each = len(self.examples) // self.plan.batch
        epoch, at = divmod(step, each)
        if self._order[0] != epoch:
            order = np.random.default_rng([self.plan.seed, epoch]).permutation(len(self.examples))
            self._order = epoch, order.tolist()
        return self._order[1][at * self.plan.batch : (at + 1) * self.plan.batch]

    def _judged(self, step: int) -> float | None:
        """The score on dev, in percent; the encoder is kept where it is the best so far, or where there is no dev."""
        score = None if self.dev is None else self.dev.score(self.learner.encode)
        best = self.progress.best
        if score is not None:
            self._note({"step": step, "dev": score, "measure": self.dev.measure if self.dev else ""})
        if score is None or best is None or score > best:
            self.progress = replace(self.progress, best=score, best_step=step)
            if self.keep is not None:
                self.keep(self.progress)
        return score

    def _tell(self, step: int, losses: Sequence[float], score: float | None) -> None:
        mean = float(np.mean(losses))
        seconds = self.progress.seconds
        now = rate(self.recipe, step - 1, self.plan.steps)
        self._note({"step": step, "loss": mean, "rate": now, "seconds": round(seconds, 3)})
        if self.report is not None:
            left = seconds / step * (self.plan.steps - step)
            self.report(Step(step, self.plan.steps, mean, now, score, self.progress.best, seconds, left))

    def _note(self, line: dict[str, Any]) -> None:
        with (self.home / METRICS).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def rate(recipe: Recipe, step: int, steps: int) -> float:
    """The learning rate of a step, counted from 0: up to the recipe's over the warm-up, then down to 0 in a line.

    >>> [round(rate(Recipe(batch=1, rate=1.0, warmup=0.5), step, 4), 2) for step in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    """
    warm = recipe.warmup if recipe.warmup > 1 else recipe.warmup * steps
    if step < warm:
        return recipe.rate * min(1.0, (step + 1) / warm)
    if recipe.schedule == "constant":
        return recipe.rate
    return recipe.rate * (steps - step) / max(1.0, steps - warm)


def metrics(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's metrics."""
    with (folder / RUN / METRICS).open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.endswith("\n"))


def _cut(file: Path, step: int) -> None:
    """Leave out of the metrics what was told after `step`, which will be told again."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    kept = []
    for line in lines:
        try:
            if json.loads(line)["step"] <= step:
                kept.append(line)
        except (ValueError, KeyError):  # cut short as the run was killed
            continue
    file.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
