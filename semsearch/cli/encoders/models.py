"""`config` and `models`: what is set, which encoders there are, and those of the hub that are here."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from semsearch import settings
from semsearch.cli.common import (
    Command,
    DeviceOption,
    DtypeOption,
    Group,
    JsonFlag,
    LayerOption,
    ModelOption,
    TemplateOption,
    TrustFlag,
    YesFlag,
    confirm,
    loaded,
)
from semsearch.cli.output import text
from semsearch.errors import NotFound
from semsearch.settings import DATA

NAMES = "A name, a folder, hf:owner/name, or one of them with #TEMPLATE."
HUB_NAMES = "A name of `models list`, or hf:owner/name[@revision]."
SHOWN = ("size", "licence", "description")
models = typer.Typer(cls=Group, help="The encoders there are.", add_completion=False, rich_markup_mode=None)


def config(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Every setting, its value and where that came from.

    That is a flag, the environment, a file, or the default.
    """
    found = settings.resolve({"home": ctx.obj.home, "offline": ctx.obj.offline or None})
    shown = {key: {"value": value.value, "origin": value.origin} for key, value in found.items()}
    shown["home"]["value"] = str(ctx.obj.folder())
    shown["cache"]["value"] = str(settings.cache_file())
    known = {settings.PREFIX + field.name.upper() for field in fields(settings.Settings)} | {DATA}
    unknown = sorted(key for key in os.environ if key.startswith(settings.PREFIX) and key not in known)
    warnings = [f"{key} is set, but there is no such setting." for key in unknown]
    if as_json:
        files = {"user": str(settings.user_file()), "project": str(Path(settings.PROJECT_FILE).resolve())}
        text.emit({"schema": 1, "settings": shown, "files": files, "warnings": warnings})
    else:
        text.table([[key, str(item["value"]), str(item["origin"])] for key, item in shown.items()],
                   ("setting", "value", "from"))  # fmt: skip
    text.warn(warnings)


@models.command("list", cls=Command)
def models_list(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """The encoders that are known by name, and whether they are here."""
    from semsearch.encoders.encoder import Encoder

    found = Encoder.catalogue()
    if as_json:
        text.emit({"schema": 1, "models": found})
        return
    rows = [[one["name"], "yes" if one["local"] else "", *(str(one.get(key, "")) for key in SHOWN)] for one in found]
    text.table(rows, ("name", "here", "size", "licence", "what"))


@models.command("info", cls=Command)
def models_info(
    ctx: typer.Context,
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help=NAMES)] = None,
    named: ModelOption = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Load an encoder and say what it is: method, prompts, width, precision, the device that really runs it.

    Of a model that is not here, what the catalogue says; nothing is fetched.
    """
    away = _away(model or named or settings.load().model)
    if away is not None:
        _tell_away(away, as_json)
        return
    encoder = loaded(ctx.obj, model or named, device, template=template, dtype=dtype, layer=layer, trust=trust)
    known: dict[str, Any] = {**encoder.info, "reference": encoder.reference}
    if as_json:
        text.emit({"schema": 1, "model": known})
    else:
        text.pairs(known)


@models.command("pull", cls=Command)
def models_pull(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help=HUB_NAMES)],
    as_json: JsonFlag = False,
) -> None:
    """Fetch a model from the hub, or the newest of one that is here.

    Configuration, tokenizer and safetensors; never code, never pickled files.
    """
    from semsearch.encoders import local_models

    folder = local_models.pull(model)
    if folder is None:
        text.note(f"{model} is part of semsearch: there is nothing to fetch")
        return
    if as_json:
        told = {"model": str(local_models.on_hub(model)[1]), "path": str(folder), "bytes": local_models.size(folder)}
        text.emit({"schema": 1, **told})
    else:
        text.out(f"{folder}  {text.size(local_models.size(folder))}")


@models.command("rm", cls=Command)
def models_rm(
    ctx: typer.Context, model: Annotated[str, typer.Argument(metavar="MODEL", help=HUB_NAMES)], yes: YesFlag = False
) -> None:
    """Take a model of the hub off this machine. Other programs share it."""
    from semsearch.encoders import local_models
    from semsearch.models import hub

    local_models.check_local(model)
    confirm(f"Remove {model} from {hub.cache()}?", yes=yes)
    text.note(f"removed {model}, {text.size(local_models.remove(model))}")


def _tell_away(name: str, as_json: bool) -> None:
    """What the catalogue says of a model that is not here. Raises NotFound where it says nothing."""
    entry = _catalogue().get(name)
    if entry is None:
        raise NotFound(f"{name} is not on this machine.", f"Fetch it: semsearch models pull {name}")
    known = {"name": name, "local": False, **entry}
    if as_json:
        text.emit({"schema": 1, "model": known})
    else:
        text.pairs(known)
    text.note(f"it is not here; fetch it: semsearch models pull {name}")


def _away(model: str) -> str | None:
    """The name of a model of the hub that is not here; None for all others."""
    from semsearch.encoders import local_models
    from semsearch.models import hub

    named, reference = local_models.hub_name(model)
    return reference.model if named is not None and hub.local(named, reference.revision) is None else None


def _catalogue() -> dict[str, dict[str, Any]]:
    from semsearch.models.bundle import catalogue

    return catalogue()
