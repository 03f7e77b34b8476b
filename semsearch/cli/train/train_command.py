"""`train`: an encoder trained on your own text, optionally with its export and an index in the same command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semsearch import settings
from semsearch.cli.options import DeviceOption, JsonFlag, Options, TemplateOption, TrustFlag
from semsearch.cli.output import console
from semsearch.cli.output.progress import training_progress
from semsearch.cli.train.data_source import Source
from semsearch.cli.train.follow_up import Goal
from semsearch.cli.train.plan import Plan, teacher_of
from semsearch.cli.train.validation_source import Chooser
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.settings import DATA
from semsearch.training import objectives

if TYPE_CHECKING:
    from semsearch.training import SeedsResult, TrainingResult

Export = Literal["onnx", "onnx-int8"]


def train(
    ctx: typer.Context,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="METHOD",
            help=f"Training objective: {', '.join(objectives.names())}.",
        ),
    ],
    base: Annotated[
        str,
        typer.Option("--base", metavar="MODEL", help="Model to train: a folder or hf:owner/name, also with #TEMPLATE."),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder of the run and of the trained encoder.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Training data: a folder, a text file, JSON lines, CSV or TSV; also .gz and .xz.",
        ),
    ] = None,
    from_index: Annotated[
        str | None, typer.Option("--from-index", metavar="NAME", help="Train on the passages of an index.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="ROLE=NAME,…",
            help="Columns of the data by role: anchor, positive, negative, score, label.",
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="L,L,…", help="Labels of the data, from least to most similar.")
    ] = None,
    granularity: Annotated[
        Literal["sentences", "passages"] | None,
        typer.Option("--granularity", help="How to split documents.  [default: sentences; passages of an index]"),
    ] = None,
    max_samples: Annotated[
        int | None, typer.Option("--max-samples", metavar="N", min=2, help="Train on a random sample of N examples.")
    ] = None,
    template: TemplateOption = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            "--teacher", metavar="MODEL", help="Teacher model of distil.  [default: the base with mean pooling]"
        ),
    ] = None,
    epochs: Annotated[float | None, typer.Option("--epochs", metavar="E", help="Passes over the data.")] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", min=1, help="Training steps, instead of epochs.")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", metavar="N", min=1, help="Examples per step.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", metavar="R", help="Peak learning rate.")
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option("--warmup", metavar="W", help="Warm-up: a share of the steps below 1, else a number of steps."),
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", metavar="N", min=1, help="Truncate texts to N tokens in training.")
    ] = None,
    eval_every: Annotated[
        int | None, typer.Option("--eval-every", metavar="N", min=1, help="Validate every N steps.")
    ] = None,
    grad_cache_size: Annotated[
        int | None,
        typer.Option(
            "--grad-cache-size",
            metavar="N",
            min=1,
            help="Encode N texts at a time to save memory; the loss still sees the whole batch.",
        ),
    ] = None,
    ema_decay: Annotated[
        float | None,
        typer.Option("--ema-decay", metavar="D", help="Average the weights with this decay, for example 0.999."),
    ] = None,
    matryoshka_dims: Annotated[
        str | None,
        typer.Option("--matryoshka-dims", metavar="D,D,…", help="Also train vectors truncated to these dimensions."),
    ] = None,
    precision: Annotated[
        Literal["fp32", "bf16"], typer.Option("--precision", help="Precision of the computation; bf16 saves memory.")
    ] = "fp32",
    device: DeviceOption = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Random seed.  [default: 0]")] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N,N,…", help="One run per seed; the best by validation score is kept."),
    ] = None,
    told: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set an option of the method; repeatable.")
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation",
            metavar="SET",
            help="Validation set: stsb, a file, held-out[:N] or none.  [default: stsb where available, else held-out]",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", metavar="DIR", help=f"Folder of STS test sets.  [default: {DATA}]")
    ] = None,
    export: Annotated[
        Export | None, typer.Option("--export", help="Also export the encoder to DIR/onnx, which needs no PyTorch.")
    ] = None,
    index: Annotated[
        Path | None, typer.Option("--index", metavar="PATH", help="Also index these files with the trained encoder.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("-n", "--name", metavar="NAME", help="Name of that index.  [default: that of PATH]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Start over if DIR contains another run.")] = False,
    trust: TrustFlag = False,
    yes: Annotated[
        bool, typer.Option("-y", "--yes", help="Allow validation on a test set, and data from a whole disk.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train an encoder on your own text.

    Most methods need only plain text; docs/training.md says which need labelled pairs. The output folder is an encoder
    like any other: semsearch index -m DIR. Repeat the same command to resume an interrupted run.
    """
    options: Options = ctx.obj
    plan = Plan(
        method=method,
        base=base,
        template=template,
        seeds=_seeds(seed, seeds),
        told=tuple(told or ()),
        dims=_numbers(matryoshka_dims, "--matryoshka-dims") if matryoshka_dims else (),
        given={
            "epochs": epochs,
            "steps": steps,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "warmup": warmup,
            "max_length": max_length,
            "eval_every": eval_every,
            "ema_decay": ema_decay,
            "grad_cache_size": grad_cache_size,
            "precision": precision,
        },
        device=device,
    )  # fmt: skip
    plan.check(out, teacher, force=force)
    source = Source(options, data, from_index, tuple(columns or ()), labels, granularity, max_samples, yes)
    chooser = Chooser(options, validation, data_dir, yes)
    goal = Goal(options, out, export, index, name, data_dir)
    chooser.check()
    goal.check(force=force)
    examples = source.read()
    run = plan.config(settings.load({"device": device}))
    examples = source.fitted(examples, plan)
    examples, judge = chooser.chosen(examples)
    teaches, called = teacher_of(plan, teacher, run.device, options, trust=trust)
    from semsearch.training import train as one
    from semsearch.training import train_seeds as several

    how: dict[str, Any] = {"validation": judge, "teacher": teaches, "teacher_name": called, "force": force}
    with training_progress(options, plan.jobs(out, force=force)) as report:
        how |= {"trust_remote_code": trust, "report": report}
        if len(plan.seeds) > 1:
            summary = several(run, plan.seeds, examples, out, **how)
        else:
            result = one(run, examples, out, **how)
            summary = _alone(result)
    _tell(plan, summary, goal.reach(summary.best.folder, trust=trust), as_json)


def _alone(result: TrainingResult) -> SeedsResult:
    from semsearch.training import SeedsResult

    return SeedsResult((result,), result.score, None)


def _tell(plan: Plan, summary: SeedsResult, reached: dict[str, Any], as_json: bool) -> None:
    """What came of it, on stdout."""

    best = summary.best
    told = {
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
        **reached,
    }
    if as_json:
        console.emit({"schema": 1, "train": told})
        return
    console.pairs(_lines(told))


def _lines(told: dict[str, Any]) -> dict[str, str]:
    """The same for a person."""
    lines = {key: str(told[key]) for key in ("folder", "method", "base")}
    each = told["seeds"]
    if told["score"] is not None:
        spread = f" ± {told['deviation']:.2f}, {len(each)} seeds" if told["deviation"] is not None else ""
        lines["score"] = f"{told['score']:.2f}{spread}: {told['measure']}"
    if len(each) > 1 and told["score"] is not None:
        lines["seeds"] = ", ".join(f"{one['seed']}: {one['score']:.2f}" for one in each)
    lines["step"] = f"{told['step']:,} of {told['steps']:,}, {console.duration(told['seconds'])}"
    lines["fingerprint"] = told["fingerprint"]
    if told["export"]:
        lines["export"] = told["export"]["folder"]
    if told["index"]:
        lines["index"] = f"{told['index']['name']}, {console.count(told['index']['passages'], 'passage')}"
    return lines


def _seeds(seed: int | None, seeds: str | None) -> tuple[int, ...]:
    if seeds is None:
        return (seed or 0,)
    if seed is not None:
        raise UsageError("--seed and --seeds exclude each other.", "Choose one.")
    found = _numbers(seeds, "--seeds")
    if len(set(found)) < len(found):
        raise UsageError(f"--seeds {seeds} repeats a seed.", "Name each once.")
    return found


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
