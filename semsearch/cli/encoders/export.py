"""`export`: a model as a bundle for ONNX Runtime, proven equal to Torch first."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semsearch.cli.common import JsonFlag, LayerOption, Options, TemplateOption, TrustFlag, opened
from semsearch.cli.output import text as show
from semsearch.errors import NotFound, UsageError
from semsearch.settings import DATA

if TYPE_CHECKING:
    from semsearch.evaluation.papers.fitting import Fit
    from semsearch.models.bundle import Bundle

FITS = "Say --fit FILE or --fit-index NAME."


def export(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A name, a folder or hf:owner/name; MODEL#TEMPLATE.")],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to make.")],
    dtype: Annotated[
        Literal["fp32", "fp16", "int8"],
        typer.Option("--dtype", help="fp32 is as the model; int8 is smallest and fastest on a CPU."),
    ] = "fp32",
    template: TemplateOption = None,
    layer: LayerOption = None,
    dim: Annotated[
        int | None, typer.Option("--dim", metavar="K", min=1, help="Keep the first K numbers of every vector.")
    ] = None,
    post: Annotated[
        Literal["whitening", "flow"] | None,
        typer.Option("--post", help="What to put behind the model, fitted on texts."),
    ] = None,
    fit: Annotated[
        Path | None, typer.Option("--fit", metavar="FILE", help="Fit it on these: a text a line, JSONL, CSV, a folder.")
    ] = None,
    fit_index: Annotated[
        str | None, typer.Option("--fit-index", metavar="NAME", help="Fit it on the passages of an index.")
    ] = None,
    power: Annotated[
        float, typer.Option("--power", metavar="P", help="Of the whitening: 1 evens out wholly, 0.2 a little.")
    ] = 1.0,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Fit it on N of the texts, drawn by chance.")
    ] = None,
    to: Annotated[
        Literal["onnx", "torch"], typer.Option("--to", help="torch keeps the weights, for a GPU or for training on.")
    ] = "onnx",
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"STS-B dev lies here; it judges int8.  [default: {DATA}]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the bundle that DIR holds.")] = False,
    trust_remote_code: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write MODEL as a folder that ONNX Runtime can run, without Torch.

    It is measured against Torch before anything is written; where it is off, the command ends with exit 5. The
    vectors of an fp32 export are those of the model: an index made with one opens with the other.

    --post whitening and --post flow are fitted on texts without labels, and are part of what is written.
    """
    wanted = _fit(ctx.obj, post, fit, fit_index, limit, dim)
    if power != 1.0:
        wanted = _softened(wanted, power)
    from semsearch.export import export as write

    bundle = write(
        model,
        out,
        dtype,
        template=template,
        layer=layer,
        dim=None if wanted else dim,
        post=wanted,
        to=to,
        data=judged_by(data, dtype),
        force=force,
        trust_remote_code=trust_remote_code,
        report=(lambda step: None) if ctx.obj.quiet else show.note,
    )
    told = _told(bundle)
    if as_json:
        show.emit({"schema": 1, "export": told})
    else:
        show.pairs({**told, "size": show.size(told["size"])})


def _fit(
    options: Options, kind: str | None, file: Path | None, index: str | None, limit: int | None, dim: int | None
) -> Fit | None:
    """What is to be fitted, or None. Raises UsageError where the options do not go together, NotFound."""
    if kind is None:
        if file is not None or index is not None or limit is not None:
            raise UsageError("texts were given, and nothing is to be fitted on them.", "Say --post whitening or flow.")
        return None
    if (file is None) == (index is None):
        raise UsageError(f"--post {kind} is fitted on texts, from one place.", FITS)
    from semsearch.evaluation.papers.fitting import Fit
    from semsearch.training import datasets

    if index is not None:
        with opened(options, index) as passages:
            examples = datasets.of_texts(passages.texts(), f"index {index}", limit=limit)
    else:
        examples = datasets.read(file or "", limit=limit)
    texts = dict.fromkeys(text for row in zip(*examples.columns.values(), strict=True) for text in row)
    return Fit(kind, tuple(texts), dim, source=examples.source)


def _softened(fit: Fit | None, power: float) -> Fit:
    if fit is None or fit.kind != "whitening":
        raise UsageError("--power is of whitening, and none was asked for.", "Say --post whitening.")
    return replace(fit, power=power)


def judged_by(data: Path | None, dtype: str) -> Path | None:
    """The folder of STS tasks that was named, or the usual one where it has them."""
    usual = os.environ.get(DATA)
    if data is not None or not usual or dtype != "int8":
        return data
    from semsearch.evaluation.sts import task_pairs

    try:
        task_pairs("stsb", Path(usual), "dev")
    except NotFound:
        return None
    return Path(usual)


def _told(bundle: Bundle) -> dict[str, Any]:
    """What a bundle is and what was measured of it."""
    size = sum(file.stat().st_size for file in bundle.folder.rglob("*") if file.is_file())
    shown = {key: getattr(bundle, key) for key in ("name", "fingerprint", "method", "dim", "precision")}
    behind = {"post": [{"kind": step.kind, "dim": step.dim, **step.fitted} for step in bundle.post]}
    graph = {key: bundle.origin[key] for key in ("opset", "operators") if key in bundle.origin}
    told = {"folder": str(bundle.folder), **shown, **(behind if bundle.post else {}), "size": size}
    return {**told, **({"parity": dict(bundle.parity)} if bundle.parity else {}), **graph}
