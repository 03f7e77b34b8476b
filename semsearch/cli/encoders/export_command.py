"""`export`: a model as a bundle for ONNX Runtime, after a proof that it equals PyTorch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from semsearch import evaluation, training
from semsearch import export as exporting
from semsearch.cli.lookup import open_index
from semsearch.cli.options import (
    ENCODERS,
    JsonFlag,
    LayerOption,
    Options,
    TemplateOption,
    TrustFlag,
    complete_model,
    flag,
    value,
)
from semsearch.cli.output import console
from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import papers
from semsearch.models import local_models
from semsearch.models.bundle import Bundle
from semsearch.settings import DATA
from semsearch.types import JsonObject

if TYPE_CHECKING:
    from semsearch.evaluation.papers.fitting import Fit
    from semsearch.models.rerankers.manifest import RerankerBundle


def export(
    ctx: typer.Context,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help=f"Encoder or reranker: {ENCODERS}", autocompletion=complete_model)
    ],
    out: Annotated[Path, value("DIR", "Folder to create.", "-o", "--output")],
    dtype: Annotated[
        Literal["fp32", "fp16", "int8"],
        typer.Option(help="fp32 equals the model; int8 is the smallest, and the fastest on a CPU."),
    ] = "fp32",
    template: TemplateOption = None,
    layer: LayerOption = None,
    dim: Annotated[int | None, value("K", "Truncate the vectors to their first K dimensions.", min=1)] = None,
    post: Annotated[
        Literal["whitening", "flow"] | None,
        typer.Option(help="Post-processing to append to the model, fitted on texts."),
    ] = None,
    fit: Annotated[Path | None, value("FILE", "Texts to fit it on: a text per line, JSONL, CSV, or a folder.")] = None,
    fit_index: Annotated[str | None, value("NAME", "Fit it on the passages of this index.")] = None,
    power: Annotated[float, value("P", "Strength of the whitening: 1 is full, 0.2 slight.")] = 1.0,
    max_samples: Annotated[int | None, value("N", "Fit it on a random sample of N texts.", min=1)] = None,
    to: Annotated[
        Literal["onnx", "torch"], typer.Option(help="torch keeps the weights, for a GPU or for further training.")
    ] = "onnx",
    data: Annotated[
        Path | None, value("DIR", f"Folder of STS test sets; int8 is checked on STS-B dev.  [default: {DATA}]")
    ] = None,
    kind: Annotated[
        Literal["auto", "encoder", "reranker"],
        typer.Option("--as", help="auto: a classifier with one label, or a positive one of two, is a reranker."),
    ] = "auto",
    force: Annotated[bool, flag("--force", "Replace the bundle in DIR.")] = False,
    trust_remote_code: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Export MODEL for ONNX Runtime, which needs no PyTorch.

    The export is compared with PyTorch before anything is written; if their vectors differ, the command ends with
    exit 5. An fp32 export gives the vectors of the model: an index built with one opens with the other.

    --post whitening and --post flow are fitted on unlabelled texts and become part of the export.
    """
    of_encoders = {
        "--template": template,
        "--layer": layer,
        "--dim": dim,
        "--post": post,
        "--to torch": to == "torch",
        "--trust-remote-code": trust_remote_code,
    }
    options = [name for name, value in of_encoders.items() if value not in (None, False)]
    if kind == "reranker" or (kind == "auto" and not options and exporting.is_reranker(model)):
        if options:
            raise UsageError(f"{options[0]} is an option of encoders, and {model} is exported as a reranker.")
        reporter = _reporter(ctx.obj, as_json=as_json)
        described = _description(exporting.export_reranker(model, out, dtype, force=force, report=reporter))
        console.result({"export": described}, _readable(described), as_json=as_json)
        return
    if power != 1.0 and post != "whitening":
        raise UsageError("--power is an option of whitening.", "Pass --post whitening.")
    post_processing = _fit(ctx.obj, post, fit, fit_index, max_samples, dim)
    if post_processing:
        post_processing = replace(post_processing, power=power)
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
        report=_reporter(ctx.obj, as_json=as_json),
    )
    description = _description(bundle)
    console.result({"export": description}, _readable(description), as_json=as_json)


def _fit(
    options: Options, kind: str | None, file: Path | None, index: str | None, max_samples: int | None, dim: int | None
) -> Fit | None:
    """The post-processing to fit, or None. Raises UsageError for options that exclude each other, NotFound."""
    if kind is None:
        if (file, index, max_samples) != (None, None, None):
            raise UsageError("there is nothing to fit on these texts.", "Pass --post whitening or --post flow.")
        return None
    if (file is None) == (index is None):
        raise UsageError(
            f"--post {kind} needs texts to fit on, from one source.", "Pass either --fit FILE or --fit-index NAME."
        )
    if index is not None:
        with open_index(options, index) as passages:
            examples = training.dataset_of_texts(passages.analysis.texts(), f"index {index}", max_samples=max_samples)
    else:
        examples = training.read_dataset(file or "", max_samples=max_samples)
    texts = dict.fromkeys(text for row in zip(*examples.columns.values(), strict=True) for text in row)
    return papers.fitting.Fit(kind, tuple(texts), dim, source=examples.source)


def sts_folder(data: Path | None, dtype: str) -> Path | None:
    """The folder of STS tasks: `data`, else SEMSEARCH_DATA where int8 is to be judged and STS-B is there."""
    default = os.environ.get(DATA)
    if data is not None or not default or dtype != "int8":
        return data
    try:
        evaluation.sts_pairs("stsb", Path(default), "dev")
    except NotFound:
        return None
    return Path(default)


def _readable(description: JsonObject) -> dict[str, str]:
    """The description in words; of the comparison with PyTorch, what it has passed."""
    lines = {name: str(value) for name, value in description.items() if name not in ("post", "parity", "operators")}
    lines["size"] = console.size(description["size"])
    if description.get("post"):
        lines["post"] = ", ".join(f"{step['kind']} {step['dim']}" for step in description["post"])
    if gate := description.get("parity", {}).get("gate"):
        lines["parity"] = f"passed: {gate}"
    return lines


def _reporter(options: Options, *, as_json: bool) -> Callable[[str], None]:
    """What prints the steps of an export to stderr."""
    return (lambda step: None) if options.quiet else console.note if as_json else _note


def _note(step: str) -> None:
    """Print a step to stderr; the measurements, a JSON object, as lines."""
    if not step.startswith("{"):
        console.note(step)
        return
    for name, measured in json.loads(step).items():
        rounded = f"{measured:.4f}" if isinstance(measured, float) and measured > 0.001 else str(measured)
        console.note(f"{name.replace('_', ' ')} {rounded}")


def _description(bundle: Bundle | RerankerBundle) -> JsonObject:
    """The properties of a bundle, and the measurements of its export."""
    description: JsonObject = {"folder": str(bundle.folder)}
    shown = ("name", "fingerprint", "method", "dim", "max_tokens", "precision")
    description |= {key: getattr(bundle, key) for key in shown if hasattr(bundle, key)}
    if isinstance(bundle, Bundle) and bundle.post:
        description["post"] = [{"kind": step.kind, "dim": step.dim, **step.fitted} for step in bundle.post]
    description["size"] = local_models.size(bundle.folder)
    if bundle.parity:
        description["parity"] = dict(bundle.parity)
    return description | {key: bundle.origin[key] for key in ("opset", "operators") if key in bundle.origin}
