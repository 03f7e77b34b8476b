"""`ui`: the browser pages. This process is replaced by Streamlit, which serves them."""

from __future__ import annotations

import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from semsearch.cli.lookup import use_device
from semsearch.cli.options import DeviceOption, Options, flag, value
from semsearch.cli.output import console
from semsearch.errors import MissingExtra, SemsearchError, UsageError

HERE = "127.0.0.1"
PORT = 8501
NAMES = (HERE, "localhost", "[::1]")  # what a browser on this machine may call the server; any other Host is refused
# Streamlit's own defaults listen on every address, answer to any name, show tracebacks and send usage statistics.
FIXED = {
    "server.address": HERE,
    "server.headless": "true",
    "server.enableXsrfProtection": "true",
    "server.enableCORS": "true",  # protects against foreign origins
    "server.fileWatcherType": "none",
    "server.enableAgentApi": "false",
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "minimal",
    "theme.light.primaryColor": "#0072B2",  # blue: red is for errors
    "theme.dark.primaryColor": "#3D8BCB",
    "client.disableDataExport": "true",  # its CSV would pass formulas to a spreadsheet; the pages have their own
}


def ui(
    ctx: typer.Context,
    port: Annotated[int | None, value("N", f"Port on {HERE}.  [default: {PORT}, or the next free one]")] = None,
    browser: Annotated[bool, flag("--browser/--no-browser", "Open a browser window.")] = True,
    device: DeviceOption = None,
) -> None:
    """Open the browser pages: search, compare sentences, inspect indexes.

    The server accepts connections from this machine only. Ctrl-C stops it.
    """
    options: Options = ctx.obj
    app = _app()
    use_device(device)
    chosen = _port(port)
    os.environ["SEMSEARCH_HOME"] = str(options.folder().resolve())
    console.note(f"http://{HERE}:{chosen}   (Ctrl-C stops it)")
    arguments = command(app, chosen, browser=browser)
    sys.stdout.flush()
    os.execv(arguments[0], arguments)


def command(app: Path, port: int, *, browser: bool) -> list[str]:
    """The command line of Streamlit, with every setting that semsearch fixes."""
    settings = FIXED | {"server.port": str(port), "server.headless": "false" if browser else "true"}
    flags = [f"--{name}={value}" for name, value in settings.items()]
    flags += [f"--server.allowedHosts={name}" for name in NAMES]
    return [sys.executable, "-m", "streamlit", "run", str(app), *flags]


def _app() -> Path:
    """The main file of the pages. Raises MissingExtra where Streamlit is not installed."""
    pages = find_spec("semsearch_ui")
    if pages is None or pages.origin is None or find_spec("streamlit") is None:
        raise MissingExtra("`semsearch ui`", "cpu,ui")
    return Path(pages.origin).with_name("app.py")


def _port(port: int | None) -> int:
    """`port`, or the first free one. Raises SemsearchError where it is taken."""
    if port is not None and not 0 < port < 65536:
        raise UsageError(f"{port} is not a port number.", "Choose one from 1024 to 65535.")
    for candidate in (port,) if port else range(PORT, PORT + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HERE, candidate))
            except OSError:
                continue
            return candidate
    if port is None:
        raise SemsearchError(f"no port from {PORT} to {PORT + 99} is free.", "Choose another: semsearch ui --port 9000")
    raise SemsearchError(f"port {port} is taken or not permitted.", "Omit --port to use a free one.")
