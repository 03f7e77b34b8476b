"""`eval geometry`: the shape of an encoder's space, or of the vectors that an index holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semsearch.cli.common import (
    DeviceOption,
    DtypeOption,
    JsonFlag,
    LayerOption,
    NameOption,
    Options,
    TemplateOption,
    TrustFlag,
    existing,
)
from semsearch.cli.evaluate.tasks import (
    DataOption,
    FormatOption,
    ModelsOption,
    ReportOption,
    Watch,
    encoders,
    named,
    ready,
    tell,
)
from semsearch.cli.search.batch import read_texts
from semsearch.errors import UsageError
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.report import Run

SAMPLE = 10_000  # rows that are compared with each other: 40 s of one core at a width of 384
NAMES = {  # what a table calls a measure
    "uniformity": "uniformity",
    "anisotropy": "anisotropy",
    "effective_rank": "effective rank",
    "hubness": "hubness",
    "length_bias": "length bias",
}


def geometry(
    ctx: typer.Context,
    models: ModelsOption = None,
    data: DataOption = None,
    texts: Annotated[
        str | None, typer.Option("--texts", metavar="FILE", help="Your own texts, one a line, or JSON lines.")
    ] = None,
    index: NameOption = None,
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=3, help="Texts or vectors that are drawn where there are more.")
    ] = SAMPLE,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    form: FormatOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Alignment, uniformity, anisotropy, effective rank, hubness and length bias.

    Of STS-B's test pairs, of the texts in a file, or, with -n, of the vectors that an index holds.
    """
    ready(report, 1 if index is not None else len(named(models)))
    if index is not None and (models or texts or data or template or dtype or layer is not None):
        raise UsageError(
            "-n measures the vectors of an index.", "Leave out -m, --texts, --data, --template, --dtype and --layer."
        )
    if index is not None:
        tell([_of_index(ctx.obj, index, sample)], as_json=as_json, form=form, report=report)
        return
    own = list(dict.fromkeys(line for line in read_texts(texts) if line.strip())) if texts else []
    how: dict[str, Any] = {"template": template, "dtype": dtype, "layer": layer, "trust": trust}
    runs = []
    for name, encoder in encoders(ctx.obj, models, device, **how):
        if texts:
            runs.append(_of_texts(name, encoder, own, texts, sample))
        else:
            runs.append(_of_pairs(name, encoder, data_folder(data)))
    tell(runs, as_json=as_json, form=form, report=report)


def _of_pairs(name: str, encoder: Encoder, data: Path) -> Run:
    """On STS-B test: uniformity over all sentences, repeated ones too, as papers take it; the rest without them."""
    from semsearch.evaluation import sts
    from semsearch.evaluation.embedding_geometry import pair_geometry

    watch = Watch()
    (subset,) = sts.task_pairs("stsb", data).values()
    shape = pair_geometry(encoder, subset.pairs, subset.gold)
    aligned, found = shape.alignment, shape.figures
    scores = {"alignment": {key: {"value": value, "pairs": count} for key, (value, count) in aligned.items()}, **found}
    return _run(
        name,
        encoder,
        protocol=f"STS-B test: alignment over its pairs, uniformity over its {2 * len(subset.pairs)} sentences, the "
        f"rest over the {shape.texts} different ones",
        scores=scores,
        table={f"align {key}": value for key, (value, _) in aligned.items()} | _table(found),
        files=sts.task_files("stsb", data),
        took_s=watch.read(),
    )


def _of_texts(name: str, encoder: Encoder, texts: Sequence[str], file: str, sample: int) -> Run:
    from semsearch.evaluation.embedding_geometry import text_geometry
    from semsearch.evaluation.index_geometry import drawn

    watch = Watch()
    kept = [texts[at] for at in drawn(len(texts), sample)]
    found = text_geometry(encoder, kept).figures
    return _run(
        name,
        encoder,
        protocol=f"{Path(file).name}: {len(kept)} of {len(texts)} different texts",
        scores=found,
        table=_table(found),
        settings={"sample": sample},
        files=[Path(file)] if Path(file).is_file() else [],
        took_s=watch.read(),
    )


def _of_index(options: Options, name: str, sample: int) -> Run:
    """Of the vectors as they are stored; the encoder is not loaded."""
    from semsearch.evaluation.index_geometry import index_geometry

    watch, folder = Watch(), existing(options, name)
    found = index_geometry(folder, sample)
    called = str(found.encoder["name"])
    return _run(
        called,
        SimpleNamespace(info=found.encoder, reference=called),
        protocol=f"index {name}: {found.vectors} of {found.total} stored vectors",
        scores=found.figures,
        table=_table(found.figures),
        settings={"sample": sample, "index": name},
        took_s=watch.read(),
    )


def _run(
    name: str,
    encoder: Any,
    *,
    protocol: str,
    scores: Mapping[str, Any],
    table: Mapping[str, float],
    settings: Mapping[str, Any] | None = None,
    files: Sequence[Path] = (),
    took_s: float,
) -> Run:
    from semsearch.evaluation import report

    return report.run("geometry", encoder, protocol=protocol, scores=scores, table=table, settings=settings,
                      files=files, asked=name, took_s=took_s)  # fmt: skip


def _table(found: Mapping[str, float]) -> dict[str, float]:
    return {called: found[key] for key, called in NAMES.items() if key in found}
