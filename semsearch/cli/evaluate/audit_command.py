"""`audit`: an index measured against exact search, and what has gone stale or astray."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from semsearch.cli.lookup import choose_index, open_index
from semsearch.cli.options import JsonFlag, NameArgument, NameOption, value
from semsearch.cli.output import console
from semsearch.errors import GateFailed
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

EXACT = "exact search: every stored vector is compared, so no neighbour can be missed"


def audit(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    sample: Annotated[int, value("N", "Number of stored vectors to search for.", min=1)] = 200,
    k: Annotated[int, value("N", "Number of neighbours to compare.", "-k", min=1)] = 10,
    fail_under: Annotated[
        float | None, value("R", "Exit 5 if recall, with a filter or without, is below R.", min=0.0, max=1.0)
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare the vector index with exact search: recall, speed.

    The queries are stored vectors of the index. Also counts orphans, duplicates, texts that are too long for the
    encoder, vectors that the encoder would not give any more, and files that have changed.
    """
    with open_index(ctx.obj, choose_index(ctx.obj, name, named)) as index:
        measured = {"index": index.name, **index.analysis.audit(sample=sample, k=k)}
    console.result(
        measured,
        dict(_lines(measured)),
        as_json=as_json,
        failed=None if fail_under is None else _missed(measured, fail_under),
    )


def _missed(measured: JsonObject, least: float) -> GateFailed | None:
    recalls = [recall for recall in (measured["recall"], measured["recall_filtered"]) if recall is not None]
    if min(recalls, default=1.0) >= least:
        return None
    fix = f"Use another backend: semsearch index -n {measured['index']} --backend-type flat"
    return GateFailed(f"recall {min(recalls):.3f} is below {least:g}.", fix)


def _lines(measured: JsonObject) -> Iterator[tuple[str, str]]:
    """What a person reads: a name and a sentence for each part of the audit."""
    k, plan = measured["k"], measured["plan"]
    yield "index", measured["index"]
    yield "vector index", EXACT if measured["exact"] else f"{plan['backend']}: {plan.get('why', '')}".rstrip(": ")
    if not measured["exact"]:
        yield f"recall@{k}", f"{_recall(measured['recall'])}, {measured['queries']:,} queries"
    for one in measured["filters"]:
        recall = "exact" if one["exact"] else _recall(one["recall"])
        yield f"filter {one['share']:.1%}", f"{recall}, {one['ms']:g} ms ({count(one['passages'], 'passage')})"
    yield "speed", f"{measured['ms']:g} ms a query, exact search {measured['ms_exact']:g} ms"
    orphans = [count(n, what.rstrip("s")) for what, n in measured["orphans"].items() if n]
    yield "orphans", ", ".join(orphans) or "none"
    copies = measured["duplicates"]
    near = "" if copies["near"] is None else f"; {copies['near']:.1%} of the sample have a near copy"
    yield "duplicates", f"{count(copies['passages'], 'passage')} with the text of another{near}"
    yield "drift", _drift(measured["drift"])
    if cut := measured["truncation"]:
        yield "truncation", f"{cut['truncated']} of {count(cut['passages'], 'passage')} longer than the encoder reads"
    if measured["files"]:
        yield "files", ", ".join(f"{n:,} {state}" for state, n in measured["files"].items())


def _recall(value: float | None) -> str:
    return "no neighbours to find" if value is None else f"{value:.4f}"


def _drift(drift: JsonObject | None) -> str:
    if drift is None:
        return "not measured: the index has no encoder"
    if "error" in drift:
        return f"not measured: {drift['error']}"
    changed = f"{drift['changed']} of {count(drift['passages'], 'passage')} would get another vector now"
    return f"{changed}; lowest cosine {drift['lowest_cosine']:.4f}"
