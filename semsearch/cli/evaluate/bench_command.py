"""`bench`: a race of what can run an encoder, and of the vector indexes, on this machine and these vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated

import typer

import semsearch
from semsearch import export, settings
from semsearch.cli.lookup import choose_index, open_index, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, ModelOption, NameArgument, NameOption, Options, flag, value
from semsearch.cli.output import console
from semsearch.encoders import pair_similarity
from semsearch.errors import UsageError
from semsearch.types import JsonObject

TEXTS = 100


def bench(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    model: ModelOption = None,
    sample: Annotated[
        int, value("N", "Number of passages to encode, and of stored vectors to search for.", min=1)
    ] = TEXTS,
    k: Annotated[int, value("N", "Number of neighbours to compare.", "-k", min=1)] = 10,
    recall: Annotated[float, value("R", "Least recall of a vector index that may win.", min=0.0, max=1.0)] = 0.95,
    keep: Annotated[bool, flag("--keep", "Use the winners from now on.")] = False,
    device: DeviceOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Race encoder engines and vector indexes on this machine.

    With an index: its encoder on its passages, and every vector index on its vectors. With -m: an encoder alone.

    A model for PyTorch is exported to ONNX in fp32 and int8 for the race. --keep stores the fastest engine that gives
    the same vectors in the cache folder of this machine, and the fastest vector index in the recipe of the index, until
    the index has doubled or halved.
    """
    use_device(device)
    if model and (name or named):
        raise UsageError("an index is measured with its own encoder.", "Leave out -m, or the index.")
    options: Options = ctx.obj
    measured = (
        {
            "index": None,
            "encoder": _engines(model, pair_similarity.unrelated_texts()[:sample], keep, options),
            "vectors": None,
        }
        if model
        else _index(options, choose_index(options, name, named), sample, k, recall, keep)
    )
    console.result(measured, lambda: _show(measured), as_json=as_json)


def _index(options: Options, name: str, sample: int, k: int, recall: float, keep: bool) -> JsonObject:
    note = _note(options)
    with open_index(options, name) as index:
        reference = index.info()["recipe"].get("encoder", "default")
        texts = list(islice(index.analysis.texts(), sample))
        engines = _engines(reference, texts, keep, options) if reference and texts else None
        vectors = semsearch.admin.bench(index, sample=sample, k=k, recall=recall, keep=keep, progress=note)
        return {"index": index.name, "encoder": engines, "vectors": vectors}


def _engines(model: str, texts: list[str], keep: bool, options: Options) -> JsonObject:
    chosen = settings.load()
    return export.engine_race.race(
        model, texts, device=chosen.device, threads=chosen.threads, keep=keep, report=_note(options)
    )


def _note(options: Options) -> Callable[[str], None]:
    return (lambda step: None) if options.quiet else console.note


def _show(measured: JsonObject) -> None:
    if engines := measured["encoder"]:
        console.out(f"engines of {engines['model']}, texts a second and ms a query")
        console.table([_engine(row) for row in engines["engines"]], ("engine", "texts/s", "ms", "cosine", "space", ""))
        console.out(f"fastest: {engines['fastest']}{' (kept)' if engines['kept'] else ''}")
    if vectors := measured["vectors"]:
        if engines:
            console.out()
        console.out(
            f"vector indexes of {measured['index']}, {vectors['vectors']:,} vectors, {vectors['queries']} queries"
        )
        heads = ("vector index", "build s", "bytes", f"recall@{vectors['k']}", "ms", "filter 5%", "ms", "")
        console.table([_backend(row) for row in vectors["backends"]], heads)
        console.out(f"fastest: {vectors['fastest'] or 'none reaches the recall'}{' (kept)' if vectors['kept'] else ''}")


def _engine(row: JsonObject) -> list[str]:
    if row["problem"]:
        return [row["engine"], "", "", "", "", row["problem"]]
    speed = f"{row['texts_per_second']:.1f}", f"{row['query_ms']:.2f}"
    return [row["engine"], *speed, f"{row['least_cosine']:.4f}", "the same" if row["same_space"] else "another", ""]


def _backend(row: JsonObject) -> list[str]:
    if row["problem"]:
        return [row["backend"], *[""] * 6, row["problem"]]
    numbers: Iterator[str] = (
        f"{row[key]:{form}}"
        for key, form in (
            ("build_s", ".2f"),
            ("bytes_per_vector", ".0f"),
            ("recall", ".4f"),
            ("query_ms", ".2f"),
            ("filtered_recall", ".4f"),
            ("filtered_ms", ".2f"),
        )
    )
    return [row["backend"], *numbers, ""]
