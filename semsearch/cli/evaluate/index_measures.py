"""`audit` and `eval`: an index measured against exact search and against relevance judgements."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from semsearch.cli.commands import EVAL
from semsearch.cli.evaluate.tasks import MODES, ModeOption, ReportOption, check_report, index_run, save
from semsearch.cli.input_files import read_qrels, read_queries
from semsearch.cli.lookup import choose_index, open_index, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, NameArgument, NameOption, complete_index
from semsearch.cli.output import console
from semsearch.errors import GateFailed, UsageError
from semsearch.evaluation.report import Measurement
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
    failed = None
    if fail_under is not None and found["recall"] < fail_under:
        fix = f"Use another backend: semsearch index -n {index.name} --backend-type flat"
        failed = GateFailed(f"recall {found['recall']:.3f} is below {fail_under:g}.", fix)
    found = {"index": index.name, **found}
    console.result(found, found, as_json=as_json, failed=failed)


def complete_first(ctx: typer.Context, incomplete: str) -> list[str]:
    """Tasks and indexes, for shell completion."""
    return [*(name for name in EVAL if name.startswith(incomplete)), *complete_index(ctx, incomplete)]


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
    if name in EVAL:
        fix = f"Write: semsearch eval {name} …; for an index of this name: semsearch eval -n {name} …"
        raise UsageError(f"{name} is a task and has to follow eval directly.", fix)
    if not queries or not qrels:
        raise UsageError("eval needs --queries and --qrels.", "See: semsearch eval --help")
    use_device(device)
    texts, judgements = dict(read_queries(queries)), read_qrels(qrels)
    modes = (mode,) if mode else MODES
    check_report(report, len(modes))
    chosen, runs = choose_index(ctx.obj, name, named), []
    found: dict[Mode, JsonObject] = {}
    with open_index(ctx.obj, chosen) as index:
        for one in modes:
            began = perf_counter()
            found[one] = evaluate(ranked(index.search, one, k), texts, judgements, k)
            measured = Measurement(
                protocol=f"index {chosen}, {found[one]['queries']} queries, 0 … 1",
                scores=found[one],
                table={key: found[one][key] for key in found[one] if key not in ("queries", "per_query")},
                row={"mode": one},
                settings={"index": chosen, "recipe": index.info()["recipe"], "mode": one, "k": k},
                files=[Path(file) for file in (queries, qrels) if file != "-"],
            )
            runs.append(index_run("index", index, measured, perf_counter() - began))
    save(runs, report)
    if as_json:
        console.emit({"schema": 1, "index": index.name, "k": k, "modes": found})
        return
    rows = [[run["row"]["mode"], *(f"{value:.4f}" for value in run["table"].values())] for run in runs]
    console.table(rows, ("mode", *runs[0]["table"]))
