"""`eval grid` and `eval tokens`: the layers of a network, and the contribution of each token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import semsearch
from semsearch import settings
from semsearch.cli.evaluate.tasks import DataOption, FigureOption, ReportOption, Stopwatch, Task, check_outputs, save
from semsearch.cli.lookup import load_encoder, load_encoders, model_names
from semsearch.cli.options import (
    DeviceOption,
    DtypeOption,
    EncoderOptions,
    JsonFlag,
    ModelOption,
    ModelsOption,
    TemplateOption,
    TrustFlag,
)
from semsearch.cli.output import console
from semsearch.cli.output.progress import counter
from semsearch.errors import MissingExtra
from semsearch.evaluation import report as reports
from semsearch.evaluation.report import Run
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.evaluation import TokenAttribution


def grid(
    ctx: typer.Context,
    model: ModelOption = None,
    task: Annotated[Task, typer.Option("--task", help="Test set whose pairs are compared.")] = "stsb",
    split: Annotated[
        str, typer.Option("--split", metavar="S", help="train, dev or test; sts12 to sts16 have only test.")
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
    """Score every layer of a model under every pooling (SG-OPT, figure 1).

    Spearman for [CLS], mean and maximum; also for [MASK] where the template has one, and for a decoder's last token.
    Only for models that run in PyTorch. Choose a layer on dev, never on test.
    """
    from semsearch.evaluation import sts_benchmarks  # numpy, which --help does without

    check_outputs(report, 1, figure)
    folder, watch = data_folder(data), Stopwatch()
    subsets = sts_benchmarks.sts_pairs(task, folder, split)
    pairs = [pair for subset in subsets.values() for pair in subset.pairs]
    gold = [score for subset in subsets.values() for score in subset.gold]
    name = model or settings.load().model
    options = EncoderOptions(template or _no_template(name), dtype, device=device, trust=trust)
    encoder = load_encoder(ctx.obj, name, options)
    try:
        from semsearch.evaluation.papers import figures, layer_scores  # torch, which --help does without
    except ImportError as error:
        raise MissingExtra("eval grid", "train") from error
    with counter(ctx.obj, f"{name}, {task} {split}", "pairs") as count:
        found = layer_scores.layer_scores(encoder, sts_benchmarks.Subset(tuple(pairs), tuple(gold)), count)
    best, pooling, score = found.best
    run = reports.run(
        "grid",
        encoder,
        protocol=f"{task} {split}, Spearman in percent of the best layer and pooling",
        scores={"poolings": list(found.poolings), "layers": [list(row) for row in found.scores]},
        table={"layer": best, "spearman": score},
        row={"pooling": pooling},
        settings={"task": task, "split": split, "pairs": len(pairs)},
        files=sts_benchmarks.task_files(task, folder, split),
        asked=name,
        took_s=watch.read(),
    )
    save([run], report)
    if figure is not None:
        figures.layers(found, figure, f"{encoder.name}\n{task} {split}")
        console.note(f"wrote {figure}")
    if as_json:
        console.emit({"schema": 1, "runs": [run]})
        return
    cells = [["-" if math.isnan(cell) else f"{cell:.2f}" for cell in row] for row in found.scores]
    console.table([[str(layer), *row] for layer, row in enumerate(cells)], ("layer", *found.poolings))
    console.out()
    console.out("best: none" if math.isnan(score) else f"best: layer {best}, {pooling}, {score:.2f}")


def tokens(
    ctx: typer.Context,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="Sentence to analyse.")],
    models: ModelsOption = None,
    core: Annotated[
        list[str] | None,
        typer.Option(
            "--core",
            metavar="WORD",
            help="Words that carry the sentence's meaning; repeatable.  [default: all but English function words]",
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
    """Show how much each token contributes to a sentence's vector.

    The cosine of token and vector at the layer that is read, and its share of the sum (Pretended CoT, figure 1). Only
    for models that run in PyTorch.
    """
    check_outputs(report, len(model_names(models)), figure)
    found: dict[str, Sequence[TokenAttribution]] = {}
    runs, watch = [], Stopwatch()
    options = EncoderOptions(template, dtype, device=device, trust=trust)
    for name, encoder in load_encoders(ctx.obj, models, options):
        try:
            from semsearch.evaluation.papers import attribution  # torch
        except ImportError as error:
            raise MissingExtra("eval tokens", "train") from error
        found[name] = attribution.token_attribution(encoder, sentence, core or ())
        runs.append(_run(name, encoder, sentence, core or (), found[name], watch.read()))
    save(runs, report)
    if figure is not None:
        from semsearch.evaluation.papers import figures  # matplotlib

        figures.tokens(found, figure, f"“{sentence}”")
        console.note(f"wrote {figure}")
    whole = {name: sum(part.share for part in parts if part.core) for name, parts in found.items()}
    if as_json:
        shown = {
            name: {"core_share": whole[name], "tokens": [asdict(part) for part in parts]}
            for name, parts in found.items()
        }
        console.emit({"schema": 1, "sentence": sentence, "models": shown})
        return
    for at, (name, parts) in enumerate(found.items()):
        if at:
            console.out()
        console.out(f"{console.safe(name)}: core words contribute {100 * whole[name]:.1f} %")
        rows = [
            [part.token, f"{part.cosine:.4f}", f"{100 * part.share:.1f}", "core" if part.core else ""] for part in parts
        ]
        console.table(rows, ("token", "cosine", "%", ""))


def _run(
    name: str,
    encoder: semsearch.Encoder,
    sentence: str,
    core: Sequence[str],
    parts: Sequence[TokenAttribution],
    took_s: float,
) -> Run:
    """The report of one encoder's tokens."""
    return reports.run(
        "tokens",
        encoder,
        protocol=f"“{sentence}”: the share that its core words have, in percent",
        scores={"tokens": [asdict(part) for part in parts]},
        table={"core": 100 * sum(part.share for part in parts if part.core)},
        settings={"sentence": sentence, "core": list(core)},
        asked=name,
        took_s=took_s,
    )


def _no_template(name: str) -> str | None:
    """`mean`, which reads layers without words around the sentence as the paper does, unless `name` has a template."""
    from semsearch.encoders import factory  # numpy, as above

    reference = Reference.parse(name)
    if reference.template or reference.model == factory.HASHING:
        return None
    saved = (model_folders.find(reference.model, reference.revision) / bundles.MANIFEST).is_file()
    return None if saved else "mean"
