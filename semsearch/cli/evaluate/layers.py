"""`eval grid` and `eval tokens`: where in a network likeness is read, and what each token has to do with it."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semsearch import settings
from semsearch.cli.common import DeviceOption, DtypeOption, JsonFlag, ModelOption, TemplateOption, TrustFlag, loaded
from semsearch.cli.encoders.sts import Task
from semsearch.cli.evaluate.tasks import (
    DataOption,
    FigureOption,
    ModelsOption,
    ReportOption,
    Watch,
    encoders,
    named,
    ready,
    save,
)
from semsearch.cli.output import text
from semsearch.cli.output.counting import counted
from semsearch.errors import MissingExtra
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.papers.grid import Grid
    from semsearch.evaluation.papers.tokens import Part
    from semsearch.evaluation.report import Run


def grid(
    ctx: typer.Context,
    model: ModelOption = None,
    task: Annotated[Task, typer.Option("--task", help="Whose pairs are compared.")] = "stsb",
    split: Annotated[
        str, typer.Option("--split", metavar="S", help="train, dev or test; sts12 to sts16 have test alone.")
    ] = "dev",
    data: DataOption = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    figure: FigureOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Spearman of every layer under every pooling (SG-OPT, figure 1).

    [CLS], mean and maximum; the [MASK] where the template has one; the last token of a decoder. For models that run
    in Torch. What is chosen by it has to be chosen on dev.
    """
    from semsearch.evaluation import report as reports
    from semsearch.evaluation import sts

    ready(report, 1, figure)
    folder, watch = data_folder(data), Watch()
    subsets = sts.task_pairs(task, folder, split)
    pairs = [pair for subset in subsets.values() for pair in subset.pairs]
    gold = [score for subset in subsets.values() for score in subset.gold]
    name = model or settings.load().model
    encoder = loaded(ctx.obj, name, device, template=template or _plain(name), dtype=dtype, trust=trust)
    measuring = _torch("eval grid", "grid")
    with counted(ctx.obj, f"{name}, {task} {split}", "pairs") as count:
        found: Grid = measuring.grid(encoder.backend, sts.Subset(tuple(pairs), tuple(gold)), count)
    best, pooling, score = found.best
    run = reports.run(
        "grid",
        encoder,
        protocol=f"{task} {split}, Spearman in percent of the best layer and pooling",
        scores={"poolings": list(found.poolings), "layers": [list(row) for row in found.scores]},
        table={"layer": best, "spearman": score},
        row={"pooling": pooling},
        settings={"task": task, "split": split, "pairs": len(pairs)},
        files=sts.task_files(task, folder, split),
        asked=name,
        took_s=watch.read(),
    )
    save([run], report)
    if figure is not None:
        _draw("layers", found, figure, f"{encoder.name}\n{task} {split}")
    if as_json:
        text.emit({"schema": 1, "runs": [run]})
        return
    rows = [[str(layer), *("-" if math.isnan(cell) else f"{cell:.2f}" for cell in row)]
            for layer, row in enumerate(found.scores)]  # fmt: skip
    text.table(rows, ("layer", *found.poolings))
    text.out()
    text.out("best: none" if math.isnan(score) else f"best: layer {best}, {pooling}, {score:.2f}")


def tokens(
    ctx: typer.Context,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="What is looked at.")],
    models: ModelsOption = None,
    core: Annotated[
        list[str] | None,
        typer.Option(
            "--core",
            metavar="WORD",
            help="Words that count as its core; repeatable.  [default: all but function words of English]",
        ),
    ] = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    figure: FigureOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """What each token of SENTENCE has to do with its vector (Pretended CoT, figure 1).

    The cosine of the two, at the layer that is read, and its share of the sum. For models that run in Torch.
    """
    ready(report, len(named(models)), figure)
    found: dict[str, Sequence[Part]] = {}
    runs, watch = [], Watch()
    for name, encoder in encoders(ctx.obj, models, device, template=template, dtype=dtype, trust=trust):
        measuring = _torch("eval tokens", "tokens")
        found[name] = measuring.contributions(encoder.backend, sentence, core or ())
        runs.append(_told(name, encoder, sentence, core or (), found[name], watch.read()))
    save(runs, report)
    if figure is not None:
        _draw("tokens", found, figure, f"“{sentence}”")
    whole = {name: sum(part.share for part in parts if part.core) for name, parts in found.items()}
    if as_json:
        shown = {name: {"core_share": whole[name], "tokens": [asdict(part) for part in parts]}
                 for name, parts in found.items()}  # fmt: skip
        text.emit({"schema": 1, "sentence": sentence, "models": shown})
        return
    for at, (name, parts) in enumerate(found.items()):
        if at:
            text.out()
        text.out(f"{text.safe(name)}: core words have {100 * whole[name]:.1f} %")
        text.table([[part.token, f"{part.cosine:.4f}", f"{100 * part.share:.1f}", "core" if part.core else ""]
                    for part in parts], ("token", "cosine", "%", ""))  # fmt: skip


def _told(name: str, encoder: Encoder, sentence: str, core: Sequence[str], parts: Sequence[Part], took_s: float) -> Run:
    """What a report has of the tokens of one encoder."""
    from semsearch.evaluation import report

    return report.run(
        "tokens",
        encoder,
        protocol=f"“{sentence}”: the share that its core words have, in percent",
        scores={"tokens": [asdict(part) for part in parts]},
        table={"core": 100 * sum(part.share for part in parts if part.core)},
        settings={"sentence": sentence, "core": list(core)},
        asked=name,
        took_s=took_s,
    )


def _plain(name: str) -> str | None:
    """Without a template layers are read with no words around the sentence, as the paper reads them."""
    from semsearch.encoders import factory
    from semsearch.models import bundle as bundles
    from semsearch.models.model_ref import Reference

    asked = Reference.parse(name)
    if asked.template or asked.model == factory.HASHING:
        return None
    return None if (bundles.find(asked.model, asked.revision) / bundles.MANIFEST).is_file() else "mean"


def _torch(command: str, module: str) -> Any:
    """A module of semsearch.evaluation that needs Torch. Raises MissingExtra."""
    from importlib import import_module

    try:
        return import_module(f"semsearch.evaluation.papers.{module}")
    except ImportError as error:
        raise MissingExtra(command, "train") from error


def _draw(which: str, found: Any, file: Path, title: str) -> None:
    from semsearch.evaluation.papers import figures

    getattr(figures, which)(found, file, title)
    text.note(f"wrote {file}")
