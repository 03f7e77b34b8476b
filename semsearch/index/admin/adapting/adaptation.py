"""`admin.adapt`: look, split, train, export, try, and switch only to what is better.

    models/NAME-adapted/                the trained encoder, as `train` leaves it
    models/NAME-adapted/onnx/           its export in int8, which the index uses
    models/NAME-adapted/adaptation.json, .md     the report; until it is there, the same call goes on
    models/NAME-adapted/run/adapting/   plan, data and the weights that it began with, until then

A killed call goes on from the last of these, with the same data; so it comes to the same weights.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch import export, settings
from semsearch.chunking.splitter import Splitter
from semsearch.errors import GateFailed, MissingExtra, NotFound, UnknownName, UsageError
from semsearch.evaluation.judgements import Graded
from semsearch.index.admin.adapting import examples, questions, trial
from semsearch.index.admin.adapting import look as looks
from semsearch.index.admin.adapting import report as reports
from semsearch.index.admin.adapting.look import AdaptLook
from semsearch.index.admin.adapting.report import AdaptReport
from semsearch.index.index import Index
from semsearch.models import bundle as bundles
from semsearch.models import local_models
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference
from semsearch.training import adapting, objectives, runs
from semsearch.types import JsonObject, Progress
from semsearch.utils import atomic_write
from semsearch.utils.writer_lock import WriterLock

if TYPE_CHECKING:
    from semsearch.training.loop import TrainingStep

METHODS = ("cotbert", "sg-opt", "promptbert")
REPORT = "adaptation"
PLAN, DATA, BASE = "plan.json", "data.json.xz", "base"
EPOCHS = 3  # over the rows, at most
TRAINING = 0.85  # of the hours; the rest is for the test and the new vectors
MEASURED_S, MEASURED = 60.0, 0.05  # of training, and of the hours, at most, to tell how long a step takes
FEW = 256  # pairs that are enough for that
VALIDATIONS, APART = 8, 5  # at least so many in a short run, so many steps apart


@dataclass(frozen=True, slots=True)
class AdaptOptions:
    """How an index is adapted. `base`: another model to train in place of the encoder of the index.

    `hours` limit the training. `judgements`: a file of judged questions, a line {"text": …, "grades": {document: 1}},
    in place of those that were given on the index. `method` is cotbert, sg-opt or promptbert. `keep` keeps the vectors
    of an encoder that was not better, to compare. `force` trains though the look says no.
    """

    base: str | None = None
    hours: float = 8.0
    judgements: Path | None = None
    method: str = "cotbert"
    seed: int = 0
    keep: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownName("method to adapt an encoder", self.method, METHODS)
        if self.judgements is not None and not Path(self.judgements).is_file():
            raise NotFound(f"there is no file {str(self.judgements)!r}.", "Check the spelling.")
        if not 0 < self.hours < 1000:
            raise UsageError(f"hours cannot be {self.hours}.", "It has to be above 0, and below 1000.")


DEFAULTS = AdaptOptions()


def _silent(_: Progress) -> None:
    """The default of `progress`: nothing."""


def adapt_look(
    index: Index, options: AdaptOptions = DEFAULTS, progress: Callable[[Progress], None] = _silent
) -> AdaptLook:
    """What an adaptation of this index could learn from, whether that is enough, and how long it takes here.

    Nothing is written. `hours` is None without PyTorch, and where there is too little to learn from. Raises UsageError
    for an index without an encoder.
    """
    base = _base_of(index, options)
    parts, graded = _read(index, options, progress)
    seen = _looked(index, base, parts, graded)
    if looks.cannot_train(base) or not (seen.enough or options.force):
        return seen
    try:
        objectives.require_packages()
    except MissingExtra:
        return seen
    few = examples.data(index, parts, graded, options.seed, FEW)
    if len(few["rows"]["anchor"]) < 2:
        return seen
    with atomic_write.scratch_folder() as place:
        adaptation = _adaptation(place, _trainable(base, place / BASE), few, options, 1)
        per_step = _seconds_per_step(adaptation, MEASURED_S / 3, options, progress)
    return _timed_look(seen, min(sum(seen.pairs.values()), examples.MOST_PAIRS), per_step, options)


def adapt(
    index: Index, options: AdaptOptions = DEFAULTS, progress: Callable[[Progress], None] = _silent
) -> AdaptReport:
    """Train the encoder of an index on its documents, and search with it from now on if that is better.

    Searches go on meanwhile. An interrupted call, killed or not, is continued by the same one. The encoder is a bundle
    in `models` like any other. Raises GateFailed where the look says no, unless it is forced, and where the export
    differs too much; UsageError for an encoder without weights, MissingExtra, Locked.
    """
    objectives.require_packages()
    base, spent = _base_of(index, options), dict[str, float]()
    if problem := looks.cannot_train(base):
        raise UsageError(f"{problem}.", "Name a model to train: base=.", "Name a model: --base MODEL")
    asked = _settings(index, base, options)
    folder = _folder(index, asked)
    with _alone(folder) as work:
        if not (work / PLAN).is_file():
            with _timing(spent, "look and data"):
                _prepare(index, base, asked, options, work, progress)
        plan = json.loads((work / PLAN).read_text(encoding="utf-8"))
        data = json.loads(lzma.decompress((work / DATA).read_bytes()))
        if not (folder / "onnx" / bundles.MANIFEST).is_file():
            with _timing(spent, "training"):
                _progress(progress, "loading what is trained")
                run = _adaptation(folder, plan["trainable"], data, options, plan["steps"])
                run.run(folder.name, lambda step: progress(_in_words(step)))
            with _timing(spent, "export"):
                _export(folder, progress)
        adapted, reference = _exported(folder, base)
        with _timing(spent, "test"):
            splitter = Splitter(**index.info()["recipe"]["splitter"])
            tried = trial.trial(plan["before"]["reference"], reference, data["test"], splitter, progress)
        better = not tried.objections
        if better or options.keep:
            with _timing(spent, "new vectors"):
                index.store.reembed(reference, progress, keep_old=True, switch=better)
        done = AdaptReport(
            index=index.name,
            switched=better,
            kept=better or options.keep,
            objections=tried.objections,
            before=plan["before"],
            encoder={"name": adapted.name, "fingerprint": adapted.fingerprint, "reference": reference},
            look=plan["look"],
            training={**asked, **(runs.read_json(folder / runs.RUN / runs.RESULT) or {})},
            questions=len(data["test"]["questions"]),
            measured={**{mode: one.as_json() for mode, one in tried.modes.items()}, "general": tried.general.as_json()},
            gained=tried.gained,
            lost=tried.lost,
            seconds={name: round(value, 1) for name, value in spent.items()},
            folder=str(folder),
        )
        reports.write(done, folder, REPORT)
    shutil.rmtree(work, ignore_errors=True)  # the documents' texts, and the weights that it began with
    return done


def adapt_undo(index: Index, progress: Callable[[Progress], None] = _silent) -> str:
    """Search with the encoder from before the adaptation again; its name. Its vectors are there, but for new documents.

    The adapted ones are kept beside them. Raises NotFound where the index is not searched with an adapted encoder.
    """
    if before := adapted_from(index):
        return index.reembed(before, keep_old=True, progress=progress).encoder
    raise NotFound(
        f"index {index.name} is not searched with an encoder that was adapted here.",
        "Change its encoder: Index.reembed(ENCODER).",
        f"Change its encoder: semsearch reembed {index.name} -m MODEL",
    )


def adapted_from(index: Index) -> str:
    """The encoder from before the adaptation of that which the index is searched with; "" for one not adapted."""
    reports = (runs.read_json(folder / f"{REPORT}.json") for folder in sorted(_home(index).glob("*-adapted*")))
    own = (done for done in reports if done and done["encoder"]["fingerprint"] == index.store.space.fingerprint)
    return next((str(done["before"]["reference"]) for done in own), "")


def _base_of(index: Index, options: AdaptOptions) -> str:
    """The model to train. Raises UsageError for an index without an encoder."""
    if not index.store.space.has_encoder:
        raise UsageError(f"index {index.name} has no encoder: its vectors are your own.", "Nothing can be adapted.")
    return options.base or index.encoder.reference


def _read(
    index: Index, options: AdaptOptions, progress: Callable[[Progress], None]
) -> tuple[dict[questions.Part, questions.Collection], Graded]:
    _progress(progress, "reading titles, headings and sentences")
    return questions.read(index.store.reader), examples.judged(index, options.judgements)


def _looked(index: Index, base: str, parts: Mapping[questions.Part, questions.Collection], graded: Graded) -> AdaptLook:
    seen, problem = looks.look(index, base, parts, graded), looks.cannot_train(base)
    return replace(seen, reasons=(problem, *seen.reasons)) if problem else seen


def _prepare(
    index: Index,
    base: str,
    asked: JsonObject,
    options: AdaptOptions,
    work: Path,
    progress: Callable[[Progress], None],
) -> None:
    """Write data, weights, and at last the plan, which says that they are whole. Raises GateFailed."""
    parts, graded = _read(index, options, progress)
    seen = _looked(index, base, parts, graded)
    if not seen.enough and not options.force:
        raise GateFailed(
            f"index {index.name} offers too little to learn from: {'; '.join(seen.reasons)}.",
            "To train it anyway: force=True.",
            "To train it anyway: --force",
        )
    _progress(progress, "looking for texts that are taken for the right ones")
    data = examples.data(index, parts, graded, options.seed)
    if len(data["rows"]["anchor"]) < 2 or not data["choice"]["queries"] or not data["test"]["questions"]:
        raise GateFailed(f"{index.name} has no questions to train, choose and test an encoder by.", "Index more text.")
    (work / DATA).write_bytes(lzma.compress(json.dumps(data, ensure_ascii=False).encode(), preset=1))
    shutil.rmtree(work / BASE, ignore_errors=True)
    trainable = _trainable(base, work / BASE)
    adaptation = _adaptation(work.parent.parent, trainable, data, options, 1)
    per_step = _seconds_per_step(adaptation, MEASURED_S, options, progress)
    seen = _timed_look(seen, len(data["rows"]["anchor"]), per_step, options)
    space = index.store.space
    before = {"name": space.name, "fingerprint": space.fingerprint, "reference": index.encoder.reference}
    plan = {"settings": asked, "look": seen.as_json(), "trainable": trainable, "steps": seen.steps, "before": before}
    for written in (work / DATA, *(file for file in (work / BASE).rglob("*") if file.is_file())):
        atomic_write.sync_file(written)
    atomic_write.write_text(work / PLAN, json.dumps(plan, indent=1) + "\n")


def _trainable(base: str, folder: Path) -> str:
    """The base as a model with weights: `folder`, where they are read from an export; itself otherwise."""
    saved = looks.base_bundle(base)
    if saved is None or not saved.weights.endswith(bundles.ONNX):
        return base
    from semsearch.export import weights  # onnx and torch: seconds

    folder.mkdir(parents=True)
    weights.trainable_folder(saved, folder)
    return str(folder)


def _adaptation(folder: Path, base: str, data: JsonObject, options: AdaptOptions, steps: int) -> adapting.Adaptation:
    own = {name: data[name] for name in ("rows", "sources", "kept", "choice")}
    often = min(adapting.HYPERPARAMETERS.eval_every, max(APART, steps // VALIDATIONS))
    chosen = settings.load()
    plan = adapting.Plan(
        base,
        options.method,
        **own,
        seed=options.seed,
        steps=steps,
        eval_every=often,
        device=chosen.device,
        threads=chosen.threads,
    )
    return adapting.Adaptation(plan, folder)


def _seconds_per_step(
    adaptation: adapting.Adaptation, most: float, options: AdaptOptions, progress: Callable[[Progress], None]
) -> float:
    most = min(most, options.hours * 3600 * MEASURED)

    def report(steps: int, spent: float) -> None:
        progress(Progress(int(spent), math.ceil(most), "steps", f"timing {steps} steps of training"))

    return adaptation.seconds_per_step(most, report)


def _timed_look(seen: AdaptLook, rows: int, per_step: float, options: AdaptOptions) -> AdaptLook:
    """The look with the steps over so many rows that the hours allow, and the time that these take."""
    possible = int(options.hours * 3600 * TRAINING / per_step)
    steps = max(1, min(possible, EPOCHS * rows // adapting.HYPERPARAMETERS.batch_size))
    return replace(seen, steps=steps, seconds_per_step=round(per_step, 2), hours=round(steps * per_step / 3600, 2))


def _export(folder: Path, progress: Callable[[Progress], None]) -> None:
    _progress(progress, "exporting to int8")
    export.export(folder, folder / "onnx", "int8", force=True)


def _home(index: Index) -> Path:
    return local_models.models_dir(Path(index.path).parent)


def _settings(index: Index, base: str, options: AdaptOptions) -> JsonObject:
    """What a call has to have in common with an interrupted one to go on from it."""
    file = options.judgements
    judged = None if file is None else hashlib.sha256(file.read_bytes()).hexdigest()
    own = {"method": options.method, "hours": options.hours, "seed": options.seed}
    return {"base": base, "fingerprint": index.store.space.fingerprint, **own, "judgements": judged}


def _folder(index: Index, asked: JsonObject) -> Path:
    """The folder of an interrupted call that asked the same, else a new one."""
    names = (f"{index.name}-adapted{f'-{number}' if number > 1 else ''}" for number in count(1))
    for folder in (_home(index) / name for name in names):
        plan = runs.read_json(folder / runs.RUN / "adapting" / PLAN)
        begun = plan is None and not (folder / bundles.MANIFEST).exists() and not (folder / f"{REPORT}.json").exists()
        if begun or (
            plan is not None and (plan["settings"] == asked or _has_switched(index, folder, plan["settings"]["base"]))
        ):
            return folder
    raise AssertionError


def _has_switched(index: Index, folder: Path, base: str) -> bool:
    """Whether a call was interrupted after the index had switched to what it had trained."""
    if not (folder / "onnx" / bundles.MANIFEST).is_file():
        return False
    return _exported(folder, base)[0].fingerprint == index.store.space.fingerprint


def _exported(folder: Path, base: str) -> tuple[Bundle, str]:
    """The adapted encoder, whose vectors are as long as those of `base`, and its reference."""
    dim = Reference.parse(base).dim
    return bundles.read(folder / "onnx").truncate(dim), str(Reference(str(folder / "onnx"), dim=dim))


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """The folder of what an adaptation works with. Raises Locked where another process is at it."""
    work = folder / runs.RUN / "adapting"
    work.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(work)
    try:
        yield work
    finally:
        lock.release()


@contextmanager
def _timing(spent: dict[str, float], part: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    spent[part] = time.monotonic() - began


def _progress(progress: Callable[[Progress], None], what: str) -> None:
    progress(Progress(0, 1, "steps", what))


def _in_words(step: TrainingStep) -> Progress:
    score = "" if step.score is None else f", choice {step.score:.1f} (best {step.best:.1f})"
    left = f"{step.seconds_left / 3600:.1f} h left"
    return Progress(step.step, step.total, "steps", f"training: loss {step.loss:.3f}{score}, {left}")
