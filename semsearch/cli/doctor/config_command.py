"""`config`: every setting, its value and its origin."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import typer

from semsearch import settings
from semsearch.cli.options import JsonFlag
from semsearch.cli.output import console
from semsearch.settings import DATA


def config(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Show every setting, its value and its origin.

    The origin is a flag, an environment variable, a file, or the default.
    """
    resolved = settings.resolve({"home": ctx.obj.home, "offline": ctx.obj.offline or None})
    shown = {key: setting._asdict() for key, setting in resolved.items()}
    shown["home"]["value"] = str(ctx.obj.folder())
    shown["cache"]["value"] = str(settings.cache_file())
    variables = {settings.PREFIX + field.name.upper() for field in fields(settings.Settings)} | {DATA}
    unknown = sorted(key for key in os.environ if key.startswith(settings.PREFIX) and key not in variables)
    warnings = [f"{key} is set, but no setting has this name." for key in unknown]
    files = {"user": str(settings.user_file()), "project": str(Path(settings.PROJECT_FILE).resolve())}
    rows = [[key, str(item["value"]), str(item["origin"])] for key, item in shown.items()]
    report = {"settings": shown, "files": files, "warnings": warnings}
    console.result(report, lambda: console.table(rows, ("setting", "value", "origin")), as_json=as_json)
    console.warn(warnings)
