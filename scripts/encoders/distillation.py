"""The long distillation: a student reproduces the vectors of its teachers, and how they rank other texts.

A step reads anchors of one shard and, beside each, one of its nearest texts according to the teachers, which is its
answer as often as it is a hard negative. Three losses are added:

    vectors   1 − cosine of student and target
    ranking   the divergence of the student's softmax over a bank of targets, the anchors' nearest and others at random,
              from the target's own
    pairs     the same among the student's vectors of the step, whose errors may go together

A fourth one is CoT-BERT's own objective, off by default (`contrast` is its weight): eq. 3 of its paper, on what is read
of the anchors under the template, a paraphrase of it and its negation, each less what its template says of [PAD]s.

The learning rate is constant after its warm-up, and falls in a last part of the run, whose length can be changed; the
average of the weights is what is measured and saved. The state is saved as `semsearch train` saves its own.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from scripts.encoders import corpus
from scripts.encoders.corpus import Text
from scripts.encoders.student import Student
from scripts.encoders.targets import Target, Vectors, neighbours
from semsearch.errors import SemsearchError
from semsearch.training.hyperparameters import Shape
from semsearch.training.loop import deferred_signals
from semsearch.training.objectives import cotbert
from semsearch.training.optimisation.averaging import WeightAverage
from semsearch.training.run_folder import state
from semsearch.training.run_folder.state import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

NEAR = 8  # texts near an anchor, of the same shard
RANDOM = 512  # of the bank
METRICS, NOTED = "metrics.jsonl", 20  # one line in so many steps
LOSSES = ("vectors", "ranking", "pairs", "contrast")


@dataclass(frozen=True, slots=True)
class Settings:
    """Of a run. `anchors` are those of a step; each has one neighbour beside it.

    `decay` and `rounding` are shares of the run: the last ones, in which the learning rate falls, and in which the
    student computes as its int8 export will. With `seconds` the run has as many steps as these allow, not `steps`.
    """

    steps: int = 24_000
    seconds: float = 0.0
    anchors: int = 32
    learning_rate: float = 1.5e-4
    warmup: int = 100
    decay: float = 0.6
    rounding: float = 0.15
    ema: float = 0.998
    weight_decay: float = 0.01
    temperature: float = 0.05
    vectors: float = 1.0
    ranking: float = 1.0
    pairs: float = 1.0
    contrast: float = 0.0
    eval_every: int = 1_000
    save_seconds: float = 300.0
    seed: int = 0

    def share(self, step: int, seconds: float) -> float:
        """How much of the run is over before a step, counted from 0, after so many seconds."""
        return min(1.0, seconds / self.seconds if self.seconds else step / self.steps)

    def rate(self, step: int, share: float) -> float:
        """The learning rate of a step, counted from 0, where this share of the run is over.

        >>> settings = Settings(steps=100, warmup=10, decay=0.5, learning_rate=1.0)
        >>> [settings.rate(step, settings.share(step, 0.0)) for step in (0, 9, 10, 50, 75, 99)]
        [0.1, 1.0, 1.0, 1.0, 0.5, 0.02]
        """
        falling = max(self.decay, 1 / self.steps)
        return self.learning_rate * min(1.0, (step + 1) / self.warmup, round((1 - share) / falling, 9))


@dataclass(frozen=True, slots=True)
class Shard:
    """The texts of a shard with their targets (n, d) and the places of their nearest texts (n, NEAR).

    `rows` has their tokens where they were prepared, and is empty otherwise.
    """

    texts: Sequence[Text]
    targets: NDArray[np.float32]
    near: NDArray[np.int64]
    rows: Sequence[Sequence[int]] = ()


class Shards:
    """The shards of a run in the order of their names, then in a new one in every epoch; one at a time is in memory."""

    def __init__(self, paths: Sequence[Path], vectors: Vectors, target: Target, settings: Settings) -> None:
        self._vectors, self._target = vectors, target
        self._begin(paths, settings)

    def _begin(self, paths: Sequence[Path], settings: Settings) -> None:
        self._paths, self._settings = paths, settings
        self._last: tuple[Path, Shard] | None = None
        self.per_shard = corpus.SHARD // settings.anchors  # steps

    def batch(self, step: int) -> tuple[Shard, NDArray[np.int64], NDArray[np.int64]]:
        """The shard of a step, the places of its texts (anchors and their neighbours), and those of its bank."""
        shard, anchors = self.anchors(step)
        chance = np.random.default_rng([self._settings.seed, 1, step])
        beside = shard.near[anchors, chance.integers(NEAR, size=len(anchors))]
        others = chance.choice(len(shard.texts), min(RANDOM, len(shard.texts)), replace=False)
        places = np.unique(np.concatenate([anchors, beside]))
        return shard, places, np.unique(np.concatenate([shard.near[places].ravel(), others]))

    def anchors(self, step: int) -> tuple[Shard, NDArray[np.int64]]:
        """The shard of a step, and the places of its anchors."""
        turn, at = divmod(step, self.per_shard)
        epoch, number = divmod(turn, len(self._paths))
        seed = self._settings.seed
        order = np.random.default_rng([seed, epoch]).permutation(len(self._paths)) if epoch else range(len(self._paths))
        shard = self._read(self._paths[order[number]])
        texts = np.random.default_rng([seed, epoch, number]).permutation(len(shard.texts))
        return shard, texts[at * self._settings.anchors : (at + 1) * self._settings.anchors]

    @property
    def first(self) -> Shard:
        """The first shard."""
        return self._read(self._paths[0])

    def _read(self, path: Path) -> Shard:
        if self._last is None or self._last[0] != path:
            texts = corpus.read(path)
            targets = self._target(texts, self._vectors.of(path))
            self._last = path, Shard(texts, targets, neighbours(targets, NEAR))
        return self._last[1]


def losses(
    vectors: Tensor, targets: Tensor, bank: Tensor, own: Tensor, temperature: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The three losses of `vectors` (n, d) with `targets` (n, d), over the `bank` (m, d).

    `own` (n, m) is true where a place of the bank is the text itself, which is left out of its ranking.
    """
    same = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    return (
        1 - (vectors * targets).sum(1).mean(),
        divergence(vectors @ bank.T, targets @ bank.T, own, temperature),
        divergence(vectors @ vectors.T, targets @ targets.T, same, temperature),
    )


def divergence(cosines: Tensor, goals: Tensor, left_out: Tensor, temperature: float) -> Tensor:
    """The mean Kullback-Leibler divergence of two softmaxes over the cosines of each row, both (n, m)."""
    rows, goal = ((each / temperature).masked_fill(left_out, -1e4).log_softmax(1) for each in (cosines, goals.detach()))
    return nn.functional.kl_div(rows, goal, reduction="batchmean", log_target=True)


class Distillation:
    """A run in the folder `home`, which continues where it stopped."""

    def __init__(
        self,
        student: Student,
        shards: Shards,
        settings: Settings,
        home: Path,
        measure: Callable[[Student], dict[str, float]],
    ) -> None:
        self.student, self.shards, self.settings, self.home, self._measure = student, shards, settings, home, measure
        trained = student.trained
        self.average = WeightAverage(trained, settings.ema)
        self.optimiser = torch.optim.AdamW(
            trained.values(), settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay, fused=True
        )
        self.at = RunState()
        self._recent: list[dict[str, float]] = []
        home.mkdir(parents=True, exist_ok=True)
        if (home / state.FILE).is_file():
            self.at = state.load(home, self.average, trained, self.optimiser)

    def run(self) -> None:
        """Train to the last step; a signal stops the run after the current one, and saves it."""
        with deferred_signals() as stop:  # which takes effect when the block is left
            for line in self._steps():
                self._note(line)
                if stop:
                    break
            self.save()

    def _steps(self) -> Iterator[dict[str, float]]:
        started, saved, spent = time.monotonic() - self.at.seconds, time.monotonic(), time.process_time()
        while (share := self.share) < 1:
            step = self.at.step
            if share >= 1 - self.settings.rounding:
                self.student.round_layers()
            parts, rate = self.step(step), self.settings.rate(step, share)
            self.average.update(step)
            self.at = replace(self.at, step=step + 1, seconds=time.monotonic() - started)
            line = {"step": step + 1, **parts, "rate": rate, "cpu": time.process_time() - spent}
            if (step + 1) % self.settings.eval_every == 0 or self.share == 1:
                line |= self.measured()
            yield {name: round(value, 6) for name, value in line.items()}
            if time.monotonic() - saved > self.settings.save_seconds:
                self.save()
                saved = time.monotonic()

    @property
    def share(self) -> float:
        """How much of the run is over."""
        return self.settings.share(self.at.step, self.at.seconds)

    def step(self, step: int) -> dict[str, float]:
        """One step of the optimiser; the losses before it."""
        shard, places, bank = self.shards.batch(step)
        device = self.student.device
        targets, others = (torch.from_numpy(shard.targets[each]).to(device) for each in (places, bank))
        vectors = self.student(
            [shard.rows[at] for at in places] if shard.rows else self.student.rows([shard.texts[at] for at in places])
        )
        own = torch.from_numpy(places[:, None] == bank[None, :]).to(device)
        parts = [*losses(vectors, targets, others, own, self.settings.temperature)]
        weights = [self.settings.vectors, self.settings.ranking, self.settings.pairs]
        if self.settings.contrast:
            parts.append(self._contrast(step))
            weights.append(self.settings.contrast)
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(torch.stack([weight * part for weight, part in zip(weights, parts, strict=True)]).sum())
        norm = float(nn.utils.clip_grad_norm_(self.student.trained.values(), 1.0))
        if not math.isfinite(norm):
            raise SemsearchError(
                f"the gradient is {norm} at step {step + 1}.", "Start anew with a lower learning rate."
            )
        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.rate(step, self.share)
        self.optimiser.step()
        return dict(zip(LOSSES, (float(part.detach()) for part in parts), strict=False))

    def _contrast(self, step: int) -> Tensor:
        """CoT-BERT's loss of the anchors, which are no neighbours of each other by intent; without its head."""
        shard, anchors = self.shards.anchors(step)
        texts, network = [shard.texts[at] for at in anchors], self.student.network
        shape = Shape(kind="bert", width=network.width, depth=network.depth, dim=network.width, spread=0.02)
        return cotbert.Objective(shape, cotbert.Options(head=False)).loss(
            [self.student.denoised(texts, prompts) for prompts in self.student.views]
        )

    def measured(self) -> dict[str, float]:
        """The figures of choice of the averaged weights."""
        with self.average.applied():
            return self._measure(self.student)

    def save(self) -> None:
        """Replace the saved state."""
        state.save(self.home, self.at, self.average, self.student.trained, self.optimiser)
        (self.home / "settings.json").write_text(json.dumps(asdict(self.settings), indent=1), encoding="utf-8")

    def _note(self, line: dict[str, float]) -> None:
        """Write a line every NOTED steps, with the means of the losses since the one before, and every measurement."""
        self._recent.append(line)
        if int(line["step"]) % NOTED == 0 or "stsb_dev" in line:
            means = {name: float(np.mean([one[name] for one in self._recent])) for name in LOSSES if name in line}
            line = line | {name: round(mean, 5) for name, mean in means.items()}
            self._recent.clear()
            with (self.home / METRICS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            left = self.at.seconds * (1 / self.share - 1)
            print(f"{json.dumps(line)} {left / 3600:.1f} h left", file=sys.stderr, flush=True)
