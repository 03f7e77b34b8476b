"""`cluster`: what the documents of an index are about, and how that changes over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast, get_args

import typer
from click import Choice

from semsearch.cli.lookup import open_index
from semsearch.cli.options import JsonFlag, NameArgument, NameOption, flag, value
from semsearch.cli.output import console
from semsearch.cli.output.progress import counted_progress
from semsearch.types import Period, Timeline, Topics
from semsearch.utils.quantities import count

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 60  # bars of a line
SHOWN = 60  # characters of an example


def cluster(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    k: Annotated[int | None, value("N", "Number of clusters.  [default: chosen]", "-k", min=1)] = None,
    threshold: Annotated[
        float | None,
        value("C", "Instead of -k: least cosine of a document with a central one.", min=-1.0, max=1.0),
    ] = None,
    min_size: Annotated[int | None, value("N", "With --threshold: documents of the smallest cluster.", min=1)] = None,
    where: Annotated[str | None, value("E", "Only the documents that this filter selects.")] = None,
    documents: Annotated[bool, flag("--documents", "List the documents of each cluster.")] = False,
    over_time: Annotated[bool, flag("--over-time", "Count the documents of each cluster by their dates.")] = False,
    by: Annotated[
        str, typer.Option(click_type=Choice(get_args(Period)), help="With --over-time: length of a period.")
    ] = "auto",
    date_field: Annotated[
        str | None, value("KEY", "With --over-time: metadata key of the date.  [default: date, else that of the file]")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Group the documents of an index by what they are about.

    Each cluster is named by words that its documents have and others have not. `coherence` is the mean cosine of two of
    its documents; the line on stderr says what it is for any two. The example is the most central document.

    Without -k the number of clusters is chosen (2 to 100). With --threshold some documents are in no cluster.
    """
    with open_index(ctx.obj, name, named) as index:
        with counted_progress(ctx.obj, index.name, "documents") as report:
            clustered = index.analysis.topics(
                k,
                threshold=threshold,
                min_size=min_size,
                where=where,
                progress=report,
            )
        times = index.analysis.timeline(clustered, by=cast(Period, by), field=date_field) if over_time else None
        name = index.name
    topics = [{**asdict(topic), "size": len(topic.documents)} for topic in clustered]
    result = {"index": name, "clusters": topics, "others": clustered.others, "coherence": clustered.coherence}

    def show() -> None:
        if times:
            _show_times(clustered, times)
        elif clustered:
            heads = ("documents", "coherence", "name", "example")
            console.table(_rows(clustered), heads)
        for topic in clustered if documents else ():
            console.out(f"\n{console.safe(topic.name)}")
            for each in topic.documents:
                console.out(f"  {console.safe(each)}")
        if not ctx.obj.quiet:
            console.note(_summary(name, clustered, times))

    console.result({**result, "over_time": asdict(times)} if times else result, show, as_json=as_json)


def _rows(clustered: Topics) -> list[list[str]]:
    return [
        [f"{len(topic.documents):,}", f"{topic.coherence:.2f}", topic.name, topic.example[:SHOWN]]
        for topic in clustered
    ]


def _show_times(clustered: Topics, times: Timeline) -> None:
    rows = []
    for topic, counts in zip(clustered, times.counts, strict=True):
        most = max(counts)
        peak = f"{times.periods[counts.index(most)]}: {most:,}" if most else ""
        rows.append([topic.name, f"{sum(counts):,}", bars(counts), peak])
    console.table(rows, ("name", "documents", f"{times.periods[0]} to {times.periods[-1]}", "most in"))


def bars(counts: Sequence[int]) -> str:
    """A bar for each period, or for each group of neighbouring ones, relative to the highest.

    >>> bars([0, 1, 4, 8])
    ' ▁▄█'
    """
    every = -(-len(counts) // WIDTH) or 1
    sums = [sum(counts[start : start + every]) for start in range(0, len(counts), every)]
    highest = max(max(sums, default=0), 1)
    return "".join(BARS[-(-one * (len(BARS) - 1) // highest)] for one in sums)


def _summary(name: str, clustered: Topics, times: Timeline | None) -> str:
    if not clustered:
        return f"{name}: no clusters; {count(len(clustered.others), 'document')}"
    parts = [f"{name}: {count(len(clustered), 'cluster')}", f"coherence of any two documents {clustered.coherence:.2f}"]
    if clustered.others:
        parts.append(f"{count(len(clustered.others), 'document')} in none")
    if times and times.undated:
        parts.append(f"{count(times.undated, 'document')} without a date")
    return "; ".join(parts)
