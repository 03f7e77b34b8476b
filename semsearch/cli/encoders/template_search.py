"""`templates search`: the template under which a model ranks sentence pairs best."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semsearch import encoders, evaluation, settings
from semsearch.cli.input_files import read_lines, read_pairs, read_texts
from semsearch.cli.lookup import check_split
from semsearch.cli.options import (
    DeviceOption,
    DtypeOption,
    JsonFlag,
    LayerOption,
    ModelOption,
    TemplateOption,
    TrustFlag,
    YesFlag,
    flag,
    value,
)
from semsearch.cli.output import console
from semsearch.cli.output.progress import sync_progress
from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import templates
from semsearch.prompts import library
from semsearch.prompts.library import Template
from semsearch.types import JsonObject, Progress, Role

if TYPE_CHECKING:
    from semsearch.evaluation.sts_benchmarks import Subset
    from semsearch.evaluation.templates.greedy_search import Candidate

PARTS = "a text, or a file with one per line; repeatable."
PAIRS = "Scored pairs: a<TAB>b<TAB>score, SentEval's sts-dev.csv, or its folder."
MAX_WIDTH = 100  # characters of a text in a table


def search(
    ctx: typer.Context,
    model: ModelOption = None,
    data: Annotated[Path | None, value("FILE|DIR", PAIRS)] = None,
    prefixes: Annotated[list[str] | None, value("P", f"Text around [X]: {PARTS}")] = None,
    relations: Annotated[list[str] | None, value("R", f"Text between [X] and [MASK]: {PARTS}")] = None,
    endings: Annotated[list[str] | None, value("E", f"End of the template: {PARTS}")] = None,
    texts: Annotated[
        str | None, value("FILE", "Judge without labels, by texts in place of --data: one per line; - reads stdin.")
    ] = None,
    seeds: Annotated[
        str, value("0,1,2", "Each seed draws half of the pairs or texts; templates are ranked by the mean.")
    ] = "",
    full: Annotated[bool, flag("--full", "Score all combinations, instead of one part after the other.")] = False,
    max_samples: Annotated[int | None, value("N", "Use N pairs or texts, evenly spread over the file.", min=2)] = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    output: Annotated[Path | None, value("FILE", "Write the best template to a TOML file.", "-o", "--output")] = None,
    trust: TrustFlag = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Find the template under which a model ranks sentence pairs best.

    The search is greedy: first the relation, then the prefix, then the ending, each the best of its list. The
    default lists are those of the paper (PromptBERT, section 4.2). --template, or MODEL#TEMPLATE, sets method,
    options and rules. Use a validation set.

    With --texts no scores are needed: the sum of alignment and uniformity ranks, lowest first, where a text and the
    same text without one word count as similar.
    """
    drawn = _numbers(seeds)
    sample = _sample(data, texts, max_samples, yes=yes)
    chosen = settings.load({"model": model, "device": device, "home": ctx.obj.home})
    reference = templates.grids.searchable(chosen.model)
    reference = reference.with_(template=template, dtype=dtype, layer=layer)
    lists = (_texts(prefixes), _texts(relations), _texts(endings))
    base, grid = templates.grids.grid_of(reference, lists, trust=trust)
    reference = reference if reference.template else reference.with_(template=base.text["passage"])
    started = time.perf_counter()
    engine, lasting = encoders.factory.open_backend(
        reference, device=chosen.device, threads=chosen.threads, trust=trust
    )
    with sync_progress(ctx.obj, "searching templates") as step:
        reader = templates.judging.Reader(engine, base)
        if isinstance(sample, list):
            kind, size, embedded = "texts", len(sample), len(sample)
            judge = templates.judging.without_labels(reader, sample, drawn)
        else:
            kind, size, embedded = "pairs", len(sample.pairs), 2 * len(sample.pairs)
            judge = templates.judging.on_pairs(reader, sample, drawn)

        def report(done: int, total: int, text: str) -> None:
            step(Progress(done, total, "templates", text, embedded * done))

        ranked = templates.greedy_search.search(grid, judge, full=full, report=report)
    summary = {
        "model": str(lasting).partition("#")[0],
        "method": base.method,
        kind: size,
        **({"seeds": drawn} if drawn else {}),
        "took_s": round(time.perf_counter() - started, 3),
    }
    _print_ranked(ranked, summary, as_json)
    if output is not None:
        of = f"{size} {kind}" if kind == "pairs" else f"{size} texts without labels"
        _write(ranked[0], base, f"{of}, the best of a search with {engine.name.partition('#')[0]}", output)


def _sample(data: Path | None, texts: str | None, most: int | None, *, yes: bool) -> Subset | list[str]:
    """The scored pairs of --data or the texts of --texts, thinned to `most`. Raises UsageError without or with both."""
    if (data is None) == (texts is None):
        problem = (
            "there are no pairs to score templates on." if data is None else "--data and --texts were both passed."
        )
        raise UsageError(problem, "Pass --data FILE, for example sts-dev.csv; or --texts FILE, without scores.")
    if data is not None:
        subset = _subset(data, yes=yes)
        return subset if most is None else subset.thinned(most)
    if texts != "-":
        check_split(Path(str(texts)), "a template", yes=yes)
    lines = list(dict.fromkeys(line for line in read_texts(str(texts)) if line.strip()))
    return lines if most is None else [lines[at] for at in evaluation.sts_benchmarks.spread(len(lines), most)]


def _numbers(text: str) -> list[int]:
    """Seeds, separated by commas. Raises UsageError."""
    try:
        numbers = [int(part) for part in text.split(",")] if text else []
    except ValueError:
        numbers = [-1]
    if any(seed < 0 for seed in numbers):
        raise UsageError(f"{text!r} is no list of seeds.", "Write numbers from 0, such as 0,1,2.")
    return list(dict.fromkeys(numbers))


def _subset(data: Path, *, yes: bool) -> Subset:
    """Scored pairs of a file, or of STS-B's dev split below a folder. Refuses a test split, unless `yes`."""
    if data.is_dir() and not (data / "sts-dev.csv").is_file():
        return evaluation.sts_benchmarks.sts_pairs("stsb", data, "dev")["dev"]
    path = data / "sts-dev.csv" if data.is_dir() else data
    check_split(path, "a template", yes=yes)
    triples = _senteval(path) or read_pairs(str(path))
    unscored = sum(score is None for _, _, score in triples)
    if unscored or len(triples) < 2:
        problem = f"{unscored} of {len(triples)} pairs have no score" if unscored else "at least two pairs are needed"
        raise UsageError(f"{path}: {problem}.", "Write `text<TAB>text<TAB>score` on each line.")
    gold = tuple(score for *_, score in triples if score is not None)
    return evaluation.sts_benchmarks.Subset(tuple((a, b) for a, b, _ in triples), gold)


def _senteval(path: Path) -> list[tuple[str, str, float | None]]:
    """Pairs of a file in STS-B's format, with score and sentences in columns 5 to 7; [] for any other file."""
    rows = [line.split("\t") for _, line in read_lines(str(path)) if line.strip()]
    try:
        return [(row[5], row[6], float(row[4])) for row in rows]
    except (IndexError, ValueError):
        return []


def _texts(values: Sequence[str] | None) -> tuple[str, ...]:
    """Each value, or the lines of the file that it names. A text may be empty, as the first relation of Table 4."""
    texts: list[str] = []
    for part in values or ():
        if part and "[X]" not in part and Path(part).is_file():
            texts += [line.strip() for _, line in read_lines(part)]
            if not texts[-1]:
                texts.pop()  # the empty string after the last newline
        elif part.endswith((".txt", ".tsv")):
            raise NotFound(f"{part} does not exist.", "Check the spelling and the current folder.")
        else:
            texts.append(part)
    if values and not texts:
        raise UsageError(f"{', '.join(values)} contains no text.", "Write one per line.")
    return tuple(dict.fromkeys(texts))


def _print_ranked(ranked: Sequence[Candidate], summary: JsonObject, as_json: bool) -> None:
    best, candidates, rows = ranked[0].text, [], []
    for rank, one in enumerate(ranked, 1):
        judged = one.judgement
        figures = {name: _finite(figure) for name, figure in judged.figures.items()}
        by_seed = {"by_seed": [_finite(score) for score in judged.by_seed]} if judged.by_seed else {}
        candidates.append({"rank": rank, **figures, **by_seed, "stage": one.stage, "template": one.text})
        digits = 2 if "spearman" in figures else 4
        shown = ("-" if figure is None else f"{figure:.{digits}f}" for figure in figures.values())
        rows.append([str(rank), *shown, one.stage, shorten(one.text)])
    heads = ("rank", *ranked[0].judgement.figures, "stage", "template")

    def show() -> None:
        console.table(rows, heads)
        console.out(f"\n--template {shlex.quote(console.safe(best))}")

    console.result({**summary, "best": best, "candidates": candidates}, show, as_json=as_json)


def _finite(figure: float) -> float | None:
    return None if math.isnan(figure) else round(figure, 4)


def _write(best: Candidate, base: Template, where: str, output: Path) -> None:
    """Write the best template to a file, with its origin."""
    text: dict[Role, str] = {"query": best.text, "passage": best.text}
    judged = best.judgement
    score = f"Spearman {judged.spearman:.2f}"
    if math.isnan(judged.spearman):
        score = f"Alignment {judged.alignment:.4f} and uniformity {judged.uniformity:.4f}"
    description = f"{score} on {where}"
    template = replace(base, text=text, description=description, source="", note="")
    output.write_text(library.to_toml(template), encoding="utf-8")
    console.note(f"wrote {output}")


def shorten(text: str) -> str:
    """`text` as it fits into a table."""
    return text if len(text) <= MAX_WIDTH else f"{text[: MAX_WIDTH - 1]}…"
