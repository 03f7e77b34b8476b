"""`eval own`: an index measured with sentences of its own, without judgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Annotated

import typer

import semsearch
from semsearch import evaluation
from semsearch.cli.evaluate.tasks import MODES, ModeOption, ReportOption, check_report, index_run, save
from semsearch.cli.lookup import open_index, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, NameArgument, NameOption, Options, value
from semsearch.cli.output import console
from semsearch.cli.output.progress import counter
from semsearch.errors import GateFailed
from semsearch.evaluation.report import Measurement, Run
from semsearch.types import JsonObject, Mode


def own(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    sample: Annotated[int, value("N", "Number of sentences to draw.", min=1)] = 200,
    seed: Annotated[int, value("N", "Another seed draws other sentences.", min=0)] = 0,
    k: Annotated[int, value("N", "Number of hits per sentence.", "-k", min=1)] = 10,
    mode: ModeOption = None,
    fail_under: Annotated[
        float | None, value("R", "Exit 5 if recall among the first k is below R in any mode.", min=0.0, max=1.0)
    ] = None,
    device: DeviceOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure an index with sentences of its own, without judgements.

    A sentence has to find a passage that contains it. It shows text that is badly split, badly encoded or repeated in
    near copies. It says nothing about questions worded differently from the text: those need judged queries.
    """
    use_device(device)
    modes = (mode,) if mode else MODES
    check_report(report, len(modes))
    with open_index(ctx.obj, name, named) as index:
        runs = list(_runs(index, modes, Sampled(sample, seed, k), ctx.obj))
    save(runs, report)
    scores: dict[Mode, JsonObject] = {run["row"]["mode"]: run["scores"] for run in runs}
    failed = None if fail_under is None else _missed(scores, f"recall@{k}", fail_under)
    whole = {"index": index.name, "k": k, "seed": seed, "modes": scores}
    console.result(whole, lambda: _print(scores), as_json=as_json, failed=failed)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Which sentences are searched, and for how many hits."""

    sentences: int
    seed: int
    k: int


def _runs(index: semsearch.Index, modes: Sequence[Mode], sampled: Sampled, options: Options) -> Iterator[Run]:
    """The run of each mode."""
    sentences = evaluation.own_sentences(index.name, index.analysis.texts(), sampled.sentences, sampled.seed)
    for mode in modes:
        began = perf_counter()
        with counter(options, f"{index.name}, {mode}", "queries") as count:
            searched = evaluation.search_known_items(index.search, sentences, mode, sampled.k, count)
        recalls = {f"recall@{k}": searched.recall(k) for k in dict.fromkeys((1, sampled.k))}
        usual, slow = evaluation.latency(searched.ms).values()
        table = {**recalls, "ms": round(usual, 3), "ms_95": round(slow, 3)}
        measured = Measurement(
            protocol=f"index {index.name}, {len(sentences)} sentences of its own, 0 … 1",
            scores={"queries": len(sentences), **table, "missed": searched.missed},
            table=table,
            row={"mode": mode},
            settings={"index": index.name, "mode": mode, **asdict(sampled)},
        )
        yield index_run("own", index, measured, perf_counter() - began)


def _print(scores: Mapping[Mode, JsonObject]) -> None:
    heads = [key for key in next(iter(scores.values())) if key != "missed"]
    rows = [[mode, *(_shown(key, one[key]) for key in heads)] for mode, one in scores.items()]
    console.table(rows, ("mode", *heads))


def _shown(key: str, value: float) -> str:
    return f"{value:,}" if key == "queries" else f"{value:.4f}" if key.startswith("recall") else f"{value:.1f}"


def _missed(scores: Mapping[Mode, JsonObject], measure: str, least: float) -> GateFailed | None:
    mode, lowest = min(((mode, one[measure]) for mode, one in scores.items()), key=lambda each: each[1])
    if lowest >= least:
        return None
    return GateFailed(f"{measure} is {lowest:.3f} in mode {mode}, below {least:g}.", "--json lists what was missed.")
