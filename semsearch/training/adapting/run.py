"""The training of an adaptation: a run like that of `train`, in a folder that a killed run goes on from.

The rows, the order, the steps and the seed are settings of the run, so that the weights are the same however often it
was interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import torch

from semsearch.encoders import device as _device
from semsearch.evaluation.retrieval import ndcg
from semsearch.models import bundle as bundles
from semsearch.models import methods
from semsearch.models.model_ref import Reference
from semsearch.models.networks import loading
from semsearch.training.adapting import objective as objectives
from semsearch.training.adapting.objective import GENERAL
from semsearch.training.base_model import ROBERTA, BaseModel, load_base
from semsearch.training.datasets.dataset import Dataset
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.loop import Loop, TrainingStep
from semsearch.training.model import TrainableModel
from semsearch.training.optimisation import rng, schedule
from semsearch.training.run_folder import manifest
from semsearch.training.run_folder.folder import RunFolder
from semsearch.training.training_config import TrainingConfig

if TYPE_CHECKING:
    from semsearch.types import Vectors

MEASURE = "nDCG@10 on held-out questions"
HYPERPARAMETERS = Hyperparameters(
    batch_size=32,
    learning_rate=5e-5,
    max_length=128,
    warmup=0.1,
    weight_decay=0.01,
    eval_every=50,
    ema_decay=0.99,
    frozen=("embeddings",),
)
PATIENCE = 6  # validations without a better score, after which it ends


@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained: `base` with a `method` (cotbert, promptbert, sg-opt) on `rows`, in so many `steps`.

    `rows` are columns of texts, `sources` the documents of each row, as the objective takes them, `kept` the general
    texts; `choice` has queries, passages, and for each query the places of its passages.
    """

    base: str
    method: str
    rows: Mapping[str, Sequence[str]]
    sources: Sequence[objectives.Source]
    kept: Sequence[str]
    choice: Mapping[str, Sequence[str] | Sequence[Sequence[int]]]
    seed: int = 0
    steps: int = 0
    batch_size: int = HYPERPARAMETERS.batch_size
    eval_every: int = HYPERPARAMETERS.eval_every
    device: str = "auto"
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Trained:
    """The outcome: the best score on the choice, in percent, after `step` of `steps`, of which `done` were taken."""

    score: float | None
    step: int
    steps: int
    done: int
    seconds: float


@dataclass
class Choice:
    """nDCG@10 in percent of questions among held-out texts; the encoder is `model`."""

    queries: Sequence[str]
    passages: Sequence[str]
    relevant: Sequence[Sequence[int]]
    model: TrainableModel
    measure: str = MEASURE

    def score(self, encode: Callable[[Sequence[str]], Vectors]) -> float:
        passages = encode(self.passages)  # first: it switches dropout off
        cosines = self.model.backend.encode(self.queries, role="query") @ passages.T
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :10]
        answers = [dict.fromkeys(map(str, places), 1) for places in self.relevant]
        gains = [ndcg([str(at) for at in row], right) for row, right in zip(best, answers, strict=True)]
        return float(100 * np.mean(gains))


class Adaptation:
    """A run of `plan` in `folder`, prepared: the network is loaded, and nothing is written yet."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, RunFolder(folder)
        self._recipe = replace(HYPERPARAMETERS, batch_size=plan.batch_size, eval_every=plan.eval_every)
        self._device = _device.torch_device(plan.device)
        if plan.threads:
            torch.set_num_threads(plan.threads)
        self._base = base = base_model(plan.base, self._recipe)
        prompts = base.training.prompts
        self._options = objectives.options(plan.method, prompts["passage"].masks)
        with rng.seeded(self._device, plan.seed):
            self.model = TrainableModel(base, self._recipe, plan.method, self._options, device=self._device)
            shape = replace(self.model.shape, dim=self.model.backend.width)
            kept = torch.from_numpy(self.model.encode(plan.kept))
            post, masks = self.model.backend.post, prompts["passage"].masks
            self.objective = objectives.objective(plan.method, shape, masks, prompts["query"], post, kept, plan.sources)
            self.model.check_prompts(self.objective.views)
            self._chance = rng.state(self._device)
        numbers = range(len(plan.sources))
        columns = {**plan.rows, GENERAL: [plan.kept[at % len(plan.kept)] for at in numbers]}
        self.dataset = Dataset(columns, list(map(float, numbers)), source="texts of an index")

    def seconds_per_step(self, most: float, report: Callable[[int, float], object] = lambda *_: None) -> float:
        """The mean of as many steps as fit into so many seconds, at least two; the weights stay as they were."""
        with TemporaryDirectory() as place, rng.seeded(self._device, self.plan.seed):
            loop = self._loop(Path(place), 10_000)
            before = {name: value.detach().clone() for name, value in loop.parameters.items()}
            loop.step()  # buffers are made
            began, steps = time.monotonic(), 0
            while (spent := time.monotonic() - began) < most or not steps:
                loop.state = replace(loop.state, step=loop.state.step + 1)
                loop.step()
                steps += 1
                report(steps, spent)
            spent = time.monotonic() - began
            for name, value in loop.parameters.items():
                value.data.copy_(before[name])
        return spent / steps

    def run(self, name: str, report: Callable[[TrainingStep], None] | None = None) -> Trained:
        """Train to the last step, or until the choice gets no better; the best encoder is in the folder then.

        A signal ends the run after its step, and the same call goes on. Raises UsageError for another run's folder.
        """
        settings = self._settings()
        if (earlier := self.folder.result(settings)) is not None:
            return Trained(**earlier)
        with self.folder.locked(), rng.seeded(self._device, self.plan.seed):
            rng.restore(self._device, self._chance)
            loop = self._loop(self.folder.home, self.plan.steps, report)
            loop.save_best = lambda at: self.folder.save_best(
                lambda new: self.model.save(new, manifest.origin(settings, at), name)
            )
            if self.folder.begin(settings):
                loop.resume()
            end = loop.run()
            trained = Trained(end.best, end.best_step, self.plan.steps, end.step, round(end.seconds, 3))
            self.folder.end(asdict(trained))
            return trained

    def _loop(self, home: Path, steps: int, report: Callable[[TrainingStep], None] | None = None) -> Loop:
        size = min(self.plan.batch_size, len(self.dataset))
        return Loop(
            self.model,
            self.objective,
            self.dataset,
            schedule.Schedule(steps, size, 0, self.plan.seed),
            home,
            validation=Choice(model=self.model, **self.plan.choice),  # type: ignore[arg-type]
            report=report,
            title=f"{self.plan.method}, pairs and keeping, seed {self.plan.seed}",
            save_seconds=120.0,
            patience=PATIENCE,
        )

    def _settings(self) -> dict[str, object]:
        plan = self.plan
        config = TrainingConfig(plan.method, self._base.training.name, plan.seed, self._options, device=plan.device)
        steps = schedule.Schedule(plan.steps, plan.batch_size, 0, plan.seed)
        settings = manifest.settings(
            config, self._recipe, self._base, self.dataset, steps, dev=MEASURE, teacher="", device=self._device
        )
        return {**settings, "adapts": True}


def base_model(name: str, recipe: Hyperparameters) -> BaseModel:
    """The encoder called `name` as it reads texts, with its post-processing."""
    folder = Path(Reference.parse(name).model).expanduser()
    if not (folder / bundles.MANIFEST).is_file():
        return load_base(name, replace(recipe, training_templates={}, inference_templates={}))
    saved = bundles.read(folder)
    saved.path("weights")
    architecture, decodes = loading.architecture(folder)
    kind = "causal" if decodes else "roberta" if architecture in ROBERTA else "bert"
    as_saved = replace(saved, parity={}, background=()).with_fingerprint()
    return BaseModel(folder, kind, as_saved, as_saved, methods.make(saved.method, saved.options).needs)
