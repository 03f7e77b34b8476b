"""`eval retrieval`: how well documents are found, on a collection in BEIR's layout."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semsearch.cli.common import DeviceOption, DtypeOption, JsonFlag, LayerOption, TemplateOption, TrustFlag
from semsearch.cli.evaluate.tasks import FormatOption, ModelsOption, ReportOption, Watch, encoders, named, ready, tell
from semsearch.cli.output.counting import Count, counted
from semsearch.errors import NotFound, UsageError
from semsearch.settings import data_folder
from semsearch.types import Mode

if TYPE_CHECKING:
    from semsearch.chunking.splitter import Splitter
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.report import Run
    from semsearch.evaluation.retrieval import Collection
    from semsearch.types import Document

MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
HEADLINES = ("nDCG@10", "recall@100")  # what a table has of each of several collections
DEPTH = 100

Scores = dict[str, dict[str, Any]]  # by the name of the collection


def retrieval(
    ctx: typer.Context,
    collections: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="DIR|NAME",
            help="A folder with corpus.jsonl, queries.jsonl and qrels/, or the "
            "name of one below SEMSEARCH_DATA; repeatable.",
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="Which of qrels/*.tsv.")] = "test",
    models: ModelsOption = None,
    mode: Annotated[Mode | None, typer.Option("--mode", help="[default: all three, side by side]")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="One vector a document, cut where the encoder ends, as BEIR has it.")
    ] = False,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    form: FormatOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """nDCG@10, recall@100, MRR@10 and MAP@100 on a collection in BEIR's layout.

    Its documents go into an index in a temporary folder, under the settings that `semsearch index` would use.
    """
    from semsearch.chunking.splitter import Splitter
    from semsearch.evaluation.retrieval import Collection

    if not collections:
        raise UsageError("which collection?", "Say --data FOLDER, or --data NAME of one below SEMSEARCH_DATA.")
    read = [Collection.read(_folder(each), split) for each in dict.fromkeys(collections)]
    _tell_apart(read)
    ready(report, len(named(models)) * (1 if mode else len(MODES)))
    splitter = Splitter("none") if whole else Splitter()
    modes = (mode,) if mode else MODES
    runs: list[Run] = []
    for name, encoder in encoders(ctx.obj, models, device, template=template, dtype=dtype, layer=layer, trust=trust):
        watch, found = Watch(), {each: {} for each in modes}  # type: tuple[Watch, dict[Mode, Scores]]
        for collection in read:
            with counted(ctx.obj, f"{name}, {collection.name}: indexing", "documents") as count:
                for each, scores in _measured(collection, encoder, splitter, modes, count).items():
                    found[each][collection.name] = scores
        took = watch.read()
        runs += [_run(name, encoder, each, scores, read, splitter, took) for each, scores in found.items()]
    tell(runs, as_json=as_json, form=form, report=report)


def _tell_apart(read: Sequence[Collection]) -> None:
    """UsageError where two collections have one name, which their columns would share."""
    names = [collection.name for collection in read]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two collections are called {name}.", "Rename a folder, or measure one at a time.")


def _folder(given: str) -> Path:
    """The folder that is meant: a path, or a name below SEMSEARCH_DATA. Raises NotFound."""
    if Path(given).is_dir():
        return Path(given)
    try:
        below = data_folder(None) / given
    except UsageError:
        raise NotFound(f"{given} is no folder.", "Check the path, or set SEMSEARCH_DATA.") from None
    if not below.is_dir():
        known = ", ".join(sorted(file.parent.parent.name for file in below.parent.glob("*/beir/corpus.jsonl")))
        raise NotFound(f"neither {given} nor {below} is a folder.", f"Collections that are there: {known or 'none'}.")
    return below


def _measured(
    collection: Collection, encoder: Encoder, splitter: Splitter, modes: Sequence[Mode], count: Count
) -> Mapping[Mode, dict[str, Any]]:
    """The measures of each mode, on an index of its own."""
    from semsearch.evaluation.retrieval import evaluate, ranked
    from semsearch.index import Index

    documents = list(collection.documents())

    def counting() -> Iterator[Document]:
        for number, document in enumerate(documents, 1):
            yield document
            count(number, len(documents))

    with (
        tempfile.TemporaryDirectory() as home,
        Index.create("collection", encoder=encoder, home=Path(home), splitter=splitter) as index,
    ):
        passages = index.add(counting()).passages
        size = {"documents": len(documents), "passages": passages}
        return {
            mode: evaluate(ranked(index.search, mode, DEPTH), collection.queries, collection.qrels, DEPTH) | size
            for mode in modes
        }


def _run(
    name: str,
    encoder: Encoder,
    mode: Mode,
    found: Scores,
    read: Sequence[Collection],
    splitter: Splitter,
    took_s: float,
) -> Run:
    from semsearch.evaluation import report

    measures = ("nDCG@10", f"recall@{DEPTH}", "MRR@10", f"MAP@{DEPTH}")
    if len(found) == 1:
        table = {measure: scores[measure] for scores in found.values() for measure in measures}
    else:
        table = {f"{each} {measure}": scores[measure] for each, scores in found.items() for measure in HEADLINES}
        table |= {f"mean {measure}": fmean(scores[measure] for scores in found.values()) for measure in HEADLINES}
    window = "whole documents" if splitter.kind == "none" else f"windows of {splitter.size} tokens"
    split = read[0].split
    return report.run(
        "retrieval",
        encoder,
        protocol=f"{', '.join(found)}, {split} queries, {window}, 0 … 1",
        scores=found,
        table=table,
        row={"mode": mode},
        settings={"mode": mode, "split": split, "k": DEPTH, "window": window, "overlap": splitter.overlap},
        files=[file for collection in read for file in collection.files],
        asked=name,
        took_s=took_s,
    )
