"""`eval` of an index: its hits measured against relevance judgements."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from semsearch.cli.commands import EVAL
from semsearch.cli.evaluate.tasks import MODES, ModeOption, ReportOption, check_report, index_run, save
from semsearch.cli.input_files import read_qrels, read_queries
from semsearch.cli.lookup import choose_index, open_index, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, NameOption, complete_index, flag, value
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.evaluation.report import Measurement
from semsearch.evaluation.retrieval import evaluate, ranked
from semsearch.types import JsonObject, Mode


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
        str | None, value("F", "File of queries: one per line, id<TAB>text, or JSON lines (BEIR).")
    ] = None,
    qrels: Annotated[
        str | None, value("F", "File of relevance judgements: `query 0 document grade` (TREC), or BEIR.")
    ] = None,
    k: Annotated[int, value("N", "Number of hits per query.", "-k", min=1)] = 100,
    mode: ModeOption = None,
    spaces: Annotated[bool, flag("--spaces", "Compare the encoders of an index, after `reembed --keep-old`.")] = False,
    device: DeviceOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure an index on your queries and relevance judgements.

    nDCG@10, recall, MRR@10 and MAP, for each search mode.

    With --spaces each encoder that the index has vectors of, with their difference query by query. It needs no
    judgements: without them, 200 sentences of the index have to find their passages.
    """
    if name in EVAL:
        fix = f"Write: semsearch eval {name} …; for an index of this name: semsearch eval -n {name} …"
        raise UsageError(f"{name} is a task and has to follow eval directly.", fix)
    if (not queries or not qrels) and not (spaces and not queries and not qrels):
        raise UsageError("eval needs --queries and --qrels.", "See: semsearch eval --help")
    use_device(device)
    texts = dict(read_queries(queries)) if queries else {}
    judgements = read_qrels(qrels) if qrels else {}
    files = [Path(file) for file in (queries, qrels) if file and file != "-"]
    if spaces:
        from semsearch.cli.evaluate.compared_spaces import Comparison  # numpy, which --help does without

        with open_index(ctx.obj, name, named) as index:
            Comparison(texts, judgements, files, k, mode, report, as_json).run(index)
        return
    modes = (mode,) if mode else MODES
    check_report(report, len(modes))
    chosen, runs = choose_index(ctx.obj, name, named), []
    scores: dict[Mode, JsonObject] = {}
    with open_index(ctx.obj, chosen) as index:
        for one in modes:
            began = perf_counter()
            scores[one] = evaluate(ranked(index.search, one, k), texts, judgements, k)
            measured = Measurement(
                protocol=f"index {chosen}, {scores[one]['queries']} queries, 0 … 1",
                scores=scores[one],
                table={key: scores[one][key] for key in scores[one] if key not in ("queries", "per_query")},
                row={"mode": one},
                settings={"index": chosen, "recipe": index.info()["recipe"], "mode": one, "k": k},
                files=files,
            )
            runs.append(index_run("index", index, measured, perf_counter() - began))
    save(runs, report)
    if as_json:
        console.emit({"schema": 1, "index": index.name, "k": k, "modes": scores})
        return
    rows = [[run["row"]["mode"], *(f"{value:.4f}" for value in run["table"].values())] for run in runs]
    console.table(rows, ("mode", *runs[0]["table"]))
