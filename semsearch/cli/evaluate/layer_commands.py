"""`eval grid` and `eval tokens`: the layers of a network, and the contribution of each token."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

import semsearch
from semsearch import encoders, evaluation, settings
from semsearch.cli.evaluate.tasks import DataOption, FigureOptions, Task, measure_each, torch_required
from semsearch.cli.lookup import model_names
from semsearch.cli.options import (
    DeviceOption,
    DtypeOption,
    EncoderOptions,
    ModelOption,
    ModelsOption,
    TemplateOption,
    TrustFlag,
    value,
)
from semsearch.cli.output import console
from semsearch.cli.output.progress import counter
from semsearch.evaluation import papers, templates
from semsearch.evaluation.report import Measurement
from semsearch.models.model_ref import Reference
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.evaluation import TokenAttribution
    from semsearch.evaluation.papers.layer_scores import LayerScores


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """The options with which the network of both commands is loaded."""

    template: TemplateOption = None
    dtype: DtypeOption = None
    device: DeviceOption = None
    trust: TrustFlag = False

    def loading(self, template: str | None = None) -> EncoderOptions:
        """The options of the encoder, with `template` as the default."""
        return EncoderOptions(self.template or template, self.dtype, device=self.device, trust=self.trust)


def grid(
    ctx: typer.Context,
    *,
    model: ModelOption = None,
    task: Annotated[Task, typer.Option(help="Test set whose pairs are compared.")] = "stsb",
    split: Annotated[str, value("S", "train, dev or test; sts12 to sts16 have only test.")] = "dev",
    data: DataOption = None,
    network: NetworkOptions,
    output: FigureOptions,
) -> None:
    """Score every layer of a model under every pooling (SG-OPT, figure 1).

    Spearman for [CLS], mean and maximum; also for [MASK] where the template has one, and for a decoder's last token.
    Only for models that run in PyTorch. Choose a layer on dev, never on test.
    """
    output.check(1)
    with torch_required("eval grid"):
        layer_scores = papers.layer_scores
    folder, name = data_folder(data), model or settings.load().model
    subsets = evaluation.sts_benchmarks.sts_pairs(task, folder, split).values()
    joined = evaluation.sts_benchmarks.Subset(
        tuple(pair for subset in subsets for pair in subset.pairs),
        tuple(one for subset in subsets for one in subset.gold),
    )
    scores: list[LayerScores] = []

    def measure(name: str, encoder: semsearch.Encoder) -> Iterator[Measurement]:
        with counter(ctx.obj, f"{name}, {task} {split}", "pairs") as count:
            scores.append(layer_scores.layer_scores(encoder, joined, count))
        best, pooling, score = scores[0].best
        yield Measurement(
            protocol=f"{task} {split}, Spearman in percent of the best layer and pooling",
            scores={"poolings": list(scores[0].poolings), "layers": [list(row) for row in scores[0].scores]},
            table={"layer": best, "spearman": score},
            row={"pooling": pooling},
            settings={"task": task, "split": split, "pairs": len(joined.pairs)},
            files=evaluation.sts_benchmarks.task_files(task, folder, split),
        )

    runs = measure_each("grid", ctx.obj, [name], network.loading(_default_template(name)), measure)
    title = f"{runs[0]['encoder']['name']}\n{task} {split}"
    output.write(runs, lambda file: papers.figures.layers(scores[0], file, title))
    if output.as_json:
        console.emit({"schema": 1, "runs": runs})
        return
    cells = [["-" if math.isnan(cell) else f"{cell:.2f}" for cell in row] for row in scores[0].scores]
    console.table([[str(layer), *row] for layer, row in enumerate(cells)], ("layer", *scores[0].poolings))
    console.out()
    best, pooling, score = scores[0].best
    console.out("best: none" if math.isnan(score) else f"best: layer {best}, {pooling}, {score:.2f}")


def tokens(
    ctx: typer.Context,
    *,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="Sentence to analyse.")],
    models: ModelsOption = None,
    core: Annotated[
        list[str] | None,
        value(
            "WORD", "Words that carry the sentence's meaning; repeatable.  [default: all but English function words]"
        ),
    ] = None,
    network: NetworkOptions,
    output: FigureOptions,
) -> None:
    """Show how much each token contributes to a sentence's vector.

    The cosine of token and vector at the layer that is read, and its share of the sum (Pretended CoT, figure 1). Only
    for models that run in PyTorch.
    """
    output.check(len(model_names(models)))
    with torch_required("eval tokens"):
        attribution = papers.attribution
    attributions: dict[str, list[TokenAttribution]] = {}
    shares: dict[str, float] = {}  # of all core words together

    def measure(name: str, encoder: semsearch.Encoder) -> Iterator[Measurement]:
        attributions[name] = attribution.token_attribution(encoder, sentence, core or ())
        shares[name] = sum(part.share for part in attributions[name] if part.core)
        yield Measurement(
            protocol=f"“{sentence}”: the share of its core words, in percent",
            scores={"tokens": [asdict(part) for part in attributions[name]]},
            table={"core": 100 * shares[name]},
            settings={"sentence": sentence, "core": core or []},
        )

    runs = measure_each("tokens", ctx.obj, models, network.loading(), measure)
    output.write(runs, lambda file: papers.figures.tokens(attributions, file, f"“{sentence}”"))
    if output.as_json:
        parts_of = {name: [asdict(part) for part in parts] for name, parts in attributions.items()}
        shown = {name: {"core_share": shares[name], "tokens": parts} for name, parts in parts_of.items()}
        console.emit({"schema": 1, "sentence": sentence, "models": shown})
        return
    for at, (name, parts) in enumerate(attributions.items()):
        if at:
            console.out()
        console.out(f"{console.safe(name)}: core words contribute {100 * shares[name]:.1f} %")
        rows = [[one.token, f"{one.cosine:.4f}", f"{100 * one.share:.1f}", "core" * one.core] for one in parts]
        console.table(rows, ("token", "cosine", "%", ""))


def _default_template(name: str) -> str | None:
    """`mean`, which reads layers without words around the sentence as the paper does, unless `name` has a template."""
    reference = Reference.parse(name)
    fixed = reference.template or reference.model == encoders.factory.HASHING or templates.check.is_saved(reference)
    return None if fixed else "mean"
