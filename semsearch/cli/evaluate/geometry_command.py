"""`eval geometry`: the embedding space of an encoder or of an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

import semsearch
from semsearch import evaluation
from semsearch.cli.evaluate.tasks import DataOption, ReportOptions, check_report, index_run, measure_each
from semsearch.cli.input_files import read_texts
from semsearch.cli.lookup import model_names, open_index
from semsearch.cli.options import EncoderOptions, ModelsOption, NameOption, value
from semsearch.errors import UsageError
from semsearch.evaluation.report import Measurement
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.evaluation import EmbeddingGeometry

SAMPLE = 10_000  # rows that are compared with each other: 40 s of one core at 384 dimensions
COLUMNS = {  # of the table, by the name of their measure
    "uniformity": "uniformity",
    "anisotropy": "anisotropy",
    "effective_rank": "effective rank",
    "hubness": "hubness",
    "length_bias": "length bias",
}


def geometry(
    ctx: typer.Context,
    *,
    models: ModelsOption = None,
    data: DataOption = None,
    texts: Annotated[str | None, value("FILE", "Your own texts: one per line, or JSON lines.")] = None,
    index: NameOption = None,
    sample: Annotated[int, value("N", "Draw a sample of N texts or vectors.", min=3)] = SAMPLE,
    options: EncoderOptions,
    output: ReportOptions,
) -> None:
    """Measure the embedding space of an encoder or of an index.

    Alignment, uniformity, anisotropy, effective rank, hubness and length bias, of STS-B's test pairs, of the texts in
    a file, or, with -n, of the vectors of an index.
    """
    check_report(output.report, 1 if index is not None else len(model_names(models)))
    if index is not None:
        if models or texts or data or options.template or options.dtype or options.layer is not None:
            fix = "Leave out -m, --texts, --data, --template, --dtype and --layer."
            raise UsageError("-n measures the vectors of an index.", fix)
        began = perf_counter()
        with open_index(ctx.obj, index) as opened:
            figures = evaluation.index_geometry(opened.analysis, sample)
            measured = _measurement(f"index {index}", "stored vectors", figures, {"sample": sample, "index": index})
            output.show([index_run("geometry", opened, measured, perf_counter() - began)])
        return
    own_texts = list(dict.fromkeys(line for line in read_texts(texts) if line.strip())) if texts else []

    def measure(name: str, encoder: semsearch.Encoder) -> Iterator[Measurement]:
        if texts:
            figures = evaluation.text_geometry(encoder, own_texts, sample=sample)
            file = Path(texts)
            yield _measurement(file.name, "different texts", figures, {"sample": sample}, file)
        else:
            yield _on_pairs(encoder, data_folder(data))

    output.show(measure_each("geometry", ctx.obj, models, options, measure))


def _measurement(
    where: str, what: str, figures: EmbeddingGeometry, settings: dict[str, object], file: Path | None = None
) -> Measurement:
    return Measurement(
        protocol=f"{where}: {figures.vectors} of {figures.total} {what}",
        scores=figures.figures,
        table=_table(figures),
        settings=settings,
        files=[file] if file and file.is_file() else [],
    )


def _on_pairs(encoder: semsearch.Encoder, data: Path) -> Measurement:
    """On STS-B test: uniformity over all sentences, repeated ones too, as in papers; the rest without repeats."""
    (subset,) = evaluation.sts_pairs("stsb", data).values()
    figures = evaluation.pair_geometry(encoder, subset.pairs, subset.gold)
    alignment = {key: {"value": value, "pairs": count} for key, (value, count) in figures.alignment.items()}
    return Measurement(
        protocol=f"STS-B test: alignment over its pairs, uniformity over its {2 * len(subset.pairs)} sentences, the "
        f"rest over the {figures.vectors} different ones",
        scores={"alignment": alignment, **figures.figures},
        table={f"align {key}": value for key, (value, _) in figures.alignment.items()} | _table(figures),
        files=evaluation.sts_benchmarks.task_files("stsb", data),
    )


def _table(figures: EmbeddingGeometry) -> dict[str, float]:
    return {column: figures.figures[key] for key, column in COLUMNS.items() if key in figures.figures}
