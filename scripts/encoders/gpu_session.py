"""All that waits for a GPU, in one command of 25 minutes, from a folder that was prepared where the teachers are.

All are `python -m scripts.encoders.gpu_session …`:

    prepare DIR              token ids and targets of at most 40 MB, what choices are made on, weights to start from
    run DIR -o OUT           where the card is: tests, measurements, both students; run again, it goes on
    run DIR -o OUT --tiny    the same in a minute on a CPU, as a test
    finish DIR -o OUT        at home: the figures of each student, and OUT/NAME/int8, its export

OUT/report.json has the result of each part as soon as there is one; a part that is done is not repeated. Of a student,
OUT/NAME has the state of its run, which goes on where it stopped, and its averaged weights in files of 15 MB. It needs
`pip install '.[gpu]'`, pytest and the folder; for four bits also bitsandbytes and a decoder (--decoder DIR).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from scripts.bench import gpu as bench
from scripts.encoders import choice, corpus, fetch_teachers, prepared, targets, train_student
from scripts.encoders.distillation import Distillation, Settings
from scripts.encoders.student import Student
from scripts.shared.places import CHECKOUT, DATA
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.export import export_backend

STUDENTS = ("bge-small", "minilm")  # 33 M and 22 M parameters
SHARE = {"bge-small": 0.6, "minilm": 0.4}  # of the time for students
PROBED = 20  # steps that tell how many the time allows
PART = 15_000_000  # bytes of a file of weights
CARD = Settings(anchors=256, learning_rate=3e-4, warmup=500, ema=0.999, save_seconds=60.0)
TINY = Settings(anchors=4, learning_rate=1e-3, warmup=2, ema=0.5, save_seconds=60.0)
TINY_STEPS = 4
GPU_TESTS = ("tests/encoders/test_on_a_gpu.py",)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("way", choices=("prepare", "run", "finish"))
    parser.add_argument("folder", type=Path, help="the prepared folder")
    parser.add_argument("-o", "--out", type=Path, help="folder of the results")
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--megabytes", type=float, default=40.0, help="of prepared shards (40)")
    parser.add_argument("--parts", type=targets.parsed, default=train_student.PARTS, help="as for train_student")
    parser.add_argument("--template", default=train_student.TEMPLATE)
    parser.add_argument("--cache", type=Path, default=train_student.CACHE)
    parser.add_argument("--decoder", type=Path, help="folder of a decoder to measure in four bits")
    parser.add_argument("--tiny", action="store_true", help="few steps, small measurements, on any device")
    options = parser.parse_args(arguments)
    if options.way != "prepare" and options.out is None:
        parser.error(f"{options.way} needs -o OUT.")
    try:
        {"prepare": prepare, "run": run, "finish": finish}[options.way](options)
    except SemsearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def prepare(options: argparse.Namespace) -> None:
    """Pack the session."""
    used = train_student.Teachers(options.cache, options.parts, shards=1_000)
    first = corpus.read(used.shards[0])
    target = targets.Target(options.parts, first, used.vectors.of(used.shards[0]))
    template = f"{train_student.TEMPLATES}:{options.template}"
    bases = {name: fetch_teachers.fetch(name) for name in STUDENTS}
    for name, source in bases.items():
        prepared.write_base(source, options.folder / name)
    learner = Student(bases[STUDENTS[0]], template, targets.WIDTH)
    shards = ((texts := corpus.read(path), target(texts, used.vectors.of(path))) for path in used.shards)
    count = prepared.write_shards(options.folder / "shards", shards, learner, round(options.megabytes * 1e6))
    if not count:
        raise UsageError(f"a shard is larger than {options.megabytes:g} MB.", "Allow more with --megabytes.")
    choice.Sets.read_all().write(options.folder / prepared.CHOICE)
    parts = {name: [part.weight, part.power, part.query_weight] for name, part in options.parts.items()}
    prepared.write_facts(options.folder, {"template": options.template, "teachers": parts, "texts": count})
    print(f"{count:,} texts in {options.folder}")


def run(options: argparse.Namespace) -> None:
    """Tests, measurements, both students; each is done once."""
    if not (options.folder / prepared.FACTS).is_file():
        raise NotFound(f"{options.folder} was not prepared.", "First, where the teachers are: gpu_session prepare DIR")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not options.tiny:
        raise NotFound("there is no GPU here.", "Try the session on the CPU with --tiny.")
    torch.set_float32_matmul_precision("high")
    until = time.monotonic() + 60 * options.minutes
    report = Report(options.out)
    report.do("machine", bench.machine)
    report.do("tests", tests)
    small = options.folder / STUDENTS[-1]
    report.do("bench", lambda: bench.measured(small, device, tiny=options.tiny, decoder=options.decoder))
    for name in STUDENTS:
        left = max(0.0, until - time.monotonic()) * (SHARE[name] if name == STUDENTS[0] else 1.0)
        report.do(f"student {name}", partial(trained, options, name, device, left))


class Report:
    """OUT/report.json: the results by part, written as soon as there is one."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._file = out / "report.json"
        self.parts: dict[str, Any] = json.loads(self._file.read_text()) if self._file.is_file() else {}

    def do(self, name: str, work: Callable[[], Any]) -> None:
        """Do a part unless it is done."""
        if name in self.parts:
            return
        begun = time.monotonic()
        self.parts[name] = {"result": work(), "seconds": round(time.monotonic() - begun, 1)}
        self._file.write_text(json.dumps(self.parts, indent=1) + "\n", encoding="utf-8")
        print(json.dumps({name: self.parts[name]}), flush=True)


def tests() -> dict[str, Any]:
    """The outcome of the tests that need a card; without one they are skipped, and say so."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-rs", *GPU_TESTS]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return {"code": done.returncode, "output": done.stdout[-2000:]}


def trained(options: argparse.Namespace, name: str, device: str, seconds: float) -> dict[str, Any]:
    """Train one student for so many seconds; its steps, and the figures of its averaged weights."""
    home = options.out / name
    settings = known_settings(home) or settled(options, name, device, seconds)
    training = opened(options, name, device, settings)
    training.run()
    write_weights(training, home)
    return {"steps": training.at.step, "settings": settings.steps, **training.measured()}


def known_settings(home: Path) -> Settings | None:
    """The settings of a run that was begun before."""
    file = home / "settings.json"
    return Settings(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


def settled(options: argparse.Namespace, name: str, device: str, seconds: float) -> Settings:
    """Settings with as many steps as the seconds allow, found by trying some, whose weights are dropped."""
    if options.tiny:
        return replace(TINY, steps=TINY_STEPS, eval_every=TINY_STEPS)
    probe = opened(options, name, device, replace(CARD, steps=PROBED), home=options.out / f"{name}-probe")
    probe.step(0)
    begun = time.monotonic()
    for step in range(1, PROBED):
        probe.step(step)
    steps = round(0.9 * seconds / ((time.monotonic() - begun) / (PROBED - 1)))
    return replace(CARD, steps=max(steps, PROBED), eval_every=max(steps // 3, 1))


def opened(
    options: argparse.Namespace, name: str, device: str, settings: Settings, home: Path | None = None
) -> Distillation:
    """The run of a student, which goes on where it stopped."""
    template = f"{train_student.TEMPLATES}:{prepared.facts(options.folder)['template']}"
    paths = sorted((options.folder / "shards").glob("*.npz"))
    shards = prepared.PreparedShards(paths, settings)
    width = shards.first.targets.shape[1]
    learner = Student(options.folder / name, template, width, device=device)
    sets = choice.Sets.read(options.folder / prepared.CHOICE)
    training = Distillation(
        learner, shards, settings, home or options.out / name, lambda it: choice.figures(it.encode, sets)
    )
    if not training.at.step:
        count = train_student.HEAD_TEXTS
        learner.fit_head_of_rows(shards.first.rows[:count], shards.first.targets[:count])
    return training


def write_weights(training: Distillation, home: Path) -> None:
    """The averaged weights in half precision, in files that are small enough to be copied one by one."""
    parts: list[dict[str, torch.Tensor]] = [{}]
    size = 0
    with training.average.applied():
        for name, value in training.student.trained.items():
            tensor = value.detach().half().cpu().contiguous()
            if size + tensor.nbytes > PART and parts[-1]:
                parts.append({})
                size = 0
            parts[-1][name] = tensor
            size += tensor.nbytes
    for at, part in enumerate(parts):
        save_file(part, home / f"weights-{at:02}.safetensors")


def finish(options: argparse.Namespace) -> None:
    """Export every student whose weights are in OUT, and print its figures."""
    for name in STUDENTS:
        home = options.out / name
        files = sorted(home.glob("weights-*.safetensors"))
        if not files:
            print(f"{name}: no weights in {home}", file=sys.stderr)
            continue
        settings = known_settings(home) or CARD
        training = opened(options, name, "cpu", settings, home=home / "finish")
        with torch.no_grad():
            for file in files:
                for each, value in load_file(file).items():
                    training.student.trained[each].copy_(value.float())
        print(json.dumps({"student": name, **choice.figures(training.student.encode)}))
        facts = prepared.facts(options.folder)
        origin = {"method": "distil", "base": name, "teachers": facts["teachers"], "steps": settings.steps}
        training.student.save(home / "torch", name, origin)
        export_backend(train_student.in_torch(home / "torch"), home / "int8", "int8", data=DATA, force=True)


if __name__ == "__main__":
    sys.exit(main())
