"""`eval judged`: an index measured with the hits that were marked on the page Search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

import semsearch
from semsearch import evaluation
from semsearch.cli.evaluate.tasks import MODES, ModeOption, ReportOption, check_report, index_run, save
from semsearch.cli.input_files import read_lines
from semsearch.cli.lookup import existing_index, open_index, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, NameArgument, NameOption, Options, value
from semsearch.cli.output import console
from semsearch.cli.output.progress import counter
from semsearch.errors import NotFound
from semsearch.evaluation.judgements import QRELS, QUERIES
from semsearch.evaluation.report import Measurement, Run
from semsearch.types import Mode
from semsearch.utils.quantities import count

K = 10
MEASURES = ("nDCG@10", "recall@10", "MRR@10", "judged@10")
MEASURE = MEASURES[0]  # by which modes are compared


def judged(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    mode: ModeOption = None,
    imported: Annotated[
        Path | None, value("DIR", "Add the judgements of DIR/queries.jsonl and DIR/qrels.txt first.", "--import")
    ] = None,
    exported: Annotated[
        Path | None, value("DIR", "Write these two files into DIR, and measure nothing.", "--export")
    ] = None,
    device: DeviceOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure an index with the hits that you marked on the page Search.

    nDCG@10, recall@10, MRR@10, the share of the first ten hits that are judged, and latency of each mode; then the
    differences between the modes, with the p-value of a paired randomisation test after Holm's correction.
    """
    folder = existing_index(ctx.obj, name, named)
    kept = evaluation.Judgements(folder)
    if imported:
        files = [str(imported / file) for file in (QUERIES, QRELS)]
        texts = ["\n".join(line for _, line in read_lines(file)) for file in files]
        added = kept.add(*evaluation.read_judgements(texts[0], texts[1], (files[0], files[1])))
        console.note(f"{count(added, 'judgement')} added to {folder.name}")
    if exported:
        for file in kept.export(exported):
            console.note(f"wrote {file}")
        return
    questions = kept.test_set()
    if not questions.queries:
        raise NotFound(
            f"no hit of {folder.name} is marked as helpful.", "Mark hits on the page Search, or import judgements."
        )
    if questions.left_out:
        console.warn([f"{count(len(questions.left_out), 'question')} without a helpful hit left out"])
    use_device(device)
    modes = (mode,) if mode else MODES
    check_report(report, len(modes))
    with open_index(ctx.obj, name, named) as index:
        runs = list(_runs(index, modes, questions, ctx.obj))
    save(runs, report)
    _show(index.name, runs, as_json=as_json)


def _runs(
    index: semsearch.Index, modes: Sequence[Mode], questions: evaluation.JudgedQuestions, options: Options
) -> Iterator[Run]:
    """The run of each mode."""
    for mode in modes:
        began = perf_counter()
        with counter(options, f"{index.name}, {mode}", "queries") as step:
            answer = evaluation.evaluate_search(index.search, questions.queries, questions.qrels, mode, K, step)
        usual, slow = answer.pop("ms"), answer.pop("ms, 95 %")
        table = {**{key: answer[key] for key in MEASURES}, "ms": round(usual, 3), "ms_95": round(slow, 3)}
        measured = Measurement(
            protocol=f"index {index.name}, {answer['queries']} questions with judged hits, 0 … 1",
            scores=answer | table,
            table=table,
            row={"mode": mode},
            settings={"index": index.name, "mode": mode, "k": K},
        )
        yield index_run("judged", index, measured, perf_counter() - began)


def _show(name: str, runs: Sequence[Run], *, as_json: bool) -> None:
    by_mode = {run["row"]["mode"]: run["scores"] for run in runs}
    scores = {mode: [each[MEASURE] for each in one["per_query"].values()] for mode, one in by_mode.items()}
    differences = evaluation.compare_searches(scores)
    if as_json:
        listed = [{"measure": MEASURE, **asdict(one)} for one in differences]
        console.emit({"schema": 1, "index": name, "k": K, "modes": by_mode, "differences": listed})
        return
    rows = [[run["row"]["mode"], *(_written(key, value) for key, value in run["table"].items())] for run in runs]
    console.table(rows, ("mode", *runs[0]["table"]))
    if differences:
        console.out()
    for one in differences:
        words = {"unclear": "may be chance", "too few": "too few questions differ"}
        verdict = words.get(one.verdict, f"{one.first} is {one.verdict}")
        mean = f"{MEASURE} {one.difference.mean:+.4f}, p {one.p:.3f}"
        console.out(f"{one.first} against {one.second}: {mean}: {verdict}")


def _written(key: str, value: float) -> str:
    return f"{value:.1f}" if key.startswith("ms") else f"{value:.4f}"
