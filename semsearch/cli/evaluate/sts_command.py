"""`sts`: similarity of texts, for one or several encoders side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np
import typer

import semsearch
from semsearch.cli.evaluate import mask_output, sts_benchmark
from semsearch.cli.evaluate.mask_output import SeenMasks
from semsearch.cli.evaluate.sts_benchmark import Benchmark
from semsearch.cli.evaluate.tasks import Aggregation, DataOption, FigureOptions, Task
from semsearch.cli.input_files import read_pairs, read_texts
from semsearch.cli.lookup import load_encoder, model_names
from semsearch.cli.options import EncoderOptions, ModelsOption, flag, value
from semsearch.cli.output import console
from semsearch.encoders import pair_similarity
from semsearch.errors import UnknownName, UsageError
from semsearch.evaluation.papers import figures
from semsearch.evaluation.sts import StsResult, strengths_of
from semsearch.settings import data_folder
from semsearch.types import JsonMapping
from semsearch.utils.languages.detection import advice, is_readable, listed

Encoders = Mapping[str, semsearch.Encoder]  # by the name on the command line
Comparison = dict[str, float | None]  # cosine and strength
SAMPLED = 200  # texts, for their languages
ENOUGH = 0.1  # the share that an encoder may fail to read, as of an index


def sts(
    ctx: typer.Context,
    *,
    a: Annotated[str | None, typer.Argument(metavar="A", help="A text, …")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="… and another to compare it with.")] = None,
    pairs: Annotated[
        str | None, value("FILE", "Pairs: a<TAB>b[<TAB>score], CSV, or JSON lines; - reads stdin.")
    ] = None,
    matrix: Annotated[str | None, value("FILE", "Compare every line of this file with every other.")] = None,
    tasks: Annotated[
        list[str] | None, value("T", f"Public test sets: {', '.join(get_args(Task))}, or all; repeatable.", "--task")
    ] = None,
    data: DataOption = None,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Part of stsb or sickr; the other sets have only test.")
    ] = "test",
    masks: Annotated[
        bool, flag("--masks", "Also the cosines and likeliest words at each [MASK] of the template, for A B.")
    ] = False,
    strength: Annotated[
        bool,
        flag(
            "--strength/--no-strength", "Also strengths; a model is compared with 156 unrelated texts for them, once."
        ),
    ] = True,
    aggregate: Annotated[
        Aggregation,
        typer.Option(
            help="How to combine subsets: all pairs joined, as in papers; their mean; or their mean weighted by size."
        ),
    ] = "all",
    models: ModelsOption = None,
    options: EncoderOptions,
    output: FigureOptions,
) -> None:
    """Compare texts: cosine, and strength against unrelated texts.

    For pairs with human scores, also the correlation of cosines and scores (Spearman and Pearson, in percent).
    --figure draws the cosines over them.
    """
    inputs = {"A B": a is not None, "--pairs": bool(pairs), "--matrix": bool(matrix), "--task": bool(tasks)}
    if sum(inputs.values()) != 1 or (a is not None and b is None):
        problem = "sts needs two texts A B, or one of --pairs, --matrix and --task."
        raise UsageError(problem, "See: semsearch sts --help")
    _check_options(tasks, pairs, output, masks=masks and a is None)
    triples = [(a, b, None)] if a is not None and b is not None else read_pairs(pairs) if pairs else []
    gold = _gold(triples, output)
    texts = read_texts(matrix) if matrix else []
    chosen = _tasks(tasks or ())
    if output.figure is not None and tasks and len(chosen) != 1:
        raise UsageError("a figure shows the pairs of one task.", "Pass --task once.")
    names = model_names(models)
    output.check(len(names))
    if tasks:
        benchmark = Benchmark(chosen, data_folder(data), split, aggregate)
        sts_benchmark.show(ctx.obj, benchmark, names, options, output)
        return
    encoders: Encoders = {name: load_encoder(ctx.obj, name, options) for name in names}
    _warn_of_unread(encoders, texts or [text for a, b, _ in triples for text in (a, b)])
    if matrix:
        _print_matrix(texts, encoders, strength=strength, as_json=output.as_json)
        return
    sides = [(a, b) for a, b, _ in triples]
    results = {name: semsearch.sts(sides, one, gold or None, strengths=False) for name, one in encoders.items()}
    if output.figure is not None:
        _draw(results, gold, output.figure, f"{Path(pairs or '').name}: {len(gold):,} pairs")
    strong = partial(_strengths, {name: encoders[name] for name in results if strength}, results)
    correlated = {name: sts_benchmark.correlations(one.spearman, one.pearson) for name, one in results.items() if gold}
    if output.as_json:
        seen = mask_output.seen(encoders, triples[0][:2]) if masks else {}
        _emit_pairs(results, {name: strong(name) for name in results}, seen, correlated)
        return
    _print_pairs(results, strong)
    sts_benchmark.print_correlations(correlated)
    if masks:
        mask_output.show(mask_output.seen(encoders, triples[0][:2]))


def _check_options(tasks: Sequence[str] | None, pairs: str | None, output: FigureOptions, *, masks: bool) -> None:
    """Raise for options that do not go with what is compared; `masks` without two texts."""
    if masks:
        raise UsageError("--masks needs two texts A B.", "For example: semsearch sts A B --masks -m MODEL#cot-bert")
    if output.report and not tasks:
        raise UsageError("--report needs a public test set.", "Name one, for example: --task stsb")
    if output.figure and not tasks and not pairs:
        raise UsageError("--figure needs pairs with human scores.", "Pass --pairs FILE, or --task stsb.")


def _warn_of_unread(encoders: Encoders, texts: Sequence[str]) -> None:
    """Name the encoders that cannot read more than a tenth of the texts: a cosine then says nothing."""
    sample = texts[:: max(1, len(texts) // SAMPLED)]
    for name, encoder in encoders.items():
        unread = sum(not is_readable(text, encoder.languages) for text in sample)
        if unread > ENOUGH * len(sample):
            text = (
                f"{name} reads {listed(encoder.languages)}, not the language of {unread / len(sample):.0%} of the texts"
            )
            fix = advice(encoder.languages, "compare texts", "-m multilingual")
            console.warn([f"{text}, whose cosines say nothing.{fix}"])


def _gold(triples: Sequence[tuple[str, str, float | None]], output: FigureOptions) -> list[float]:
    """The scores of all pairs, or none. Raises UsageError if only some have one, or none has and a figure is wanted."""
    gold = [score for _, _, score in triples if score is not None]
    if gold and len(gold) < len(triples):
        problem = f"{len(triples) - len(gold)} of {len(triples)} pairs have no score."
        raise UsageError(problem, "Score either all pairs or none.")
    if output.figure and triples and not gold:
        raise UsageError("a figure shows cosines over human scores, and these pairs have none.", "Add a third column.")
    return gold


def _draw(results: Mapping[str, StsResult], gold: Sequence[float], file: Path, title: str) -> None:
    figures.by_gold({name: np.asarray(one.cosines) for name, one in results.items()}, gold, file, title)
    console.note(f"wrote {file}")


def _tasks(names: Sequence[str]) -> tuple[str, ...]:
    """The tasks; `all` stands for every one. Raises UnknownName."""
    for name in names:
        if name not in (*get_args(Task), "all"):
            raise UnknownName("STS task", name, (*get_args(Task), "all"))
    return get_args(Task) if "all" in names else tuple(dict.fromkeys(names))


def _strengths(encoders: Encoders, results: Mapping[str, StsResult], name: str) -> Sequence[float | None]:
    """The strengths of all pairs under one of `encoders`, else none."""
    result = results[name]
    return strengths_of(result.cosines, encoders[name]) if name in encoders else result.strengths


def _emit_pairs(
    results: Mapping[str, StsResult],
    strengths: Mapping[str, Sequence[float | None]],
    seen: Mapping[str, SeenMasks],
    correlated: JsonMapping,
) -> None:
    """Print cosine and strength of every pair as JSON."""
    masks = {name: {"masks": one.as_json} for name, one in seen.items()}
    shown = [
        {
            "a": a,
            "b": b,
            "models": {
                name: {**_compared(one.cosines[at], strengths[name][at]), **masks.get(name, {})}
                for name, one in results.items()
            },
        }
        for at, (a, b) in enumerate(next(iter(results.values())).pairs)
    ]
    console.emit({"schema": 1, "pairs": shown, **({"models": correlated} if correlated else {})})


def _print_pairs(results: Mapping[str, StsResult], strengths: Callable[[str], Sequence[float | None]]) -> None:
    """Print the cosine of every pair at once, and behind it the strength, for which a model may have to be measured."""
    pairs, of = next(iter(results.values())).pairs, cache(strengths)
    names = {name: console.safe(name) for name in results}
    width = max(map(console.columns, ("model", *names.values())))
    longest = max(len("cosine"), *(len(f"{cosine:.4f}") for one in results.values() for cosine in one.cosines))
    if several := len(results) > 1:
        heads = ["model" + " " * (width - len("model")), "cosine".rjust(longest), "strength"]
        console.out("  ".join([*heads, *(["texts"] if len(pairs) > 1 else [])]))
    for at, (a, b) in enumerate(pairs):
        texts = [f"{console.safe(a)} | {console.safe(b)}"] if len(pairs) > 1 else []
        for name, shown in names.items():
            cosine = f"{results[name].cosines[at]:.4f}"
            if several:
                console.begin(f"{shown}{' ' * (width - console.columns(shown))}  {cosine.rjust(longest)}")
            else:
                console.begin(f"cosine {cosine}")
            strength = of(name)[at]
            if several:
                rest = [("-" if strength is None else f"{strength:.4f}").rjust(len("strength")), *texts]
            else:
                rest = [*([] if strength is None else [f"strength {strength:.2f}"]), *texts]
            console.out("".join(f"  {part}" for part in rest))


def _print_matrix(texts: Sequence[str], encoders: Encoders, *, strength: bool, as_json: bool) -> None:
    if not texts:
        raise UsageError("there are no texts to compare.", "Write one per line.")
    cosines, by_model = {}, {}
    for name, encoder in encoders.items():
        vectors = encoder.encode(texts)
        cosines[name] = one = (vectors @ vectors.T).clip(-1, 1)
        strengths = as_json and strength and len(encoder.background) > 0
        by_model[name] = {
            "cosine": one,
            "strength": pair_similarity.calibrate(one, encoder.background) if strengths else None,
        }
    if as_json:
        console.emit({"schema": 1, "texts": list(texts), "models": by_model})
        return
    numbers = [str(at) for at in range(1, len(texts) + 1)]
    for name, one in cosines.items():
        if len(encoders) > 1:
            console.out(console.safe(name))
        lines = zip(numbers, one, texts, strict=True)
        rows = [[number, *(f"{value:.3f}" for value in row), text] for number, row, text in lines]
        console.table(rows, ("", *numbers, "text"))


def _compared(cosine: float, strength: float | None) -> Comparison:
    return {"cosine": round(cosine, 6), "strength": None if strength is None else round(strength, 4)}
