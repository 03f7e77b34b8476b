"""`sts`: similarity of texts, for one or several encoders side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, get_args

import typer

import semsearch
from semsearch.cli.evaluate import sts_benchmark
from semsearch.cli.evaluate.sts_benchmark import Benchmark
from semsearch.cli.evaluate.tasks import Aggregation, DataOption, FigureOption, ReportOption, Task, check_outputs
from semsearch.cli.input_files import read_pairs, read_texts
from semsearch.cli.lookup import load_encoder, model_names
from semsearch.cli.options import EncoderOptions, JsonFlag, ModelsOption, option_groups
from semsearch.cli.output import console
from semsearch.errors import UnknownName, UsageError
from semsearch.evaluation.sts import StsResult
from semsearch.settings import data_folder
from semsearch.utils import calibration

Encoders = Mapping[str, semsearch.Encoder]  # by the name on the command line
Comparison = dict[str, float | None]  # cosine and strength


@option_groups
def sts(
    ctx: typer.Context,
    *,
    a: Annotated[str | None, typer.Argument(metavar="A", help="A text, …")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="… and another to compare it with.")] = None,
    pairs: Annotated[
        str | None, typer.Option(metavar="FILE", help="Pairs: a<TAB>b[<TAB>score], CSV, or JSON lines; - reads stdin.")
    ] = None,
    matrix: Annotated[
        str | None, typer.Option(metavar="FILE", help="Compare every line of this file with every other.")
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="T", help=f"Public test sets: {', '.join(get_args(Task))}, or all; repeatable."),
    ] = None,
    data: DataOption = None,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Part of stsb or sickr; the other sets have only test.")
    ] = "test",
    aggregate: Annotated[
        Aggregation,
        typer.Option(
            help="How to combine subsets: all pairs joined, as in papers; their mean; or their mean weighted by size."
        ),
    ] = "all",
    models: ModelsOption = None,
    options: EncoderOptions,
    report: ReportOption = None,
    figure: FigureOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare texts: cosine, and strength against unrelated texts.

    For pairs with human scores, also the correlation of cosines and scores (Spearman and Pearson, in percent).
    """
    inputs = {"A B": a is not None, "--pairs": bool(pairs), "--matrix": bool(matrix), "--task": bool(tasks)}
    if sum(inputs.values()) != 1 or (a is not None and b is None):
        raise UsageError(
            "sts needs two texts A B, or one of --pairs, --matrix and --task.", "See: semsearch sts --help"
        )
    if not tasks and (report or figure):
        raise UsageError("--report and --figure need a public test set.", "Name one, for example: --task stsb")
    triples = [(a, b, None)] if a is not None and b is not None else read_pairs(pairs) if pairs else []
    texts = read_texts(matrix) if matrix else []
    chosen = _tasks(tasks or ())
    if figure is not None and len(chosen) != 1:
        raise UsageError("a figure shows the pairs of one task.", "Pass --task once.")
    names = model_names(models)
    check_outputs(report, len(names), figure)
    encoders: Encoders = {name: load_encoder(ctx.obj, name, options) for name in names}
    if tasks:
        benchmark = Benchmark(chosen, data_folder(data), split, aggregate)
        sts_benchmark.show(ctx.obj, benchmark, encoders, report=report, figure=figure, as_json=as_json)
    elif matrix:
        _print_matrix(texts, encoders, as_json)
    else:
        _print_pairs(triples, encoders, as_json)


def _tasks(names: Sequence[str]) -> tuple[str, ...]:
    """The tasks; `all` stands for every one. Raises UnknownName."""
    for name in names:
        if name not in (*get_args(Task), "all"):
            raise UnknownName("STS task", name, (*get_args(Task), "all"))
    return get_args(Task) if "all" in names else tuple(dict.fromkeys(names))


def _print_pairs(triples: Sequence[tuple[str, str, float | None]], encoders: Encoders, as_json: bool) -> None:
    scored = [score for _, _, score in triples if score is not None]
    gold = scored if len(scored) == len(triples) else None
    if scored and gold is None:
        raise UsageError(
            f"{len(triples) - len(scored)} of {len(triples)} pairs have no score.", "Score either all pairs or none."
        )
    texts = [(a, b) for a, b, _ in triples]
    found = {name: semsearch.sts(texts, encoder, gold) for name, encoder in encoders.items()}
    whole = {name: sts_benchmark.correlations(one.spearman, one.pearson) for name, one in found.items() if gold}
    if as_json:
        shown = [
            {"a": a, "b": b, "models": {name: _compared(one, at) for name, one in found.items()}}
            for at, (a, b) in enumerate(texts)
        ]
        console.emit({"schema": 1, "pairs": shown, **({"models": whole} if gold else {})})
        return
    if len(found) > 1:
        _print_side_by_side(texts, found)
    else:
        (one,) = found.values()
        for at, (a, b) in enumerate(texts):
            figures = _figures(_compared(one, at))
            console.out(f"{figures}  {console.safe(a)} | {console.safe(b)}" if len(texts) > 1 else figures)
    sts_benchmark.print_correlations(whole)


def _print_side_by_side(texts: Sequence[tuple[str, str]], found: Mapping[str, StsResult]) -> None:
    """Print a line for every pair and model, with the texts where there are several pairs."""
    rows = []
    for at, (a, b) in enumerate(texts):
        for name, one in found.items():
            figures = _compared(one, at).values()
            row = [name, *("-" if figure is None else f"{figure:.4f}" for figure in figures)]
            rows.append([*row, f"{a} | {b}"] if len(texts) > 1 else row)
    console.table(rows, ("model", "cosine", "strength", *(["texts"] if len(texts) > 1 else [])))


def _print_matrix(texts: Sequence[str], encoders: Encoders, as_json: bool) -> None:
    if not texts:
        raise UsageError("there are no texts to compare.", "Write one per line.")
    cosines, strengths = {}, {}
    for name, encoder in encoders.items():
        vectors = encoder.encode(texts)
        cosines[name] = (vectors @ vectors.T).clip(-1, 1)
        strengths[name] = calibration.calibrate(cosines[name], encoder.background) if encoder.background else None
    if as_json:
        found = {name: {"cosine": cosines[name], "strength": strengths[name]} for name in encoders}
        console.emit({"schema": 1, "texts": list(texts), "models": found})
        return
    for name in encoders:
        if len(encoders) > 1:
            console.out(console.safe(name))
        rows = [
            [str(at), *(f"{value:.3f}" for value in row), text]
            for at, (row, text) in enumerate(zip(cosines[name], texts, strict=True), 1)
        ]
        console.table(rows, ("", *(str(at) for at in range(1, len(texts) + 1)), "text"))


def _compared(found: StsResult, at: int) -> Comparison:
    known = found.strengths[at]
    return {"cosine": round(found.cosines[at], 6), "strength": None if known is None else round(known, 4)}


def _figures(compared: Comparison) -> str:
    strength = compared["strength"]
    return f"cosine {compared['cosine']:.4f}" + ("" if strength is None else f"  strength {strength:.2f}")
