"""Base classes of commands: global options after the command, and the library's warnings on stderr."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from semsearch.cli.options import Options
from semsearch.cli.output import console

GLOBAL = ("home", "offline", "quiet", "verbose")  # global options that may also follow the command


class Command(TyperCommand):
    """A command that takes the global options too, so that `semsearch index -v` is not an error."""

    def get_params(self, ctx: Any) -> Any:
        own = super().get_params(ctx)
        for param in ctx.find_root().command.params:
            if param.name in GLOBAL:
                hidden = copy.copy(param)
                hidden.hidden = True
                own = [*own, hidden]
        return own

    def invoke(self, ctx: Any) -> Any:
        for name in GLOBAL:
            value = ctx.params.pop(name, None)
            if value:
                setattr(ctx.obj, name, Path(value) if name == "home" else value)
        if ctx.obj.quiet:
            os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
        if ctx.obj.offline:
            os.environ["SEMSEARCH_OFFLINE"] = os.environ["HF_HUB_OFFLINE"] = "1"
        with _warnings(ctx.obj):
            return super().invoke(ctx)


@contextmanager
def _warnings(options: Options) -> Iterator[None]:
    """Print what the library logs as every other warning is printed; nothing under -q."""
    import logging  # --help does without

    handler, log = logging.Handler(logging.WARNING), logging.getLogger("semsearch")
    handler.emit = lambda record: console.warn([] if options.quiet else [record.getMessage()])  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
