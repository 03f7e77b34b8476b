"""`sts`: how alike texts are, for one or several encoders side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from semsearch.cli.common import DeviceOption, DtypeOption, JsonFlag, LayerOption, TemplateOption, TrustFlag, loaded
from semsearch.cli.evaluate import sts as eval_sts
from semsearch.cli.evaluate.sts import How
from semsearch.cli.evaluate.tasks import DataOption, FigureOption, ReportOption, named, ready
from semsearch.cli.output import text as show
from semsearch.cli.search.batch import read_pairs, read_texts
from semsearch.errors import UnknownName, UsageError
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder

Encoders = Mapping[str, "Encoder"]  # by the name that was asked for
Task = Literal["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"]


def sts(
    ctx: typer.Context,
    a: Annotated[str | None, typer.Argument(metavar="A", help="A text …")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="… and the one to compare it with.")] = None,
    pairs: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Pairs: a<TAB>b[<TAB>score], CSV, or JSON lines; - reads stdin."),
    ] = None,
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Every line against every other.")] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="T", help=f"Public test sets: {', '.join(get_args(Task))}, or all; repeatable."),
    ] = None,
    data: DataOption = None,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option("--split", help="Of stsb and sickr; the others have test alone.")
    ] = "test",
    aggregate: Annotated[
        How,
        typer.Option(
            "--aggregate",
            help="How subsets make one score: all joined, as papers have it, their mean, or their mean by size.",
        ),
    ] = "all",
    models: Annotated[
        list[str] | None, typer.Option("-m", "--model", metavar="MODEL", help="Encoder, or MODEL#TEMPLATE; repeatable.")
    ] = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    report: ReportOption = None,
    figure: FigureOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare texts: cosine, and strength against unrelated texts.

    Where pairs carry a score given by people, also how well the cosines follow it (Spearman and Pearson, percent).
    """
    asked = {"A B": a is not None, "--pairs": bool(pairs), "--matrix": bool(matrix), "--task": bool(tasks)}
    if sum(asked.values()) != 1 or (a is not None and b is None):
        raise UsageError(
            "sts needs two texts A B, or one of --pairs, --matrix and --task.", "See: semsearch sts --help"
        )
    if not tasks and (report or figure):
        raise UsageError("--report and --figure are for public test sets.", "Say which: --task stsb")
    triples = [(a, b, None)] if a is not None and b is not None else read_pairs(pairs) if pairs else []
    texts = read_texts(matrix) if matrix else []
    chosen = _tasks(tasks or ())
    if figure is not None and len(chosen) != 1:
        raise UsageError("a figure shows the pairs of one task.", "Say one --task.")
    names = named(models)
    ready(report, len(names), figure)
    how: dict[str, Any] = {"template": template, "dtype": dtype, "layer": layer, "trust": trust}
    encoders: Encoders = {name: loaded(ctx.obj, name, device, **how) for name in names}
    if tasks:
        asked_for = eval_sts.Asked(chosen, data_folder(data), split, aggregate)
        eval_sts.tell(ctx.obj, asked_for, encoders, report=report, figure=figure, as_json=as_json)
    elif matrix:
        _tell_matrix(texts, encoders, as_json)
    else:
        _tell_pairs(triples, encoders, as_json)


def _tasks(asked: Sequence[str]) -> tuple[str, ...]:
    """The tasks that are meant, `all` being seven. Raises UnknownName."""
    for name in asked:
        if name not in (*get_args(Task), "all"):
            raise UnknownName("STS task", name, (*get_args(Task), "all"))
    return get_args(Task) if "all" in asked else tuple(dict.fromkeys(asked))


def _tell_pairs(triples: Sequence[tuple[str, str, float | None]], encoders: Encoders, as_json: bool) -> None:
    from semsearch.evaluation.sts import sts as compare

    scored = [score for _, _, score in triples if score is not None]
    gold = scored if len(scored) == len(triples) else None
    if scored and gold is None:
        raise UsageError(f"{len(triples) - len(scored)} of {len(triples)} pairs have no score.", "Score all, or none.")
    texts = [(a, b) for a, b, _ in triples]
    found = {name: compare(texts, encoder, gold) for name, encoder in encoders.items()}
    whole = {name: eval_sts.correlations(one.spearman, one.pearson) for name, one in found.items() if gold}
    if as_json:
        shown = [
            {"a": a, "b": b, "models": {name: _compared(one, at) for name, one in found.items()}}
            for at, (a, b) in enumerate(texts)
        ]
        show.emit({"schema": 1, "pairs": shown, **({"models": whole} if gold else {})})
        return
    if len(found) > 1:
        _tell_side_by_side(texts, found)
    else:
        (one,) = found.values()
        for at, (a, b) in enumerate(texts):
            figures = _figures(_compared(one, at))
            show.out(f"{figures}  {show.safe(a)} | {show.safe(b)}" if len(texts) > 1 else figures)
    eval_sts.tell_correlations(whole)


def _tell_side_by_side(texts: Sequence[tuple[str, str]], found: Mapping[str, Any]) -> None:
    """One line for every pair and model; the pairs only where there are several."""
    rows = []
    for at, (a, b) in enumerate(texts):
        for name, one in found.items():
            figures = _compared(one, at).values()
            told = [name, *("-" if figure is None else f"{figure:.4f}" for figure in figures)]
            rows.append([*told, f"{a} | {b}"] if len(texts) > 1 else told)
    show.table(rows, ("model", "cosine", "strength", *(["texts"] if len(texts) > 1 else [])))


def _tell_matrix(texts: Sequence[str], encoders: Encoders, as_json: bool) -> None:
    from semsearch.utils import calibration

    if not texts:
        raise UsageError("there are no texts to compare.", "Write one a line.")
    cosines, strengths = {}, {}
    for name, encoder in encoders.items():
        vectors = encoder.encode(texts)
        cosines[name] = (vectors @ vectors.T).clip(-1, 1)
        strengths[name] = calibration.calibrate(cosines[name], encoder.background) if encoder.background else None
    if as_json:
        found = {name: {"cosine": cosines[name], "strength": strengths[name]} for name in encoders}
        show.emit({"schema": 1, "texts": list(texts), "models": found})
        return
    for name in encoders:
        if len(encoders) > 1:
            show.out(show.safe(name))
        rows = [
            [str(at), *(f"{value:.3f}" for value in row), text]
            for at, (row, text) in enumerate(zip(cosines[name], texts, strict=True), 1)
        ]
        show.table(rows, ("", *(str(at) for at in range(1, len(texts) + 1)), "text"))


def _compared(found: Any, at: int) -> dict[str, float | None]:
    known = found.strengths[at]
    return {"cosine": round(found.cosines[at], 6), "strength": None if known is None else round(known, 4)}


def _figures(compared: Mapping[str, float | None]) -> str:
    strength = compared["strength"]
    return f"cosine {compared['cosine']:.4f}" + ("" if strength is None else f"  strength {strength:.2f}")
