"""`export`: a model as a bundle for ONNX Runtime, proven equal to Torch first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semsearch.cli import show
from semsearch.cli.common import JsonFlag, LayerOption, TemplateOption, TrustFlag
from semsearch.cli.comparing import DATA
from semsearch.errors import NotFound

if TYPE_CHECKING:
    from semsearch.bundle import Bundle


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
    """
    from semsearch.export import export as write

    bundle = write(
        model,
        out,
        dtype,
        template=template,
        layer=layer,
        data=_judged_by(data, dtype),
        force=force,
        trust_remote_code=trust_remote_code,
        report=(lambda step: None) if ctx.obj.quiet else show.note,
    )
    told = _told(bundle)
    if as_json:
        show.emit({"schema": 1, "export": told})
    else:
        show.pairs({**told, "size": show.size(told["size"])})


def _judged_by(data: Path | None, dtype: str) -> Path | None:
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
    size = sum(file.stat().st_size for file in bundle.folder.iterdir())
    shown = {key: getattr(bundle, key) for key in ("name", "fingerprint", "method", "dim", "precision")}
    graph = {key: bundle.origin[key] for key in ("opset", "operators")}
    return {"folder": str(bundle.folder), **shown, "size": size, "parity": dict(bundle.parity), **graph}
