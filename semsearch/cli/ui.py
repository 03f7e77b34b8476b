"""`ui`: the pages, in a browser. They run under Streamlit, in a process of their own that takes this one's place."""

from __future__ import annotations

import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from semsearch.cli.common import DeviceOption, Options, use_device
from semsearch.cli.output import text
from semsearch.errors import MissingExtra, SemsearchError, UsageError

HERE = "127.0.0.1"
PORT = 8501
NAMES = (HERE, "localhost", "[::1]")  # what a browser on this machine may call it; any other Host is refused
# Streamlit's own defaults listen on every address, answer to any name, show tracebacks and send usage statistics.
FIXED = {
    "server.address": HERE,
    "server.headless": "true",
    "server.enableXsrfProtection": "true",
    "server.enableCORS": "true",  # the protection against foreign origins, not their admission
    "server.fileWatcherType": "none",
    "server.enableAgentApi": "false",
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "minimal",
    "theme.light.primaryColor": "#0072B2",  # blue: red is for errors
    "theme.dark.primaryColor": "#3D8BCB",
    "client.disableDataExport": "true",  # its CSV would hand formulas to a spreadsheet; the pages have their own
}


def ui(
    ctx: typer.Context,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help=f"Of {HERE}; without it {PORT}, or the next that is free.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    device: DeviceOption = None,
) -> None:
    """Search, compare sentences and look at indexes in the browser.

    It answers to this machine alone. Ctrl-C ends it.
    """
    options: Options = ctx.obj
    app = _app()
    use_device(device)
    chosen = _port(port)
    os.environ["SEMSEARCH_HOME"] = str(options.folder().resolve())
    text.note(f"http://{HERE}:{chosen}   (Ctrl-C ends it)")
    arguments = command(app, chosen, browser=browser)
    sys.stdout.flush()
    os.execv(arguments[0], arguments)


def command(app: Path, port: int, *, browser: bool) -> list[str]:
    """What is run, with every setting that is not left to Streamlit."""
    settings = FIXED | {"server.port": str(port), "server.headless": "false" if browser else "true"}
    told = [f"--{name}={value}" for name, value in settings.items()]
    told += [f"--server.allowedHosts={name}" for name in NAMES]
    return [sys.executable, "-m", "streamlit", "run", str(app), *told]


def _app() -> Path:
    """Where the pages lie. Raises MissingExtra where Streamlit is not installed."""
    pages = find_spec("semsearch_ui")
    if pages is None or pages.origin is None or find_spec("streamlit") is None:
        raise MissingExtra("`semsearch ui`", "cpu,ui")
    return Path(pages.origin).with_name("app.py")


def _port(asked: int | None) -> int:
    """The port that was asked for, or the first free one. Raises SemsearchError where it is taken."""
    if asked is not None and not 0 < asked < 65536:
        raise UsageError(f"{asked} cannot be a port.", "Choose one from 1024 to 65535.")
    for port in (asked,) if asked else range(PORT, PORT + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HERE, port))
            except OSError:
                continue
            return port
    if asked is None:
        raise SemsearchError(f"no port from {PORT} to {PORT + 99} is free.", "Name one: semsearch ui --port 9000")
    raise SemsearchError(f"port {asked} is taken, or not allowed.", "Leave --port out, and a free one is found.")
