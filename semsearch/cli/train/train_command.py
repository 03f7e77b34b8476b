"""`train`: an encoder trained on your own text, optionally with its export and an index in the same command."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from semsearch import settings, training
from semsearch.cli.options import (
    DeviceOption,
    JsonFlag,
    Options,
    TemplateOption,
    TrustFlag,
    complete_encoder,
    flag,
    value,
)
from semsearch.cli.output import console
from semsearch.cli.output.progress import training_progress
from semsearch.cli.train.data_source import DataSource
from semsearch.cli.train.follow_up import FollowUp
from semsearch.cli.train.plan import HyperparameterOptions, Plan, load_teacher
from semsearch.cli.train.validation_source import ValidationSource
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.training import objectives
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from semsearch.training import SeedsResult

METHODS = ", ".join(objectives.names(foreign=False))  # once: typer evaluates the annotations below several times


def train(
    ctx: typer.Context,
    *,
    method: Annotated[str, value("METHOD", f"Training objective: {METHODS}.", "--method")],
    base: Annotated[
        str,
        value(
            "MODEL",
            "Model to train: a folder or hf:owner/name, also with #TEMPLATE.",
            "--base",
            autocompletion=complete_encoder,
        ),
    ],
    out: Annotated[Path, value("DIR", "Folder of the run and of the trained encoder.", "-o", "--output")],
    source: DataSource,
    template: TemplateOption = None,
    teacher: Annotated[
        str | None, value("MODEL", "Teacher model of distil.  [default: the base with mean pooling]")
    ] = None,
    hyperparameters: HyperparameterOptions,
    matryoshka_dims: Annotated[str | None, value("D,D,…", "Also train vectors truncated to these dimensions.")] = None,
    precision: Annotated[
        Literal["fp32", "bf16"], typer.Option(help="Precision of the computation; bf16 saves memory.")
    ] = "fp32",
    device: DeviceOption = None,
    seed: Annotated[int | None, value("N", "Random seed.  [default: 0]", min=0)] = None,
    seeds: Annotated[str | None, value("N,N,…", "One run per seed; the best by validation score is used.")] = None,
    assignments: Annotated[
        list[str] | None, value("KEY=VALUE", "Set an option of the method; repeatable.", "--set")
    ] = None,
    validation: ValidationSource,
    follow_up: FollowUp,
    force: Annotated[bool, flag("--force", "Start over if DIR contains another run.")] = False,
    trust: TrustFlag = False,
    yes: Annotated[bool, flag("--yes", "Allow validation on a test set, and data from a whole disk.", "-y")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train an encoder on your own text.

    Most methods need only plain text; docs/training.md lists those that need labelled pairs. The output folder is an
    encoder like any other: semsearch index -m DIR. Repeat the same command to resume an interrupted run.
    """
    options: Options = ctx.obj
    plan = Plan(
        method=method,
        base=base,
        template=template,
        seeds=_seeds(seed, seeds),
        assignments=tuple(assignments or ()),
        hyperparameters={
            **asdict(hyperparameters),
            "precision": precision,
            "matryoshka_dims": _numbers(matryoshka_dims, "--matryoshka-dims") if matryoshka_dims else None,
        },
    )
    preparing = (lambda what: None) if options.quiet else _preparing
    plan.check(out, teacher, force=force)
    validation.check(yes=yes)
    follow_up.check(options, out, force=force)
    preparing("reading the training texts")
    examples = source.read(options, yes=yes)
    preparing("loading PyTorch")
    config = plan.config(settings.load({"device": device}))
    examples = source.adapted(examples, plan, options, yes=yes)
    preparing("reading the validation data")
    examples, dev, description = validation.split(examples, yes=yes)
    if not options.quiet:
        console.note(f"validation: {description}")
    encode, teacher_name = load_teacher(plan, teacher, config.device, options, trust=trust)
    with training_progress(options, plan.jobs(out, force=force)) as report:
        run = training.TrainingOptions(dev, encode, teacher_name, force, trust, report, preparing)
        if len(plan.seeds) > 1:
            summary = training.train_seeds(config, plan.seeds, examples, out, run)
        else:
            result = training.train(config, examples, out, run)
            summary = training.SeedsResult((result,), result.score, None)
    followed = follow_up.run(options, summary.best.folder, out, validation.data_dir, trust=trust)
    _print_result(plan, summary, followed, as_json)


def _preparing(what: str) -> None:
    """Say on stderr what is done before the first step; the page Train shows the last such line."""
    console.note(f"preparing: {what}")


def _print_result(plan: Plan, summary: SeedsResult, followed: JsonObject, as_json: bool) -> None:
    best = summary.best
    report = {
        "folder": str(best.folder),
        "method": plan.method,
        "base": plan.reference,
        "seeds": [
            {"seed": each.seed, "score": _rounded(each.score), "step": each.step, "folder": str(each.folder)}
            for each in summary.results
        ],
        "score": _rounded(summary.mean),
        "deviation": _rounded(summary.deviation),
        "measure": best.measure,
        "step": best.step,
        "steps": best.steps,
        "seconds": round(sum(each.seconds for each in summary.results), 3),
        "fingerprint": bundles.read(best.folder).fingerprint,
        **followed,
    }
    if as_json:
        console.emit({"schema": 1, "train": report})
        return
    console.pairs(_readable(report))


def _readable(report: JsonObject) -> dict[str, str]:
    """The result as lines for people."""
    lines = {key: str(report[key]) for key in ("folder", "method", "base")}
    each = report["seeds"]
    if report["score"] is not None:
        spread = f" ± {report['deviation']:.2f}, {len(each)} seeds" if report["deviation"] is not None else ""
        lines["score"] = f"{report['score']:.2f}{spread}: {report['measure']}"
    if len(each) > 1 and report["score"] is not None:
        lines["seeds"] = ", ".join(f"{one['seed']}: {one['score']:.2f}" for one in each)
    lines["step"] = f"{report['step']:,} of {report['steps']:,}, {console.duration(report['seconds'])}"
    lines["fingerprint"] = report["fingerprint"]
    if report["export"]:
        lines["export"] = report["export"]["folder"]
    if report["index"]:
        lines["index"] = f"{report['index']['name']}, {count(report['index']['passages'], 'passage')}"
    return lines


def _seeds(seed: int | None, seeds: str | None) -> tuple[int, ...]:
    if seeds is None:
        return (seed or 0,)
    if seed is not None:
        raise UsageError("--seed and --seeds exclude each other.", "Choose one.")
    numbers = _numbers(seeds, "--seeds")
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"--seeds {seeds} repeats a seed.", "Name each once.")
    return numbers


def _numbers(text: str, flag: str) -> tuple[int, ...]:
    """
    >>> _numbers("64, 128", "--matryoshka-dims")
    (64, 128)
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"{flag} {text!r} is not a list of whole numbers.", f"Write {flag} 0,1,2")
    return tuple(int(part) for part in parts)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
