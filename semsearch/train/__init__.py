"""Train: a base model, an objective and examples to an encoder that is saved, searched with and exported like any.

`train` runs one seed and `train_seeds` several; both go on where a run of the same settings was cut off. What a run
leaves is told in semsearch.train.loop.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from semsearch import bundle as bundles
from semsearch import objectives
from semsearch.durable import sync_file, sync_folder
from semsearch.encoders import _device
from semsearch.errors import UsageError
from semsearch.objectives import Recipe, _matryoshka
from semsearch.train import learner as learners
from semsearch.train import loop, state
from semsearch.train.learner import Learner
from semsearch.train.loop import RUN, SETTINGS, Loop, Step, Teacher

if TYPE_CHECKING:
    from semsearch.bundle import Bundle
    from semsearch.examples import Examples
    from semsearch.train.selection import Dev
    from semsearch.train.state import Progress

RESULT, SUMMARY = "result.json", "summary.json"
VOLATILE = ("versions", "threads")  # of the settings: a run may go on where these differ, though not bit for bit


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is done. What is None is as the objective's recipe, which is that of its paper.

    `micro`: texts that memory has to hold at once; the loss still sees the whole batch. `precision` is fp32 or bf16.
    `dims`: lengths at which the beginning of a vector has to serve too (Matryoshka). `trains` and `serves` are
    templates in place of the recipe's, for a base that names none.
    """

    method: str
    base: str
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    batch: int | None = None
    rate: float | None = None
    epochs: float | None = None
    steps: int | None = None
    tokens: int | None = None
    warmup: float | None = None
    eval_every: int | None = None
    micro: int = 0
    precision: str = "fp32"
    device: str = "auto"
    dims: tuple[int, ...] = ()
    trains: str = ""
    serves: str = ""

    def recipe(self) -> Recipe:
        """The objective's, with what was told otherwise. Raises UsageError for a value that cannot be."""
        usual: Recipe = objectives.kind(self.method).recipe
        known = {each.name for each in fields(Recipe)}
        told = {key: value for key, value in _fields(self).items() if key in known and value not in (None, "")}
        for key, value in told.items():
            if key in ("trains", "serves"):
                told[key] = dict.fromkeys(learners.KINDS, value)
                continue
            least = 0 if key == "warmup" else 1 if key in ("batch", "tokens", "eval_every") else 1e-12
            if value < least:
                raise UsageError(f"{key} cannot be {value}.", f"It has to be {least:g} or more.")
        return replace(usual, **told)


@dataclass(frozen=True, slots=True)
class Result:
    """What a run came to. `score` is the best on dev, in percent, reached after `step` steps; None without a dev."""

    folder: Path
    seed: int
    score: float | None
    measure: str
    step: int
    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Several seeds: the mean of their scores, the sample deviation (n - 1), and the folder of the best of them."""

    results: tuple[Result, ...]
    mean: float | None
    deviation: float | None

    @property
    def best(self) -> Result:
        return max(self.results, key=lambda each: -1.0 if each.score is None else each.score)


def train(
    settings: Settings,
    examples: Examples,
    out: str | Path,
    *,
    dev: Dev | None = None,
    teacher: Teacher | None = None,
    teacher_name: str = "",
    force: bool = False,
    trust_remote_code: bool = False,
    report: Callable[[Step], None] | None = None,
) -> Result:
    """Train one encoder into the folder `out`, going on where a run of the same settings was cut off.

    The encoder that is best on `dev` is kept, or the last without one. Raises UsageError where `out` holds something
    else (`force` starts anew), or where settings, data and base do not go together.
    """
    folder = Path(out).expanduser()
    if settings.precision not in ("fp32", "bf16"):
        raise UsageError(f"training cannot compute in {settings.precision}.", "Choose from: fp32, bf16.")
    recipe = settings.recipe()
    base = learners.base(settings.base, recipe, trust=trust_remote_code)
    planned = loop.plan(examples, recipe, steps=settings.steps or 0, micro=settings.micro, seed=settings.seed)
    told = _told(settings, recipe, base, examples, dev, teacher_name, planned.steps)
    if (finished := _finished(folder, told, force=force)) is not None:
        return finished
    going_on = (folder / RUN / state.FILE).is_file()
    torch.manual_seed(settings.seed)
    kind = objectives.kind(settings.method)
    options = told["options"]
    learner = Learner(
        base,
        recipe,
        device=settings.device,
        precision=settings.precision,
        trust=trust_remote_code,
        frozen_copy=kind.frozen_copy,
        prepare=partial(kind.prepare, options=options),
        weights=kind.weights(_device.torch_device(settings.device), options),
    )
    objective = _objective(settings, learner.shape, examples)
    _check_columns(objective, examples, settings.method)
    _check_prompts(objective, learner)

    def keep(progress: Progress) -> None:
        _keep(learner, folder, {"trained": {**told, "step": progress.step, "score": progress.best}})

    folder.mkdir(parents=True, exist_ok=True)
    run = Loop(
        learner,
        objective,
        examples,
        planned,
        folder,
        dev=dev,
        teacher=teacher,
        keep=keep,
        report=report,
        settings=json.dumps(told, sort_keys=True),
    )
    (folder / RUN / SETTINGS).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if going_on:
        run.resume()
    progress = run.run()
    return _ended(folder, settings, progress, dev)


def train_seeds(
    settings: Settings,
    seeds: Sequence[int],
    examples: Examples,
    out: str | Path,
    **told: Any,
) -> Summary:
    """`train` once a seed, into `out`/seed-N; mean and deviation in `out`/summary.json."""
    results = tuple(train(replace(settings, seed=seed), examples, Path(out) / f"seed-{seed}", **told) for seed in seeds)
    scores = [each.score for each in results if each.score is not None]
    mean = statistics.fmean(scores) if scores else None
    summary = Summary(results, mean, statistics.stdev(scores) if len(scores) > 1 else None)
    content = {
        "mean": summary.mean,
        "deviation": summary.deviation,
        "measure": results[0].measure,
        "best": summary.best.folder.name,
        "seeds": {str(each.seed): {"score": each.score, "step": each.step} for each in results},
    }
    (Path(out) / SUMMARY).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return summary


def _objective(settings: Settings, shape: objectives.Shape, examples: Examples) -> objectives.Base:
    """The objective, which may have to serve the beginning of a vector too."""
    classes = objectives.kind(settings.method).labels == "class" and examples.labels
    full = replace(
        shape, columns=tuple(examples.columns), classes=objectives.classes(examples.labels or ()) if classes else 0
    )
    make = partial(objectives.make, settings.method, options=settings.options)
    return _matryoshka.Nested(full, settings.dims, make) if settings.dims else make(full)


def _check_columns(objective: objectives.Base, examples: Examples, method: str) -> None:
    for view in objective.views:
        if view.column not in examples.columns:
            raise UsageError(
                f"{method} needs a column {view.column}, and {examples.source or 'the data'} has "
                f"{', '.join(examples.columns)}.",
                "Give pairs or triplets (JSON lines, CSV or TSV), or choose a method for plain text: cotbert, simcse.",
            )
    if objective.labels in ("score", "class") and examples.labels is None:
        raise UsageError(
            f"{method} needs labels, and {examples.source or 'the data'} has none.",
            "Add a column score or label, or choose a method that does without.",
        )


def _check_prompts(objective: objectives.Base, learner: Learner) -> None:
    """UsageError where a view's prompt has not the [MASK]s that the base's method reads."""
    reads = learner.method.masks
    for prompt in map(learner.prompt, objective.views):
        if prompt.masks != reads and (reads is not None or not prompt.masks):
            raise UsageError(
                f"{learner.base.trains.name} is read at {reads} [MASK]s, and the objective has a text under "
                f"{prompt.text!r}.",
                "Name a base or templates that go together, or no template: then both are the paper's.",
            )


def _told(
    settings: Settings,
    recipe: Recipe,
    base: learners.Base,
    examples: Examples,
    dev: Dev | None,
    teacher: str,
    steps: int,
) -> dict[str, Any]:
    """Everything needed to repeat a run, and to see whether another is the same."""
    own = {key: value for key, value in _fields(settings).items() if key not in ("base", "batch", "rate", "epochs")}
    return {
        **json.loads(json.dumps(own)),
        "options": objectives.options_of(settings.method) | dict(settings.options),
        "steps": steps,
        "recipe": json.loads(json.dumps(_fields(recipe))),
        "base": {"name": str(settings.base), "fingerprint": base.trains.fingerprint},
        "trains": base.trains.prompts["passage"].text,
        "serves": base.serves.prompts["passage"].text,
        "examples": {"source": examples.source, "count": len(examples), "sha256": _hash(examples)},
        "dev": dev.measure if dev else "",
        "teacher": teacher,
        "versions": {name: version(name) for name in ("semsearch", "torch", "transformers")},
        "threads": torch.get_num_threads(),
    }


def _hash(examples: Examples) -> str:
    digest = hashlib.sha256()
    labels: Iterable[Any] = examples.labels or ()
    for row in (*zip(*examples.columns.values(), strict=True), *labels):
        digest.update(json.dumps(row).encode())
    return digest.hexdigest()


def _finished(folder: Path, told: Mapping[str, Any], *, force: bool) -> Result | None:
    """The result of the run that `folder` holds, where it is done already. Raises UsageError where it is another."""
    if force:
        for name in (state.FILE, RESULT, loop.METRICS):
            (folder / RUN / name).unlink(missing_ok=True)
        return None
    if (folder / RUN / RESULT).is_file():
        before = json.loads((folder / RUN / SETTINGS).read_text(encoding="utf-8"))
        _same(before, told, folder)
        found = json.loads((folder / RUN / RESULT).read_text(encoding="utf-8"))
        return Result(folder=folder, **found)
    if (folder / RUN / state.FILE).is_file():
        _same(json.loads(state.settings_of(folder / RUN)), told, folder)
    elif folder.is_dir() and any(each.name != RUN for each in folder.iterdir()):
        raise UsageError(f"{folder} is not empty and holds no run.", "Name another folder: -o DIR")
    return None


def _same(before: Mapping[str, Any], told: Mapping[str, Any], folder: Path) -> None:
    for key in (*told, *before):
        if key not in VOLATILE and before.get(key) != told.get(key):
            raise UsageError(
                f"{folder} holds a run with {key} {before.get(key)!r}, and now it is {told.get(key)!r}.",
                "Name another folder with -o, or say --force to start anew.",
            )


def _keep(learner: Learner, folder: Path, told: dict[str, Any]) -> None:
    """Put the encoder as it is now into `folder`. Without its manifest a folder is no encoder: that comes last."""
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder / RUN) as scratch:
        learner.save(Path(scratch), told)
        (folder / bundles.MANIFEST).unlink(missing_ok=True)
        new = sorted(Path(scratch).iterdir(), key=lambda each: each.name == bundles.MANIFEST)
        for path in new:
            if path.is_dir():
                shutil.rmtree(folder / path.name, ignore_errors=True)
            else:
                sync_file(path)
            path.replace(folder / path.name)
        sync_folder(folder)
    bundle: Bundle = bundles.read(folder)
    named = replace(bundle, name=folder.resolve().name)
    bundles.write(named, folder)


def _ended(folder: Path, settings: Settings, progress: Progress, dev: Dev | None) -> Result:
    result = Result(
        folder=folder,
        seed=settings.seed,
        score=progress.best,
        measure=dev.measure if dev else "",
        step=progress.best_step,
        steps=progress.step,
        seconds=round(progress.seconds, 3),
    )
    content = {key: value for key, value in asdict(result).items() if key != "folder"}
    (folder / RUN / RESULT).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (folder / RUN / state.FILE).unlink(missing_ok=True)
    return result


def _fields(one: Any) -> dict[str, Any]:
    return {each.name: getattr(one, each.name) for each in fields(one)}
