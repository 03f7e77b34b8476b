"""`models`: list, inspect, download and remove encoders."""

from __future__ import annotations

from typing import Annotated

import typer

import semsearch
from semsearch import settings
from semsearch.cli.command import Command
from semsearch.cli.lookup import load_encoder
from semsearch.cli.options import EncoderOptions, JsonFlag, ModelOption, YesFlag, option_groups
from semsearch.cli.output import console
from semsearch.encoders import local_models
from semsearch.errors import NotFound
from semsearch.models import hub_cache, model_folders

NAMES = "A name from `models list`, a folder or hf:owner/name, each also with #TEMPLATE."
HUB_NAMES = "A name from `models list`, or hf:owner/name[@revision]."
SHOWN = ("size", "licence", "description")
models = typer.Typer(help="List, inspect, download and remove encoders.", add_completion=False, rich_markup_mode=None)


@models.command("list", cls=Command)
def models_list(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List the encoders of the catalogue, and which of them are on this machine."""
    found = semsearch.Encoder.catalogue()
    if as_json:
        console.emit({"schema": 1, "models": found})
        return
    rows = [[one["name"], "yes" if one["local"] else "", *(str(one.get(key, "")) for key in SHOWN)] for one in found]
    console.table(rows, ("name", "local", "size", "licence", "description"))


@models.command("info", cls=Command)
@option_groups
def models_info(
    ctx: typer.Context,
    *,
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help=NAMES)] = None,
    named: ModelOption = None,
    options: EncoderOptions,
    as_json: JsonFlag = False,
) -> None:
    """Load an encoder and show its method, prompts, dimensions, precision and actual device.

    A model that is not on this machine is not downloaded; its catalogue entry is shown.
    """
    remote = _remote_name(model or named or settings.load().model)
    if remote is not None:
        _show_remote(remote, as_json)
        return
    encoder = load_encoder(ctx.obj, model or named, options)
    known = {**encoder.info, "reference": encoder.reference}
    if as_json:
        console.emit({"schema": 1, "model": known})
    else:
        console.pairs(known)


@models.command("pull", cls=Command)
def models_pull(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help=HUB_NAMES)],
    as_json: JsonFlag = False,
) -> None:
    """Download a model from the hub, or update one that is on this machine.

    Only configuration, tokenizer and safetensors files; never code or pickled files.
    """
    folder = local_models.pull(model)
    if folder is None:
        console.note(f"{model} is part of semsearch: there is nothing to download")
        return
    if as_json:
        name, size = str(local_models.on_hub(model)[1]), local_models.size(folder)
        console.emit({"schema": 1, "model": name, "path": str(folder), "bytes": size})
    else:
        console.out(f"{folder}  {console.size(local_models.size(folder))}")


@models.command("rm", cls=Command)
def models_rm(
    ctx: typer.Context, model: Annotated[str, typer.Argument(metavar="MODEL", help=HUB_NAMES)], yes: YesFlag = False
) -> None:
    """Remove a hub model from this machine. Other programs may share it."""
    local_models.check_local(model)
    console.confirm(f"Remove {model} from {hub_cache.cache()}?", yes=yes)
    console.note(f"removed {model}, {console.size(local_models.remove(model))}")


def _show_remote(name: str, as_json: bool) -> None:
    """Print the catalogue entry of a model that is not on this machine. Raises NotFound if there is none."""
    entry = model_folders.catalogue().get(name)
    if entry is None:
        raise NotFound(f"{name} is not on this machine.", f"Download it: semsearch models pull {name}")
    known = {"name": name, "local": False, **entry}
    if as_json:
        console.emit({"schema": 1, "model": known})
    else:
        console.pairs(known)
    console.note(f"not on this machine; download it: semsearch models pull {name}")


def _remote_name(model: str) -> str | None:
    """The name of a hub model that is not on this machine; None for any other model."""
    named, reference = local_models.hub_name(model)
    return reference.model if named is not None and model_folders.local(named, reference.revision) is None else None
