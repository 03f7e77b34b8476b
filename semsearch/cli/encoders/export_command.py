"""`export`: a model as a bundle for ONNX Runtime, after a proof that it equals PyTorch."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from semsearch import export as exporting
from semsearch.cli.lookup import open_index
from semsearch.cli.options import JsonFlag, LayerOption, Options, TemplateOption, TrustFlag
from semsearch.cli.output import console
from semsearch.errors import NotFound, UsageError
from semsearch.settings import DATA
from semsearch.types import JsonObject

if TYPE_CHECKING:
    from semsearch.evaluation.papers.fitting import Fit
    from semsearch.models.bundle import Bundle


def export(
    ctx: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A name from `models list`, a folder or hf:owner/name, each also with #TEMPLATE."
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to create.")],
    dtype: Annotated[
        Literal["fp32", "fp16", "int8"],
        typer.Option(help="fp32 equals the model; int8 is the smallest, and the fastest on a CPU."),
    ] = "fp32",
    template: TemplateOption = None,
    layer: LayerOption = None,
    dim: Annotated[
        int | None, typer.Option(metavar="K", min=1, help="Truncate the vectors to their first K dimensions.")
    ] = None,
    post: Annotated[
        Literal["whitening", "flow"] | None,
        typer.Option(help="Post-processing to append to the model, fitted on texts."),
    ] = None,
    fit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Texts to fit it on: a text per line, JSONL, CSV, or a folder.")
    ] = None,
    fit_index: Annotated[str | None, typer.Option(metavar="NAME", help="Fit it on the passages of this index.")] = None,
    power: Annotated[float, typer.Option(metavar="P", help="Strength of the whitening: 1 is full, 0.2 slight.")] = 1.0,
    max_samples: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Fit it on a random sample of N texts.")
    ] = None,
    to: Annotated[
        Literal["onnx", "torch"], typer.Option(help="torch keeps the weights, for a GPU or for further training.")
    ] = "onnx",
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Folder of STS test sets; int8 is checked on STS-B dev.  [default: {DATA}]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the bundle in DIR.")] = False,
    trust_remote_code: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Export MODEL for ONNX Runtime, which needs no PyTorch.

    The export is compared with PyTorch before anything is written; if their vectors differ, the command ends with
    exit 5. An fp32 export gives the vectors of the model: an index built with one opens with the other.

    --post whitening and --post flow are fitted on unlabelled texts and become part of the export.
    """
    post_processing = _fit(ctx.obj, post, fit, fit_index, max_samples, dim)
    if power != 1.0:
        post_processing = _with_power(post_processing, power)
    bundle = exporting.export(
        model,
        out,
        dtype,
        template=template,
        layer=layer,
        dim=None if post_processing else dim,
        post=post_processing,
        to=to,
        data=sts_folder(data, dtype),
        force=force,
        trust_remote_code=trust_remote_code,
        report=(lambda step: None) if ctx.obj.quiet else console.note,
    )
    found = _description(bundle)
    if as_json:
        console.emit({"schema": 1, "export": found})
    else:
        console.pairs({**found, "size": console.size(found["size"])})


def _fit(
    options: Options, kind: str | None, file: Path | None, index: str | None, max_samples: int | None, dim: int | None
) -> Fit | None:
    """The post-processing to fit, or None. Raises UsageError for options that exclude each other, NotFound."""
    if kind is None:
        if file is not None or index is not None or max_samples is not None:
            raise UsageError("there is nothing to fit on these texts.", "Pass --post whitening or --post flow.")
        return None
    if (file is None) == (index is None):
        raise UsageError(
            f"--post {kind} needs texts to fit on, from one source.", "Pass either --fit FILE or --fit-index NAME."
        )
    from semsearch.evaluation.papers.fitting import Fit
    from semsearch.training import dataset_of_texts, read_dataset

    if index is not None:
        with open_index(options, index) as passages:
            examples = dataset_of_texts(passages.texts(), f"index {index}", max_samples=max_samples)
    else:
        examples = read_dataset(file or "", max_samples=max_samples)
    texts = dict.fromkeys(text for row in zip(*examples.columns.values(), strict=True) for text in row)
    return Fit(kind, tuple(texts), dim, source=examples.source)


def _with_power(fit: Fit | None, power: float) -> Fit:
    if fit is None or fit.kind != "whitening":
        raise UsageError("--power is an option of whitening.", "Pass --post whitening.")
    return replace(fit, power=power)


def sts_folder(data: Path | None, dtype: str) -> Path | None:
    """The folder of STS tasks: `data`, else SEMSEARCH_DATA where int8 is to be judged and STS-B is there."""
    default = os.environ.get(DATA)
    if data is not None or not default or dtype != "int8":
        return data
    from semsearch.evaluation import sts_pairs  # numpy, which `train --help` does without

    try:
        sts_pairs("stsb", Path(default), "dev")
    except NotFound:
        return None
    return Path(default)


def _description(bundle: Bundle) -> JsonObject:
    """What a bundle is, and what was measured of it."""
    size = sum(file.stat().st_size for file in bundle.folder.rglob("*") if file.is_file())
    found: JsonObject = {"folder": str(bundle.folder)}
    found |= {key: getattr(bundle, key) for key in ("name", "fingerprint", "method", "dim", "precision")}
    if bundle.post:
        found["post"] = [{"kind": step.kind, "dim": step.dim, **step.fitted} for step in bundle.post]
    found["size"] = size
    if bundle.parity:
        found["parity"] = dict(bundle.parity)
    return found | {key: bundle.origin[key] for key in ("opset", "operators") if key in bundle.origin}
