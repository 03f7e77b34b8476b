"""`eval grid` and `eval tokens`: the layers of a network, and the contribution of each token."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

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
    option_groups,
)
from semsearch.cli.output import console
from semsearch.cli.output.progress import counter
from semsearch.errors import MissingExtra
from semsearch.evaluation import report as reports
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.evaluation import TokenAttribution


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """The options of both commands: how the network is loaded, and what is written."""

    template: TemplateOption = None
    dtype: DtypeOption = None
    device: DeviceOption = None
    trust: TrustFlag = False
    figure: FigureOption = None
    report: ReportOption = None
    as_json: JsonFlag = False

    def encoder(self, template: str | None = None) -> EncoderOptions:
        """The options of the encoder, with `template` as the default."""
        return EncoderOptions(self.template or template, self.dtype, device=self.device, trust=self.trust)


@option_groups
def grid(
    ctx: typer.Context,
    *,
    model: ModelOption = None,
    task: Annotated[Task, typer.Option(help="Test set whose pairs are compared.")] = "stsb",
    split: Annotated[str, typer.Option(metavar="S", help="train, dev or test; sts12 to sts16 have only test.")] = "dev",
    data: DataOption = None,
    options: NetworkOptions,
) -> None:
    """Score every layer of a model under every pooling (SG-OPT, figure 1).

    Spearman for [CLS], mean and maximum; also for [MASK] where the template has one, and for a decoder's last token.
    Only for models that run in PyTorch. Choose a layer on dev, never on test.
    """
    from semsearch.evaluation import sts_benchmarks  # numpy, which --help does without

    check_outputs(options.report, 1, options.figure)
    folder, watch = data_folder(data), Stopwatch()
    subsets = sts_benchmarks.sts_pairs(task, folder, split)
    pairs = [pair for subset in subsets.values() for pair in subset.pairs]
    gold = [score for subset in subsets.values() for score in subset.gold]
    name = model or settings.load().model
    encoder = load_encoder(ctx.obj, name, options.encoder(_no_template(name)))
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
    save([run], options.report)
    if options.figure is not None:
        figures.layers(found, options.figure, f"{encoder.name}\n{task} {split}")
        console.note(f"wrote {options.figure}")
    if options.as_json:
        console.emit({"schema": 1, "runs": [run]})
        return
    cells = [["-" if math.isnan(cell) else f"{cell:.2f}" for cell in row] for row in found.scores]
    console.table([[str(layer), *row] for layer, row in enumerate(cells)], ("layer", *found.poolings))
    console.out()
    console.out("best: none" if math.isnan(score) else f"best: layer {best}, {pooling}, {score:.2f}")


@option_groups
def tokens(
    ctx: typer.Context,
    *,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="Sentence to analyse.")],
    models: ModelsOption = None,
    core: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="Words that carry the sentence's meaning; repeatable.  [default: all but English function words]",
        ),
    ] = None,
    options: NetworkOptions,
) -> None:
    """Show how much each token contributes to a sentence's vector.

    The cosine of token and vector at the layer that is read, and its share of the sum (Pretended CoT, figure 1). Only
    for models that run in PyTorch.
    """
    check_outputs(options.report, len(model_names(models)), options.figure)
    found: dict[str, list[TokenAttribution]] = {}
    whole: dict[str, float] = {}  # the share of all core words
    runs, watch = [], Stopwatch()
    for name, encoder in load_encoders(ctx.obj, models, options.encoder()):
        try:
            from semsearch.evaluation.papers import attribution  # torch
        except ImportError as error:
            raise MissingExtra("eval tokens", "train") from error
        found[name] = parts = attribution.token_attribution(encoder, sentence, core or ())
        whole[name] = sum(part.share for part in parts if part.core)
        run = reports.run(
            "tokens",
            encoder,
            protocol=f"“{sentence}”: the share that its core words have, in percent",
            scores={"tokens": [asdict(part) for part in parts]},
            table={"core": 100 * whole[name]},
            settings={"sentence": sentence, "core": core or []},
            asked=name,
            took_s=watch.read(),
        )
        runs.append(run)
    save(runs, options.report)
    if options.figure is not None:
        from semsearch.evaluation.papers import figures  # matplotlib

        figures.tokens(found, options.figure, f"“{sentence}”")
        console.note(f"wrote {options.figure}")
    if options.as_json:
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


def _no_template(name: str) -> str | None:
    """`mean`, which reads layers without words around the sentence as the paper does, unless `name` has a template."""
    from semsearch.encoders import factory  # numpy, as above

    reference = Reference.parse(name)
    if reference.template or reference.model == factory.HASHING:
        return None
    saved = (model_folders.find(reference.model, reference.revision) / bundles.MANIFEST).is_file()
    return None if saved else "mean"
