"""`audit` and `eval`: an index measured against exact search and against relevance judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

import semsearch
from semsearch.cli.evaluate.tasks import (
    MODES,
    ModeOption,
    ReportOption,
    Stopwatch,
    check_outputs,
    complete_first,
    refuse_task,
    save,
    stored_encoder,
)
from semsearch.cli.input_files import read_qrels, read_queries
from semsearch.cli.lookup import choose_index, open_index, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, NameArgument, NameOption, Options
from semsearch.cli.output import console
from semsearch.errors import GateFailed, UsageError
from semsearch.evaluation import report as reports
from semsearch.evaluation.report import Run
from semsearch.evaluation.retrieval import evaluate, ranked
from semsearch.types import JsonObject, Mode


def audit(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    sample: Annotated[int, typer.Option(metavar="N", min=1, help="Number of stored vectors to search for.")] = 200,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Number of neighbours to compare.")] = 10,
    fail_under: Annotated[
        float | None, typer.Option(metavar="R", min=0.0, max=1.0, help="Exit 5 if recall is below R.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure recall and speed of the vector index against exact search.

    The queries are stored vectors of the index.
    """
    with open_index(ctx.obj, choose_index(ctx.obj, name, named)) as index:
        found = index.audit(sample=sample, k=k)
    recall = found["recall"]
    failed = None
    if fail_under is not None and recall < fail_under:
        failed = GateFailed(
            f"recall {recall:.3f} is below {fail_under:g}.",
            f"Use another backend: semsearch index -n {index.name} --backend-type flat",
        )
    if as_json:
        console.emit_result({"schema": 1, "index": index.name, **found}, failed)
    else:
        console.pairs({"index": index.name, **found})
    if failed:
        console.exit_with(failed)


def eval_(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|TASK]",
            help="Name of the index, optional where only one exists; or a measurement, see below.",
            autocompletion=complete_first,
            show_default=False,
        ),
    ] = None,
    named: NameOption = None,
    queries: Annotated[
        str | None, typer.Option(metavar="F", help="File of queries: one per line, id<TAB>text, or JSON lines (BEIR).")
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(metavar="F", help="File of relevance judgements: `query 0 document grade` (TREC), or BEIR."),
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Number of hits per query.")] = 100,
    mode: ModeOption = None,
    device: DeviceOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure an index on your own queries and relevance judgements.

    nDCG@10, recall, MRR@10 and MAP, for each search mode.
    """
    refuse_task(name)
    if not queries or not qrels:
        raise UsageError("eval needs --queries and --qrels.", "See: semsearch eval --help")
    use_device(device)
    texts, judgements = dict(read_queries(queries)), read_qrels(qrels)
    modes = (mode,) if mode else MODES
    check_outputs(report, len(modes))
    chosen = choose_index(ctx.obj, name, named)
    with open_index(ctx.obj, chosen) as index:
        found, took = _measured(index, texts, judgements, k, modes)
    save([_run(ctx.obj, chosen, one, found[one], k, (queries, qrels), took[one]) for one in modes if report], report)
    if as_json:
        console.emit({"schema": 1, "index": index.name, "k": k, "modes": found})
        return
    measures = [key for key in next(iter(found.values())) if key not in ("queries", "per_query")]
    console.table(
        [[one, *(f"{values[m]:.4f}" for m in measures)] for one, values in found.items()], ("mode", *measures)
    )


def _measured(
    index: semsearch.Index,
    texts: Mapping[str, str],
    judgements: Mapping[str, Mapping[str, int]],
    k: int,
    modes: Sequence[Mode],
) -> tuple[dict[Mode, JsonObject], dict[Mode, float]]:
    """The measures of each mode, and the seconds that it took."""
    watch, found, took = Stopwatch(), {}, {}
    for mode in modes:
        found[mode] = evaluate(ranked(index.search, mode, k), texts, judgements, k)
        took[mode] = watch.read()
    return found, took


def _run(
    options: Options, name: str, mode: Mode, found: JsonObject, k: int, files: Sequence[str], took_s: float
) -> Run:
    """The report of one mode."""
    with open_index(options, name) as index:
        encoder, recipe = stored_encoder(index), index.info()["recipe"]
    measures = [key for key in found if key not in ("queries", "per_query")]
    return reports.run(
        "index",
        encoder,
        protocol=f"index {name}, {found['queries']} queries, 0 … 1",
        scores=found,
        table={measure: found[measure] for measure in measures},
        row={"mode": mode},
        settings={"index": name, "recipe": recipe, "mode": mode, "k": k},
        files=[Path(file) for file in files if file != "-"],
        asked=encoder.reference,
        took_s=took_s,
    )
