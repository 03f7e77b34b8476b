"""`templates search`: the template under which a model orders sentence pairs best."""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semsearch import settings
from semsearch.cli.common import (
    DeviceOption,
    DtypeOption,
    JsonFlag,
    LayerOption,
    ModelOption,
    Options,
    TemplateOption,
    TrustFlag,
    YesFlag,
)
from semsearch.cli.output import text as show
from semsearch.cli.search.batch import read_lines, read_pairs
from semsearch.errors import GuardRail, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from semsearch.evaluation.sts import Subset
    from semsearch.evaluation.templates.grid_search import Candidate
    from semsearch.models.tokenization import Tokenizer
    from semsearch.prompts.library import Template

PIECES = "a piece, or a file with one a line; repeatable."
WIDEST = 100  # columns of a text in a table


def search(
    ctx: typer.Context,
    model: ModelOption = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR", help="Scored pairs: a<TAB>b<TAB>score, SentEval's sts-dev.csv, or its folder."
        ),
    ] = None,
    prefixes: Annotated[list[str] | None, typer.Option(metavar="P", help=f"What wraps [X]: {PIECES}")] = None,
    relations: Annotated[
        list[str] | None, typer.Option(metavar="R", help=f"What relates it to [MASK]: {PIECES}")
    ] = None,
    endings: Annotated[list[str] | None, typer.Option(metavar="E", help=f"What ends it: {PIECES}")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Score the whole grid instead of one part after the other.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Score on N pairs, evenly spread over the file.")
    ] = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the best one as a TOML file.")
    ] = None,
    trust: TrustFlag = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Find the template under which a model orders sentence pairs best (PromptBERT, section 4.2).

    Greedily: first the relation, then the prefix, then the ending, each the best of its list. Without lists, those
    of the paper. --template, or MODEL#TEMPLATE, says whose method, options and rules hold. Choose on a dev set.
    """
    from semsearch.encoders import factory
    from semsearch.evaluation.templates import grid_search, trials
    from semsearch.models.model_ref import Reference

    if data is None:
        raise UsageError("there are no pairs to score templates on.", "Say --data FILE, for example: sts-dev.csv")
    subset = _subset(data, yes=yes)
    subset = subset if limit is None else grid_search.thinned(subset, limit)
    chosen = settings.load({"model": model, "device": device, "home": ctx.obj.home})
    reference = Reference.parse(chosen.model)
    trials.refuse_saved(reference, chosen.model)
    reference = reference.with_(template=template, dtype=dtype, layer=layer)
    lists = (_pieces(prefixes), _pieces(relations), _pieces(endings))
    base, grid = trials.chosen(reference, lists, trust=trust)
    reference = reference if reference.template else reference.with_(template=base.text["passage"])
    started = time.perf_counter()
    engine, lasting = factory.open_backend(reference, device=chosen.device, threads=chosen.threads, trust=trust)
    with _reported(ctx.obj, len(subset.pairs)) as report:
        score = grid_search.scorer(engine, base, subset)
        ranked = grid_search.search(grid, score, full=full, report=report)
    told = {
        "model": str(lasting).partition("#")[0],
        "method": base.method,
        "pairs": len(subset.pairs),
        "took_s": round(time.perf_counter() - started, 3),
    }
    _tell_ranked(ranked, told, as_json)
    if output is not None:
        _write(
            ranked[0], base, f"{told['pairs']} pairs, the best of a search with {engine.name.partition('#')[0]}", output
        )


def _subset(data: Path, *, yes: bool) -> Subset:
    """Scored pairs of a file, or of STS-B's dev split below a folder. Refuses a test split, unless `yes`."""
    from semsearch.evaluation import sts

    if data.is_dir() and not (data / "sts-dev.csv").is_file():
        return sts.task_pairs("stsb", data, "dev")["dev"]
    path = data / "sts-dev.csv" if data.is_dir() else data
    check_split(path, "a template", yes=yes)
    triples = _senteval(path) or read_pairs(str(path))
    unscored = sum(score is None for _, _, score in triples)
    if unscored or len(triples) < 2:
        told = f"{unscored} of {len(triples)} pairs have no score" if unscored else "two pairs or more are needed"
        raise UsageError(f"{path}: {told}.", "Write `text<TAB>text<TAB>score` a line.")
    return sts.Subset(tuple((a, b) for a, b, _ in triples), tuple(score for *_, score in triples if score is not None))


def check_split(path: Path, what: str, *, yes: bool) -> None:
    """Raises GuardRail where `what` would be chosen on a test set, unless `yes`, which makes it a warning."""
    if not re.search(r"(?<![a-z])test(?![a-z])", path.name.lower()):
        return
    if not yes:
        raise GuardRail(
            f"{path.name} looks like a test set: {what} that is chosen on it has no honest score.",
            "Choose on the dev set; or say -y.",
        )
    show.warn([f"{path.name} looks like a test set: do not report scores on it for this {what.split()[-1]}."])


def _senteval(path: Path) -> list[tuple[str, str, float | None]]:
    """Pairs of a file as STS-B's: score and sentences in columns 5 to 7; [] where it is another."""
    rows = [line.split("\t") for _, line in read_lines(str(path)) if line.strip()]
    try:
        return [(row[5], row[6], float(row[4])) for row in rows]
    except (IndexError, ValueError):
        return []


def _pieces(values: Sequence[str] | None) -> tuple[str, ...]:
    """Each value, or the lines of the file that it names; an empty one is a piece too, as Table 4's first relation."""
    found: list[str] = []
    for value in values or ():
        path = Path(value)
        if not value or "[X]" in value or not path.is_file():
            if value.endswith((".txt", ".tsv")):
                raise NotFound(f"{value} does not exist.", "Check the spelling, or the folder you are in.")
            found.append(value)
            continue
        lines = [line.strip() for _, line in read_lines(value)]
        found += lines[:-1] if not lines[-1] else lines
    if values and not found:
        raise UsageError(f"{', '.join(values)} holds no piece of a template.", "Write one a line.")
    return tuple(dict.fromkeys(found))


@contextmanager
def _reported(options: Options, pairs: int) -> Iterator[Callable[[int, int, str], None]]:
    from semsearch.cli.output.progress import reported
    from semsearch.types import Progress

    with reported(options, "searching templates") as step:
        yield lambda done, total, text: step(Progress(done, total, "templates", text, 2 * pairs * done))


def _tell_ranked(ranked: Sequence[Candidate], told: dict[str, Any], as_json: bool) -> None:
    best = ranked[0]
    if as_json:
        shown = [
            {"rank": rank, "spearman": None if math.isnan(one.spearman) else round(one.spearman, 4),
             "stage": one.stage, "template": one.text}
            for rank, one in enumerate(ranked, 1)
        ]  # fmt: skip
        show.emit({"schema": 1, **told, "best": best.text, "candidates": shown})
        return
    rows = [[str(rank), "-" if math.isnan(one.spearman) else f"{one.spearman:.2f}", one.stage, short(one.text)]
            for rank, one in enumerate(ranked, 1)]  # fmt: skip
    show.table(rows, ("rank", "spearman", "stage", "template"))
    show.out()
    show.out(f"--template {shlex.quote(show.safe(best.text))}")


def _write(best: Candidate, base: Template, where: str, output: Path) -> None:
    """The best template as a file of its own, with where it comes from."""
    from semsearch.prompts import library

    found = replace(
        base,
        text={"query": best.text, "passage": best.text},
        description=f"Spearman {best.spearman:.2f} on {where}",
        source="",
        note="",
    )
    output.write_text(library.to_toml(found), encoding="utf-8")
    show.note(f"wrote {output}")


def tokenizer_of(model: str, trust: bool) -> tuple[Tokenizer, str]:
    """The tokenizer of a model, whose weights are not loaded, and its kind: bert, roberta or causal."""
    from semsearch.evaluation.templates import check  # keeps --help fast

    return check.tokenizer_of(model, trust)


def short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
