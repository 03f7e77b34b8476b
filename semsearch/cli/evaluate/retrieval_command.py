"""`eval retrieval`: encoders measured on retrieval collections in BEIR format."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

import semsearch
from semsearch.chunking.splitter import Splitter
from semsearch.cli.evaluate.tasks import MODES, ModeOption, ReportOptions, check_report, measure_each
from semsearch.cli.lookup import model_names
from semsearch.cli.options import EncoderOptions, ModelsOption, flag, value
from semsearch.cli.output.progress import Count, counter
from semsearch.errors import NotFound, UsageError
from semsearch.evaluation.report import Measurement
from semsearch.evaluation.retrieval import Collection, evaluate, ranked
from semsearch.settings import data_folder
from semsearch.types import Document, JsonObject, Mode

DEPTH = 100
MEASURES = ("nDCG@10", f"recall@{DEPTH}", "MRR@10", f"MAP@{DEPTH}")
HEADLINES = MEASURES[:2]  # the columns of each collection if there are several

Scores = dict[str, JsonObject]  # by the name of the collection


def retrieval(
    ctx: typer.Context,
    *,
    collections: Annotated[
        list[str] | None,
        value(
            "DIR|NAME",
            "Folder with corpus.jsonl, queries.jsonl and qrels/, or its name in SEMSEARCH_DATA; repeatable.",
            "--data",
        ),
    ] = None,
    split: Annotated[str, value("NAME", "Judgements to use: qrels/NAME.tsv.")] = "test",
    models: ModelsOption = None,
    mode: ModeOption = None,
    whole: Annotated[
        bool, flag("--whole", "One vector per document, truncated at the encoder's limit, as in BEIR.")
    ] = False,
    options: EncoderOptions,
    output: ReportOptions,
) -> None:
    """Measure encoders on a retrieval collection in BEIR format.

    nDCG@10, recall@100, MRR@10 and MAP@100 of a temporary index of its documents, with the settings of
    `semsearch index`.
    """
    if not collections:
        fix = "Pass --data FOLDER, or --data NAME for a folder in SEMSEARCH_DATA."
        raise UsageError("no collection was named.", fix)
    read = [Collection.read(_folder(each), split) for each in dict.fromkeys(collections)]
    names = [collection.name for collection in read]
    for name in names:
        if names.count(name) > 1:  # they would share their columns
            raise UsageError(f"two collections are called {name}.", "Rename a folder, or measure one at a time.")
    modes = (mode,) if mode else MODES
    check_report(output.report, len(model_names(models)) * len(modes))
    splitter = Splitter("none") if whole else Splitter()

    def measure(name: str, encoder: semsearch.Encoder) -> list[Measurement]:
        by_mode: dict[Mode, Scores] = {each: {} for each in modes}
        for collection in read:
            with counter(ctx.obj, f"{name}, {collection.name}: indexing", "documents") as count:
                for each, scores in _measured(collection, encoder, splitter, modes, count).items():
                    by_mode[each][collection.name] = scores
        return [_measurement(each, scores, read, splitter) for each, scores in by_mode.items()]

    output.show(measure_each("retrieval", ctx.obj, models, options, measure))


def _folder(name: str) -> Path:
    """The folder of a collection: a path, or a name in SEMSEARCH_DATA. Raises NotFound."""
    if Path(name).is_dir():
        return Path(name)
    try:
        below = data_folder(None) / name
    except UsageError:
        raise NotFound(f"{name} is not a folder.", "Check the path, or set SEMSEARCH_DATA.") from None
    if not below.is_dir():
        names = ", ".join(sorted(file.parent.parent.name for file in below.parent.glob("*/beir/corpus.jsonl")))
        raise NotFound(f"neither {name} nor {below} is a folder.", f"Available collections: {names or 'none'}.")
    return below


def _measured(
    collection: Collection, encoder: semsearch.Encoder, splitter: Splitter, modes: Sequence[Mode], count: Count
) -> dict[Mode, JsonObject]:
    """The measures of each mode, on a temporary index."""
    documents = list(collection.documents())

    def counted() -> Iterator[Document]:
        for number, document in enumerate(documents, 1):
            yield document
            count(number, len(documents))

    with (
        tempfile.TemporaryDirectory() as home,
        semsearch.Index.create("collection", encoder=encoder, home=Path(home), splitter=splitter) as index,
    ):
        passages = index.add(counted()).passages
        size = {"documents": len(documents), "passages": passages}
        return {
            mode: evaluate(ranked(index.search, mode, DEPTH), collection.queries, collection.qrels, DEPTH) | size
            for mode in modes
        }


def _measurement(mode: Mode, by_mode: Scores, read: Sequence[Collection], splitter: Splitter) -> Measurement:
    if len(by_mode) == 1:
        table = {name: scores[name] for scores in by_mode.values() for name in MEASURES}
    else:
        table = {f"{each} {name}": scores[name] for each, scores in by_mode.items() for name in HEADLINES}
        table |= {f"mean {name}": fmean(scores[name] for scores in by_mode.values()) for name in HEADLINES}
    window = "whole documents" if splitter.kind == "none" else f"windows of {splitter.size} tokens"
    split = read[0].split
    return Measurement(
        protocol=f"{', '.join(by_mode)}, {split} queries, {window}, 0 … 1",
        scores=by_mode,
        table=table,
        row={"mode": mode},
        settings={"mode": mode, "split": split, "k": DEPTH, "window": window, "overlap": splitter.overlap},
        files=[file for collection in read for file in collection.files],
    )
