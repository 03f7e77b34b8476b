"""All that waits for a GPU, in one command of 25 minutes, from a folder that was prepared where the data are.

All are `python -m scripts.encoders.gpu_session …`:

    prepare DIR              texts, teachers, what choices are made on: some 150 MB
    run DIR -o OUT           where the card is: tests, measurements, mixtures of teachers, targets, trials, students;
                             run again, it goes on
    run DIR -o OUT --tiny    the same in a minute on a CPU, as a test
    student DIR -o OUT/NAME --base BASE --settings JSON         one student alone
    targets DIR -o OUT                                          the targets alone
    finish DIR -o OUT        at home: the figures of each student, and OUT/NAME/int8, its export

OUT/report.json has the result of each part as soon as there is one; a part that is done is not repeated. Targets are of
the mixture of teachers with the best mean of the choice sets. Trials are short runs of some minutes, side by side;
students, side by side too, are trained as the trial with the best mean. Of each, OUT/NAME has the state of its run,
which goes on where it stopped, and its averaged weights in files of 15 MB. It needs `pip install '.[gpu]'`, pytest and
the folder; for four bits also bitsandbytes and a decoder (--decoder DIR).
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file

from scripts.bench import gpu as bench
from scripts.encoders import choice, corpus, fetch_teachers, prepared, targets, train_student
from scripts.encoders.distillation import Distillation, Settings
from scripts.encoders.student import Student
from scripts.encoders.targets import Part
from scripts.encoders.teachers import Static
from scripts.shared.places import CHECKOUT, DATA
from semsearch import Encoder
from semsearch.errors import NotFound, SemsearchError
from semsearch.export import export_backend

if TYPE_CHECKING:
    from semsearch.types import Role, Vectors

PART = 15_000_000  # bytes of a file of weights
WORKERS = 4  # processes that make targets
CARD: dict[str, Any] = {
    "anchors": 256, "warmup": 200, "ema": 0.998, "rounding": 0.1, "save_seconds": 60.0, "eval_every": 1_000_000
}  # fmt: skip
TINY = {"anchors": 4, "learning_rate": 1e-3, "warmup": 2, "ema": 0.5, "steps": 4, "seconds": 0.0, "eval_every": 4}
MIXTURES: Sequence[tuple[float, float, float]] = [  # of the teachers, in the order of TEACHERS, whitened to 0.2
    *((0.6, 0.4, 0.0), (0.7, 0.0, 0.3), (0.6, 0.0, 0.4), (0.5, 0.0, 0.5), (0.4, 0.0, 0.6)),
    *((0.6, 0.2, 0.2), (0.5, 0.2, 0.3), (0.5, 0.3, 0.2), (0.4, 0.2, 0.4), (0.4, 0.3, 0.3)),
]
TEACHERS = ("bge-small", "minilm", "mpnet")
TRIALS: Mapping[str, dict[str, Any]] = {
    "slow": {"learning_rate": 2e-4},
    "middle": {"learning_rate": 5e-4},
    "fast": {"learning_rate": 1e-3},
    "contrast": {"learning_rate": 5e-4, "contrast": 0.05},  # eq. 3 of CoT-BERT as a term
}
STUDENTS: Mapping[str, tuple[str, int]] = {  # base and seed; of 33 M and 22 M parameters
    "bge-small-0": ("bge-small", 0),
    "bge-small-1": ("bge-small", 1),
    "bge-small-2": ("bge-small", 2),
    "minilm-0": ("minilm", 0),
}
GPU_TESTS = ("tests/encoders/test_on_a_gpu.py",)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("way", choices=("prepare", "run", "targets", "student", "finish"))
    parser.add_argument("folder", type=Path, help="the prepared folder")
    parser.add_argument("-o", "--out", type=Path, help="folder of the results")
    parser.add_argument("--minutes", type=float, default=12.0, help="of the students; a trial has a fifth of it (12)")
    parser.add_argument("--views", type=int, default=3, help="how often a document is cut and asked for anew (3)")
    parser.add_argument("--parts", type=json.loads, help="of the targets, as for train_student (the best mixture)")
    parser.add_argument("--template", default=train_student.TEMPLATE)
    parser.add_argument("--cache", type=Path, default=train_student.CACHE)
    parser.add_argument("--base", choices=train_student.ORIGINS, default="bge-small", help="of a student")
    parser.add_argument("--settings", type=json.loads, default={}, help="of a student; JSON: fields of Settings")
    parser.add_argument("--name", default="cot-small", help="of an encoder, in its manifest (cot-small)")
    parser.add_argument("--share", type=int, nargs=2, default=(0, 1), metavar="N", help="of targets: every Mth, from N")
    parser.add_argument("--decoder", type=Path, help="folder of a decoder to measure in four bits")
    parser.add_argument("--tiny", action="store_true", help="few steps, small measurements, on any device")
    options = parser.parse_args(arguments)
    if options.way != "prepare" and options.out is None:
        parser.error(f"{options.way} needs -o OUT.")
    ways = {"prepare": prepare, "run": run, "targets": make_targets, "student": student, "finish": finish}
    try:
        ways[options.way](options)
    except SemsearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def prepare(options: argparse.Namespace) -> None:
    """Pack the session."""
    static = Static(fetch_teachers.fetch("potion")).encode
    shards = corpus.shards(options.cache / f"texts-by-role-{options.views}", static, views=options.views)
    for name in TEACHERS:  # students start from two of them
        prepared.write_network(fetch_teachers.fetch(name), options.folder / name)
    count = prepared.write_texts(options.folder / prepared.TEXTS, shards)
    choice.Sets.read_all().write(options.folder / prepared.CHOICE)
    prepared.write_facts(options.folder, {"template": options.template, "texts": count})
    print(f"{count:,} texts in {options.folder}")


def run(options: argparse.Namespace) -> None:
    """Tests, measurements, targets, trials, students; each is done once."""
    if not (options.folder / prepared.FACTS).is_file():
        raise NotFound(f"{options.folder} was not prepared.", "First, where the data are: gpu_session prepare DIR")
    if device() == "cpu" and not options.tiny:
        raise NotFound("there is no GPU here.", "Try the session on the CPU with --tiny.")
    report = Report(options.out)
    small = options.folder / STUDENTS["minilm-0"][0]
    report.do("machine", bench.machine)
    report.do("tests", tests)
    report.do("bench", lambda: bench.measured(small, device(), tiny=options.tiny, decoder=options.decoder))
    report.do("mixtures", lambda: mixtures(options))
    parts = options.parts or max(report.parts["mixtures"]["result"], key=lambda each: each["mean"])["parts"]
    report.do("targets", lambda: side_by_side(options, "targets", share_of_targets(options, parts)))
    seconds = 60 * options.minutes
    trials = {f"trial-{name}": {**CARD, **each, "seconds": seconds / 5} for name, each in TRIALS.items()}
    report.do("trials", lambda: side_by_side(options, "student", each_alone(options, trials)))
    best = max(trials, key=lambda name: report.parts["trials"]["result"][name]["mean"])
    chosen = {name: {**trials[best], "seconds": seconds, "seed": seed} for name, (_, seed) in STUDENTS.items()}
    report.do("students", lambda: side_by_side(options, "student", each_alone(options, chosen)))


def share_of_targets(options: argparse.Namespace, parts: dict[str, Any]) -> dict[str, list[str]]:
    workers, asked = 1 if options.tiny else WORKERS, ["-o", str(options.out), "--parts", json.dumps(parts)]
    return {f"targets-{at}": [*asked, "--share", str(at), str(workers)] for at in range(workers)}


def each_alone(options: argparse.Namespace, runs: Mapping[str, dict[str, Any]]) -> dict[str, list[str]]:
    """The arguments of each run, which is called as its folder below OUT; those of STUDENTS have a base."""
    tiny = TINY if options.tiny else {}
    return {
        name: ["-o", str(options.out / name), "--settings", json.dumps({**settings, **tiny})]
        + (["--base", STUDENTS[name][0]] if name in STUDENTS else [])
        for name, settings in runs.items()
    }


def side_by_side(options: argparse.Namespace, way: str, runs: Mapping[str, list[str]]) -> dict[str, Any]:
    """Run this command once for each of `runs`, all at once; the last line that each prints, by name.

    A tiny session runs them one after the other, in this process. Raises SemsearchError where one fails; what it says
    is on stderr.
    """
    if options.tiny:
        return {name: _in_this_process([way, str(options.folder), *arguments]) for name, arguments in runs.items()}
    command = [sys.executable, "-m", "scripts.encoders.gpu_session", way, str(options.folder)]
    started = {
        name: subprocess.Popen([*command, *arguments], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
        for name, arguments in runs.items()
    }
    printed = {name: each.communicate()[0] for name, each in started.items()}
    if failed := [name for name, each in started.items() if each.returncode]:
        raise SemsearchError(f"{', '.join(failed)} failed.", "See above, and run the command again: it goes on.")
    return {name: json.loads(lines.splitlines()[-1]) for name, lines in printed.items()}


def _in_this_process(arguments: list[str]) -> dict[str, Any]:
    with redirect_stdout(io.StringIO()) as printed:
        main(arguments)
    line: dict[str, Any] = json.loads(printed.getvalue().splitlines()[-1])
    return line


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


def device() -> str:
    torch.set_float32_matmul_precision("high")
    return "cuda" if torch.cuda.is_available() else "cpu"


def tests() -> dict[str, Any]:
    """The outcome of the tests that need a card; without one they are skipped, and say so."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-rs", *GPU_TESTS]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return {"code": done.returncode, "output": done.stdout[-2000:]}


def mixtures(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of every mixture of the teachers, as an encoder."""
    first = next(prepared.read_texts(options.folder / prepared.TEXTS))
    sets, read, figures = choice.Sets.read(options.folder / prepared.CHOICE), teachers(options, TEACHERS), []
    fitted = read(first)
    vectors_of = cache(lambda sentences, role: read([corpus.Text(each, role) for each in sentences]))
    for weights in MIXTURES:
        parts = {name: [weight, 0.2] for name, weight in zip(TEACHERS, weights, strict=True) if weight}
        target = targets.Target({name: Part(*values) for name, values in parts.items()}, first, fitted)

        def encode(sentences: Sequence[str], role: Role, target: targets.Target = target) -> Vectors:
            return target([corpus.Text(each, role) for each in sentences], vectors_of(tuple(sentences), role))

        measured = choice.figures(encode, sets)
        figures.append({"parts": parts, **measured, "mean": mean(measured.values())})
    return figures


def teachers(
    options: argparse.Namespace, names: Iterable[str]
) -> Callable[[Sequence[corpus.Text]], dict[str, Vectors]]:
    """Texts -> the vectors (n, d) of each teacher."""
    limit = f"max_tokens={train_student.MAX_TOKENS}" + (",dtype=fp16" if device() == "cuda" else "")
    encoders = {
        name: Encoder.load(f"{options.folder / name}#{limit}", device=device(), cache=None, backend="torch")
        for name in names
    }
    return lambda texts: {name: train_student.by_role(encoder, texts) for name, encoder in encoders.items()}


def make_targets(options: argparse.Namespace) -> None:
    """Make the targets of a share of the shards, as OUT/shards/NUMBER.npz."""
    parts = {name: Part(*values) for name, values in options.parts.items()}
    read, learner = teachers(options, parts), new_student(options, TEACHERS[0], "cpu")  # all have one tokenizer
    target, (first, every), count = None, options.share, 0
    shards = options.out / "shards"
    shards.mkdir(parents=True, exist_ok=True)
    (shards / "parts.json").write_text(json.dumps(options.parts) + "\n", encoding="utf-8")
    for at, texts in enumerate(prepared.read_texts(options.folder / prepared.TEXTS)):
        path = shards / f"{at:03}.npz"
        if at and (at % every != first or path.is_file()):
            continue
        vectors = read(texts)
        target = target or targets.Target(parts, texts, vectors)
        if at % every == first:
            prepared.write_shard(path, texts, learner.rows(texts), target(texts, vectors), device())
            count += len(texts)
    print(json.dumps({"texts": count}))


def new_student(options: argparse.Namespace, base: str, on: str) -> Student:
    template = f"{train_student.TEMPLATES}:{prepared.facts(options.folder)['template']}"
    return Student(options.folder / base, template, targets.WIDTH, device=on)


def student(options: argparse.Namespace) -> None:
    """Train one student, or go on; print its steps, and the figures of its averaged weights."""
    training = opened(options, device())
    training.run()
    write_weights(training)
    measured = training.measured()
    result = {"base": options.base, "steps": training.at.step, **measured, "mean": mean(measured.values())}
    parts = json.loads((options.out.parent / "shards" / "parts.json").read_text(encoding="utf-8"))
    text = json.dumps({**result, "settings": asdict(training.settings), "teachers": parts})
    (options.out / "figures.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def opened(options: argparse.Namespace, on: str) -> Distillation:
    """The run of a student, which goes on where it stopped."""
    settings = replace(Settings(), **options.settings)
    shards = prepared.PreparedShards(sorted((options.out.parent / "shards").glob("*.npz")), settings)
    learner = new_student(options, options.base, on)
    sets = choice.Sets.read(options.folder / prepared.CHOICE)
    training = Distillation(learner, shards, settings, options.out, lambda it: choice.figures(it.encode, sets))
    if not training.at.step:
        count = train_student.HEAD_TEXTS
        learner.fit_head_of_rows(shards.first.rows[:count], shards.first.targets[:count])
    return training


def write_weights(training: Distillation) -> None:
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
        save_file(part, training.home / f"weights-{at:02}.safetensors")


def finish(options: argparse.Namespace) -> None:
    """Export every student whose weights are in OUT as int8, and print the figures of that."""
    sets = choice.Sets.read(options.folder / prepared.CHOICE)
    for home in sorted(file.parent for file in options.out.glob("*/figures.json")):
        facts = json.loads((home / "figures.json").read_text(encoding="utf-8"))
        learner = new_student(options, facts["base"], "cpu")
        with torch.no_grad():
            for file in sorted(home.glob("weights-*.safetensors")):
                for each, value in load_file(file).items():
                    learner.trained[each].copy_(value.float())
        settings = Settings(**facts["settings"])
        origin = train_student.origin(learner, settings, facts["base"], facts["teachers"], facts["steps"])
        learner.save(home / "torch", options.name, origin)
        backend = train_student.licensed(train_student.in_torch(home / "torch"), facts["base"])
        export_backend(backend, home / "int8", "int8", data=DATA, force=True)
        encode = choice.by_role(Encoder.load(home / "int8", device="cpu", cache=None))
        print(json.dumps({"student": home.name, **choice.figures(encode, sets)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
