"""`eval geometry`: the embedding space of an encoder or of an index."""

from __future__ import annotations

from typing import Annotated

import typer

from semsearch.cli.evaluate.tasks import DataOption, ReportOptions
from semsearch.cli.input_files import read_texts
from semsearch.cli.lookup import load_encoders, model_names
from semsearch.cli.options import EncoderOptions, ModelsOption, NameOption, option_groups
from semsearch.errors import UsageError
from semsearch.settings import data_folder

SAMPLE = 10_000  # rows that are compared with each other: 40 s of one core at 384 dimensions


@option_groups
def geometry(
    ctx: typer.Context,
    *,
    models: ModelsOption = None,
    data: DataOption = None,
    texts: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your own texts: one per line, or JSON lines.")
    ] = None,
    index: NameOption = None,
    sample: Annotated[int, typer.Option(metavar="N", min=3, help="Draw a sample of N texts or vectors.")] = SAMPLE,
    options: EncoderOptions,
    output: ReportOptions,
) -> None:
    """Measure the embedding space of an encoder or of an index.

    Alignment, uniformity, anisotropy, effective rank, hubness and length bias, of STS-B's test pairs, of the texts in
    a file, or, with -n, of the vectors of an index.
    """
    output.check(1 if index is not None else len(model_names(models)))
    if index is not None and (
        models or texts or data or options.template or options.dtype or options.layer is not None
    ):
        raise UsageError(
            "-n measures the vectors of an index.", "Leave out -m, --texts, --data, --template, --dtype and --layer."
        )
    from semsearch.cli.evaluate import geometry_runs  # numpy, which --help does without

    if index is not None:
        output.show([geometry_runs.of_index(ctx.obj, index, sample)])
        return
    own_texts = list(dict.fromkeys(line for line in read_texts(texts) if line.strip())) if texts else []
    runs = []
    for name, encoder in load_encoders(ctx.obj, models, options):
        if texts:
            runs.append(geometry_runs.of_texts(name, encoder, own_texts, texts, sample))
        else:
            runs.append(geometry_runs.of_pairs(name, encoder, data_folder(data)))
    output.show(runs)
