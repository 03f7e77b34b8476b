"""`audit` and `eval`: how good an index is, against exact search and against judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semsearch.cli.common import (
    DeviceOption,
    JsonFlag,
    NameArgument,
    NameOption,
    Options,
    end_with,
    existing,
    opened,
    pick,
    use_device,
)
from semsearch.cli.evaluate.tasks import ReportOption, Watch, complete_first, no_task, ready, save, stored
from semsearch.cli.output import text
from semsearch.cli.search.batch import read_qrels, read_queries
from semsearch.errors import GateFailed, UsageError
from semsearch.types import Mode

if TYPE_CHECKING:
    from semsearch.evaluation.report import Run
    from semsearch.index import Index


def audit(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    sample: Annotated[int, typer.Option(metavar="N", min=1, help="Stored vectors that are searched for.")] = 200,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Neighbours that are compared.")] = 10,
    fail_under: Annotated[
        float | None, typer.Option(metavar="R", min=0.0, max=1.0, help="Exit 5 if recall is below.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Recall and speed of the vector index against exact search.

    The queries are vectors of the index itself.
    """
    with opened(ctx.obj, pick(ctx.obj, name, named)) as index:
        found = index.audit(sample=sample, k=k)
    recall = found["recall"]
    failed = None
    if fail_under is not None and recall < fail_under:
        failed = GateFailed(f"recall {recall:.3f} is below {fail_under:g}.",
                            f"Use another backend: semsearch index -n {index.name} --backend-type flat")  # fmt: skip
    if as_json:
        done = {"schema": 1, "index": index.name, **found}
        text.emit({**done, "error": text.error_object(failed)} if failed else done)
    else:
        text.pairs({"index": index.name, **found})
    if failed:
        end_with(failed)


def eval_(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|TASK]",
            help="The index; may be left out where only one exists. Or a task.",
            autocompletion=complete_first,
            show_default=False,
        ),
    ] = None,
    named: NameOption = None,
    queries: Annotated[
        str | None, typer.Option(metavar="F", help="One query a line, id<TAB>text, or JSON lines (BEIR).")
    ] = None,
    qrels: Annotated[
        str | None, typer.Option(metavar="F", help="Judgements: `query 0 document grade` (TREC), or BEIR.")
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="How deep to look.")] = 100,
    mode: Annotated[Mode | None, typer.Option("--mode", help="[default: all three, side by side]")] = None,
    device: DeviceOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure an index on your own queries and judgements.

    nDCG@10, recall, MRR@10 and MAP, for each mode. Other measurements have a word of their own, right behind eval:

    \b
    eval transfer   encoders on SentEval's classification tasks
    eval retrieval  encoders on a collection in BEIR's layout
    eval geometry   the shape of an encoder's space, or of an index's vectors
    eval grid       every layer of a model under every pooling
    eval tokens     what each token has to do with a sentence's vector
    eval table      a Markdown table of runs that were written down
    """
    no_task(name)
    if not queries or not qrels:
        raise UsageError("eval needs --queries and --qrels.", "See: semsearch eval --help")
    use_device(device)
    texts, judged = dict(read_queries(queries)), read_qrels(qrels)
    modes: Sequence[Mode] = (mode,) if mode else ("hybrid", "semantic", "keyword")
    ready(report, len(modes))
    chosen = pick(ctx.obj, name, named)
    with opened(ctx.obj, chosen) as index:
        found, took = _measured(index, texts, judged, k, modes)
    save([_run(ctx.obj, chosen, one, found[one], k, (queries, qrels), took[one]) for one in modes if report], report)
    if as_json:
        text.emit({"schema": 1, "index": index.name, "k": k, "modes": found})
        return
    measures = [key for key in next(iter(found.values())) if key not in ("queries", "per_query")]
    text.table([[one, *(f"{values[m]:.4f}" for m in measures)] for one, values in found.items()], ("mode", *measures))


def _measured(
    index: Index, texts: Mapping[str, str], judged: Mapping[str, Mapping[str, int]], k: int, modes: Sequence[Mode]
) -> tuple[dict[Mode, dict[str, Any]], dict[Mode, float]]:
    """The measures of each mode, and the seconds that it took."""
    from semsearch.evaluation.retrieval import evaluate, ranked

    watch, found, took = Watch(), {}, {}
    for mode in modes:
        found[mode] = evaluate(ranked(index.search, mode, k), texts, judged, k)
        took[mode] = watch.read()
    return found, took


def _run(
    options: Options, name: str, mode: Mode, found: Mapping[str, Any], k: int, files: Sequence[str], took_s: float
) -> Run:
    """What a report tells of one mode."""
    from semsearch.evaluation import report
    from semsearch.stores.local.store import Store

    with Store.open(existing(options, name)) as store:
        space, recipe = store.spaces()[0], store.recipe()
    measures = [key for key in found if key not in ("queries", "per_query")]
    return report.run(
        "index",
        stored(space),
        protocol=f"index {name}, {found['queries']} queries, 0 … 1",
        scores=found,
        table={measure: found[measure] for measure in measures},
        row={"mode": mode},
        settings={"index": name, "recipe": recipe, "mode": mode, "k": k},
        files=[Path(file) for file in files if file != "-"],
        asked=space.name,
        took_s=took_s,
    )
