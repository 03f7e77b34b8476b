"""`scale`: what an index beyond one machine takes."""

from __future__ import annotations

from typing import Annotated

import typer
from click import Choice

import semsearch.scale
from semsearch.cli.commands import Command
from semsearch.cli.options import JsonFlag, ModelOption, Options, value
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.scale import sizing
from semsearch.types import JsonObject

scale = typer.Typer(help="Plan an index that is larger than one machine.", add_completion=False, rich_markup_mode=None)


@scale.callback()
def group() -> None:
    """Plan an index that is larger than one machine."""


@scale.command("plan", cls=Command)
def plan_(
    ctx: typer.Context,
    documents: Annotated[str, value("N", "Number of documents: 1e9, or 1_000_000_000.")],
    dim: Annotated[int | None, value("D", "Width of the vectors.  [default: that of the encoder]", min=1)] = None,
    passages: Annotated[
        float, value("P", "Passages that a document is split into, on average.", "--passages-per-document", min=0.01)
    ] = 1.0,
    form: Annotated[
        str, typer.Option(click_type=Choice(list(sizing.FORMS)), help="How vectors are kept in memory.")
    ] = "rabitq",
    model: ModelOption = None,
    rate: Annotated[
        float | None,
        value("R", "Passages a second that one core embeds.  [default: measured here, in 3 s]", min=0.001),
    ] = None,
    embedding_cores: Annotated[int, value("N", "Cores that embed.", min=1)] = 64,
    text_bytes: Annotated[float, value("B", "Bytes of text and metadata of a passage.", min=1)] = 600.0,
    replicas: Annotated[int, value("N", "Copies of the index that answer queries.", min=1)] = 2,
    memory: Annotated[float, value("GB", "Memory of a node.", min=0.1)] = 256.0,
    cores: Annotated[int, value("N", "Cores of a node.", min=1)] = 16,
    price: Annotated[float, value("USD", "Price of a node for an hour.", min=0.0001)] = 1.0,
    nprobe: Annotated[int, value("N", "Lists of vectors that a query reads.", min=1)] = 64,
    scan: Annotated[float, value("R", "Compressed vectors that a core compares in a second.", min=1)] = 1e8,
    utilisation: Annotated[float, value("S", "Share of the paid time in which processors work.", max=1.0)] = 0.5,
    as_json: JsonFlag = False,
) -> None:
    """Estimate bytes, nodes, hours and costs of an index.

    The formulas are in docs/scale.md. The rate of embedding is measured on this machine with one core, unless --rate
    gives it. Every assumption is printed.
    """
    options: Options = ctx.obj
    wanted = _number(documents)
    source = "given"
    if rate is None or dim is None:
        measuring = semsearch.scale.throughput  # numpy and an encoder, which --help does without
        found = measuring.measure(model or "default", seconds=measuring.SECONDS if rate is None else 0.1)
        dim = dim or found.dim
        if rate is None:
            source = f"measured here with {found.encoder}, {found.tokens:.0f} tokens each"
            rate = found.rate
    chosen = sizing.Scale(
        wanted,
        dim,
        rate,
        source,
        passages_per_document=passages,
        form=form,
        text_bytes=text_bytes,
        replicas=replicas,
        memory_gb=memory,
        cores=cores,
        dollars_per_hour=price,
        nprobe=nprobe,
        scan=scan,
        utilisation=utilisation,
        embedding_cores=embedding_cores,
    )
    planned = sizing.plan(chosen)
    console.result(planned, lambda: _show(planned), as_json=as_json, quiet=options.quiet)


def _number(text: str) -> float:
    """
    >>> _number("1e9"), _number("20_000")
    (1000000000.0, 20000.0)
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 1e15:
        raise UsageError(f"--documents: {text!r} is not a number of documents.", "Write 1e9, or 1000000.")
    return number


def _show(planned: JsonObject) -> None:
    embedding, queries = planned["embedding"], planned["queries"]
    rows = {
        "passages": f"{planned['passages']:,}",
        "vectors in memory": f"{console.size(planned['memory_bytes'])} a replica, as {planned['form']}",
        "on disk": f"{console.size(planned['disk_bytes'])} a replica",
        "nodes": f"{planned['nodes']:,} ({planned['shards']:,} shards, {planned['replicas']} replicas)",
        "embedding": f"{embedding['core_hours']:,} core-hours: {embedding['hours']:,} h, ${embedding['dollars']:,}",
        "a query": f"{queries['processor_ms']:g} ms of a core; {queries['per_second_and_node']:,} a second and node",
        "a million queries": f"${queries['dollars_per_million']:,}",
        "nodes for a month": f"${queries['dollars_per_month_idle']:,}",
    }
    console.pairs(rows)
    console.out("")
    forms = [
        [form, f"{one['bytes_per_vector']:g}", console.size(one["bytes"]), f"{one['nodes']:,}"]
        for form, one in planned["forms"].items()
    ]
    console.table(forms, ("form", "bytes a vector", "bytes", "nodes"))
    console.out("\nAssumptions:")
    for line in planned["assumptions"]:
        console.out(console.safe(f"- {line}"))
