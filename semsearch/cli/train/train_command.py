"""`train`: an encoder on one's own text, and where asked its export and an index in the same command."""

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
from semsearch.settings import DATA

if TYPE_CHECKING:
    from semsearch.training.trainer import Result, Summary

Export = Literal["onnx", "onnx-int8"]


def train(
    ctx: typer.Context,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="simcse, promptbert, cotbert, sg, sg-opt, cosent, supervised, softmax, optiprompt, qlora or distil.",
        ),
    ],
    base: Annotated[
        str, typer.Option("--base", metavar="MODEL", help="What is trained: a folder or hf:owner/name; MODEL#TEMPLATE.")
    ],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder of the run and the encoder.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="A folder, a text file, JSON lines, CSV or TSV; .gz and .xz too."),
    ] = None,
    from_index: Annotated[
        str | None, typer.Option("--from-index", metavar="NAME", help="Train on the passages of an index.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", metavar="ROLE=NAME,…", help="Roles: anchor, positive, negative, score, label."),
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="L,L,…", help="The data's labels, the least alike first.")
    ] = None,
    unit: Annotated[
        Literal["sentences", "passages"] | None,
        typer.Option("--unit", help="How documents are cut.  [default: sentences; of an index, its passages]"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=2, help="Train on N examples, drawn by chance.")
    ] = None,
    template: TemplateOption = None,
    teacher: Annotated[
        str | None, typer.Option("--teacher", metavar="MODEL", help="For distil.  [default: the base, averaged]")
    ] = None,
    epochs: Annotated[float | None, typer.Option("--epochs", metavar="E", help="Times that the data is read.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", metavar="N", min=1, help="Steps, in place of epochs.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", metavar="N", min=1, help="Examples a step.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", metavar="R", help="The learning rate.")] = None,
    warmup: Annotated[
        float | None, typer.Option("--warmup", metavar="W", help="Share of the steps, or steps, till it is reached.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", metavar="N", min=1, help="Tokens of a text that are read in training.")
    ] = None,
    eval_every: Annotated[
        int | None, typer.Option("--eval-every", metavar="N", min=1, help="Steps between two scores on dev.")
    ] = None,
    micro_batch: Annotated[
        int | None,
        typer.Option("--micro-batch", metavar="N", min=1, help="Texts that memory holds; the loss sees all of a step."),
    ] = None,
    average: Annotated[
        float | None, typer.Option("--average", metavar="D", help="Keep a mean of the weights with this decay: 0.999.")
    ] = None,
    dims: Annotated[
        str | None, typer.Option("--dims", metavar="D,D,…", help="Lengths at which a vector's beginning serves too.")
    ] = None,
    precision: Annotated[Literal["fp32", "bf16"], typer.Option("--precision", help="bf16 saves memory.")] = "fp32",
    device: DeviceOption = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="What chance follows from.")] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="N,N,…", help="A run for each; the best by dev goes on.")
    ] = None,
    told: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option of the method; repeatable.")
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            metavar="DEV",
            help="What chooses the checkpoint: stsb, a file, held-out[:N] or none.  "
            "[default: stsb where it is known, else held-out]",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", metavar="DIR", help=f"Where STS-B lies.  [default: {DATA}]")
    ] = None,
    export: Annotated[
        Export | None, typer.Option("--export", help="Go on to DIR/onnx, which runs without Torch.")
    ] = None,
    index: Annotated[
        Path | None, typer.Option("--index", metavar="PATH", help="Go on to an index of these files.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("-n", "--name", metavar="NAME", help="The name of that index.  [default: PATH's]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Start anew where DIR holds another run.")] = False,
    trust: TrustFlag = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Choose by a test set, read a whole disk.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train an encoder on your own text.

    Plain text is enough for simcse, promptbert, cotbert, sg, sg-opt, optiprompt and distil; the others take pairs.
    DIR is an encoder like any other: index -m DIR. A run that was cut off goes on as the same command is typed again.
    """
    options: Options = ctx.obj
    plan = Plan(
        method=method,
        base=base,
        template=template,
        seeds=_seeds(seed, seeds),
        told=tuple(told or ()),
        dims=_numbers(dims, "--dims") if dims else (),
        given={"epochs": epochs, "steps": steps, "batch": batch, "rate": rate, "warmup": warmup, "tokens": tokens,
               "eval_every": eval_every, "average": average, "micro": micro_batch, "precision": precision},
        device=device,
    )  # fmt: skip
    plan.check(out, teacher, force=force)
    source = Source(options, data, from_index, tuple(columns or ()), labels, unit, limit, yes)
    chooser = Chooser(options, dev, data_dir, yes)
    goal = Goal(options, out, export, index, name, data_dir)
    chooser.check()
    goal.check(force=force)
    examples = source.read()
    run = plan.settings(settings.load({"device": device}))
    examples = source.fitted(examples, plan)
    examples, judge = chooser.chosen(examples)
    teaches, called = teacher_of(plan, teacher, run.device, options, trust=trust)
    from semsearch.training.trainer import train as one
    from semsearch.training.trainer import train_seeds as several

    how: dict[str, Any] = {"dev": judge, "teacher": teaches, "teacher_name": called, "force": force}
    with training_progress(options, plan.jobs(out, force=force)) as report:
        how |= {"trust_remote_code": trust, "report": report}
        if len(plan.seeds) > 1:
            summary = several(run, plan.seeds, examples, out, **how)
        else:
            result = one(run, examples, out, **how)
            summary = _alone(result)
    _tell(plan, summary, goal.reach(summary.best.folder, trust=trust), as_json)


def _alone(result: Result) -> Summary:
    from semsearch.training.trainer import Summary

    return Summary((result,), result.score, None)


def _tell(plan: Plan, summary: Summary, reached: dict[str, Any], as_json: bool) -> None:
    """What came of it, on stdout."""
    from semsearch.models import bundle as bundles

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
        raise UsageError("--seed and --seeds cannot be given together.", "Choose one.")
    found = _numbers(seeds, "--seeds")
    if len(set(found)) < len(found):
        raise UsageError(f"--seeds {seeds} names one twice.", "Name each once.")
    return found


def _numbers(text: str, flag: str) -> tuple[int, ...]:
    """
    >>> _numbers("64, 128", "--dims")
    (64, 128)
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"{flag} {text!r} is no list of whole numbers.", f"Write {flag} 0,1,2")
    return tuple(int(part) for part in parts)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
