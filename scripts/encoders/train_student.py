"""Train a CoT-BERT encoder on the vectors of better encoders, for hours, in a run that can be stopped at any time.

All but the first are `python -m scripts.encoders.train_student …`:

    python -m scripts.encoders.fetch_teachers          once: the teachers
    train_student -o DIR                      train, or go on; DIR/metrics.jsonl has the figures
    train_student -o DIR --steps 20000        the same, to end there: the rate falls before the end
    train_student -o DIR --export             the averaged weights: DIR/torch, DIR/fp32, DIR/int8
    train_student -o DIR --export --ship NAME and DIR/int8 is copied to semsearch/models/assets/NAME
    train_student -o DIR --score              the figures of choice of the state that was saved last
    train_student -o DIR --start              how good a start is: a linear map is fitted, no training
    train_student -o NEW --init DIR           a run that starts from the averaged weights of another
    train_student -o DIR --vectors            the teachers' vectors of the shards, ahead of the run
    train_student -o DIR --teachers           how good the target of these --parts is

Texts and teachers' vectors are kept in ~/.cache/semsearch-training (--cache). Choices are made on STS-B dev and on
queries of every kind (choice.py), none of which is trained on: docs/default-encoder.md has the trials.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from scripts.encoders import corpus, targets
from scripts.encoders import fetch_teachers as teachers
from scripts.encoders.choice import figures
from scripts.encoders.corpus import Text
from scripts.encoders.distillation import Distillation, Settings, Shards
from scripts.encoders.student import Student
from scripts.encoders.targets import Encode, Part, Target, Vectors
from scripts.encoders.teachers import Static
from scripts.encoders.texts import wikipedia
from scripts.shared.places import CHECKOUT, DATA
from semsearch import Encoder
from semsearch.encoders import factory
from semsearch.encoders.torch_backend import TorchBackend
from semsearch.errors import NotFound, SemsearchError
from semsearch.export import export_backend
from semsearch.training.run_folder import state
from semsearch.training.run_folder.manifest import PACKAGES
from semsearch.types import Role

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semsearch-training"
ASSETS = CHECKOUT / "semsearch" / "models" / "assets"
ORIGINS = {  # of the weights that a student starts from: licence, source
    "minilm": ("Apache-2.0", "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"),
    "bge-small": ("MIT", "https://huggingface.co/BAAI/bge-small-en-v1.5"),
}
SOURCES = (
    "Wikipedia sentences and article leads, arXiv abstracts, SciFact's documents, MedQuAD, manuals, questions, "
    "captions, requests"
)
HEAD_TEXTS = 2_048  # that the map to the teachers' space is first fitted on
MAX_TOKENS = 256  # of a teacher's text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--base", choices=ORIGINS, default="minilm", help="the weights to start from")
    parser.add_argument("--template", default=TEMPLATE, help=f"of {TEMPLATES.name} ({TEMPLATE})")
    parser.add_argument("--parts", type=targets.parsed, default=PARTS, help="JSON: weight and power of each teacher")
    parser.add_argument(
        "--shards", type=int, default=40, help=f"of {corpus.SHARD:,} texts, of those that there are (40)"
    )
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of texts and teachers' vectors")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--settings", type=json.loads, default={}, help="JSON: fields of Settings")
    parser.add_argument("--steps", type=int, help="to end after so many")
    parser.add_argument("--init", type=Path, metavar="DIR", help="start from the averaged weights of the run in DIR")
    for mode in ("export", "score", "start", "vectors", "teachers"):
        parser.add_argument(f"--{mode}", action="store_true")
    parser.add_argument("--whiten", type=float, metavar="POWER", help="with --export and --score: whitened in part")
    parser.add_argument("--ship", metavar="NAME", help="with --export: copy the int8 export into the package")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        run(options)
    except SemsearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("stopped; the same command goes on.", file=sys.stderr)
        return 130
    return 0


def run(options: argparse.Namespace) -> None:
    used = Teachers(options.cache, options.parts, options.shards)
    if options.vectors:
        for shard in used.shards:
            used.vectors.of(shard)
            print(shard.stem, file=sys.stderr, flush=True)
        return
    first = corpus.read(used.shards[0])
    vectors = used.vectors.of(used.shards[0])
    target = Target(options.parts, first, vectors)
    if options.teachers:
        print(json.dumps({"parts": {n: asdict(p) for n, p in options.parts.items()}} | figures(used.encode(target))))
        return
    learner = Student(teachers.fetch(options.base), f"{TEMPLATES}:{options.template}", targets.WIDTH)
    settings = replace(Settings(), **options.settings, **({"steps": options.steps} if options.steps else {}))
    shards = Shards(used.shards, used.vectors, target, settings)
    if options.init:
        take_average(options.init, learner, shards, settings)
    training = Distillation(learner, shards, settings, options.out, lambda it: figures(it.encode))
    if not training.at.step:
        learner.fit_head(first[:HEAD_TEXTS], target(first, vectors)[:HEAD_TEXTS])
    if options.start:
        print(json.dumps({"base": options.base, "template": options.template} | figures(learner.encode)))
    elif options.score:
        with finished(training, options):
            print(json.dumps({"step": training.at.step} | figures(learner.encode)))
    elif options.export:
        export(training, options)
    else:
        training.run()


def take_average(home: Path, learner: Student, shards: Shards, settings: Settings) -> None:
    """Set the averaged weights of the run in `home`. Raises NotFound where none was saved."""
    if not (home / state.FILE).is_file():
        raise NotFound(f"no run was saved in {home}.", "Name the folder of one with --init.")
    before = Distillation(learner, shards, settings, home, lambda it: {})
    with before.average.applied():
        kept = {name: value.detach().clone() for name, value in learner.trained.items()}
    with torch.no_grad():
        for name, value in learner.trained.items():
            value.copy_(kept[name])


def export(training: Distillation, options: argparse.Namespace) -> None:
    """Write the averaged weights as an encoder in PyTorch, and its exports; with `ship`, copy int8 into the package."""
    with finished(training, options):
        parts = {name: asdict(part) for name, part in options.parts.items()}
        manifest = origin(training.student, training.settings, options.base, parts, training.at.step)
        manifest["whitened"] = {"power": options.whiten or 0.0, "texts": "Wikipedia sentences"}
        training.student.save(options.out / "torch", options.ship or options.out.name, manifest)
    backend = licensed(in_torch(options.out / "torch"), options.base)
    for dtype in ("fp32", "int8"):
        made = export_backend(backend, options.out / dtype, dtype, data=DATA, force=True)
        print(json.dumps({"dtype": dtype, "fingerprint": made.fingerprint} | dict(made.parity)), flush=True)
    if options.ship:
        shutil.copytree(options.out / "int8", ASSETS / options.ship, dirs_exist_ok=True)


@contextmanager
def finished(training: Distillation, options: argparse.Namespace) -> Iterator[None]:
    """The student with the averaged weights, whitened on sentences of Wikipedia where that is wanted."""
    with training.average.applied():
        if options.whiten:
            training.student.whiten([Text(each, "passage") for each in wikipedia()], options.whiten)
        yield


def origin(student: Student, settings: Settings, base: str, teachers: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """What the manifest says of a training."""
    return {
        "method": "distil",
        "seed": settings.seed,
        "base": base,
        "templates": {role: prompt.text for role, prompt in student.prompts.items()},
        "teachers": dict(teachers),
        "examples": {"source": SOURCES, "count": steps * settings.anchors},
        "recipe": asdict(settings),
        "steps": steps,
        "versions": {name: version(name) for name in PACKAGES},
    }


def licensed(backend: TorchBackend, base: str) -> TorchBackend:
    """With licence and source of the weights that the student started from, and the language of all texts."""
    licence, source = ORIGINS[base]
    backend.bundle = replace(backend.bundle, licence=licence, source=source, languages=("en",))
    return backend


def in_torch(name: str | Path) -> TorchBackend:
    return factory.torch_backend(Encoder.load(name, device="cpu", backend="torch"), "export")


class Teachers:
    """The texts, and the vectors of the teachers named in `parts`."""

    def __init__(self, folder: Path, parts: Mapping[str, Part], shards: int) -> None:
        static = Static(teachers.fetch("potion")).encode
        self.shards = corpus.shards(folder / "texts-by-role", static)[:shards]
        self._folder = folder
        self._encode: dict[str, Encode] = {
            name: (lambda texts: static([each.text for each in texts])) if name == "potion" else loaded(name, folder)
            for name in parts
        }
        self.vectors = Vectors(folder / "vectors-by-role", self._encode)

    def encode(self, target: Target) -> Callable[[Sequence[str], Role], np.ndarray]:
        """The target as an encoder; the teachers' vectors of what it reads are kept."""

        def encode(sentences: Sequence[str], role: Role) -> np.ndarray:
            texts = [Text(each, role) for each in sentences]
            name = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
            shard = self._folder / "choice" / f"{name}.jsonl"
            shard.parent.mkdir(parents=True, exist_ok=True)
            shard.write_text("".join(json.dumps(each) + "\n" for each in texts), encoding="utf-8")
            return target(texts, Vectors(shard.parent, self._encode).of(shard))

        return encode


def loaded(name: str, folder: Path) -> Encode:
    """A teacher as an int8 graph, made and loaded when the first text is encoded: five times as fast as PyTorch."""

    @cache
    def encoder() -> Encoder:
        place = folder / "teachers" / name
        if not place.is_dir():
            export_backend(in_torch(f"{teachers.fetch(name)}#max_tokens={MAX_TOKENS}"), place, "int8", data=DATA)
        return Encoder.load(place, device="cpu", cache=None)

    return lambda texts: by_role(encoder(), texts)


def by_role(encoder: Encoder, texts: Sequence[Text]) -> np.ndarray:
    """The vectors (n, d) of texts, each read as what it is."""
    vectors = np.empty((len(texts), encoder.dim), np.float32)
    for role in get_args(Role):
        places = [at for at, each in enumerate(texts) if each.role == role]
        if places:
            vectors[places] = encoder.encode([texts[at].text for at in places], role=role)
    return vectors


TEMPLATES = Path(__file__).parent / "templates.toml"
TEMPLATE = "front"
PARTS = {"bge-small": Part(0.6, 0.2), "minilm": Part(0.4, 0.2)}

if __name__ == "__main__":
    sys.exit(main())
