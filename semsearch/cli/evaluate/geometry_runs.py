"""Reports of `eval geometry`, on pairs, texts or the vectors of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import semsearch
from semsearch.cli.evaluate.tasks import Stopwatch, stored_encoder
from semsearch.cli.lookup import open_index
from semsearch.cli.options import Options
from semsearch.evaluation import index_geometry, pair_geometry, sts_pairs, text_geometry
from semsearch.evaluation import report as reports
from semsearch.evaluation.report import Run
from semsearch.evaluation.sts_benchmarks import task_files

NAMES = {  # of measures in a table
    "uniformity": "uniformity",
    "anisotropy": "anisotropy",
    "effective_rank": "effective rank",
    "hubness": "hubness",
    "length_bias": "length bias",
}


def of_pairs(name: str, encoder: semsearch.Encoder, data: Path) -> Run:
    """On STS-B test: uniformity over all sentences, repeated ones too, as in papers; the rest without repeats."""
    watch = Stopwatch()
    (subset,) = sts_pairs("stsb", data).values()
    shape = pair_geometry(encoder, subset.pairs, subset.gold)
    aligned, found = shape.alignment, shape.figures
    scores = {"alignment": {key: {"value": value, "pairs": count} for key, (value, count) in aligned.items()}, **found}
    return reports.run(
        "geometry",
        encoder,
        asked=name,
        protocol=f"STS-B test: alignment over its pairs, uniformity over its {2 * len(subset.pairs)} sentences, the "
        f"rest over the {shape.vectors} different ones",
        scores=scores,
        table={f"align {key}": value for key, (value, _) in aligned.items()} | _table(found),
        files=task_files("stsb", data),
        took_s=watch.read(),
    )


def of_texts(name: str, encoder: semsearch.Encoder, texts: Sequence[str], file: str, sample: int) -> Run:
    watch = Stopwatch()
    found = text_geometry(encoder, texts, sample=sample)
    return reports.run(
        "geometry",
        encoder,
        asked=name,
        protocol=f"{Path(file).name}: {found.vectors} of {found.total} different texts",
        scores=found.figures,
        table=_table(found.figures),
        settings={"sample": sample},
        files=[Path(file)] if Path(file).is_file() else [],
        took_s=watch.read(),
    )


def of_index(options: Options, name: str, sample: int) -> Run:
    """On the stored vectors; the encoder is not loaded."""
    watch = Stopwatch()
    with open_index(options, name) as index:
        found, encoder = index_geometry(index, sample), stored_encoder(index)
    return reports.run(
        "geometry",
        encoder,
        asked=encoder.reference,
        protocol=f"index {name}: {found.vectors} of {found.total} stored vectors",
        scores=found.figures,
        table=_table(found.figures),
        settings={"sample": sample, "index": name},
        took_s=watch.read(),
    )


def _table(found: Mapping[str, float]) -> dict[str, float]:
    return {name: found[key] for key, name in NAMES.items() if key in found}
