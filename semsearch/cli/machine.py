"""`config` and `models`: what is set, and which encoders there are."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from semsearch import settings
from semsearch.cli import show
from semsearch.cli.common import Command, DeviceOption, Group, JsonFlag, ModelOption, loaded
from semsearch.cli.comparing import DATA

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
        show.emit({"schema": 1, "settings": shown, "files": files, "warnings": warnings})
    else:
        show.table([[key, str(item["value"]), str(item["origin"])] for key, item in shown.items()],
                   ("setting", "value", "from"))  # fmt: skip
    show.warn(warnings)


@models.command("list", cls=Command)
def models_list(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """The encoders that are known by name."""
    found = _catalogue()
    if as_json:
        show.emit({"schema": 1, "models": found})
        return
    show.table([[str(one.get(key, "")) for key in ("name", "size", "licence", "description")] for one in found],
               ("name", "size", "licence", "what"))  # fmt: skip


@models.command("info", cls=Command)
def models_info(
    ctx: typer.Context,
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help="A name, or a folder.")] = None,
    named: ModelOption = None,
    device: DeviceOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Load an encoder and say what it is: method, prompts, width, precision, the device that really runs it."""
    encoder = loaded(ctx.obj, model or named, device)
    known: dict[str, Any] = dict(encoder.info)
    if as_json:
        show.emit({"schema": 1, "model": known})
    else:
        show.pairs(known)


def _catalogue() -> list[dict[str, Any]]:
    from semsearch.bundle import catalogue

    return [{"name": name, **entry} for name, entry in catalogue().items()]
