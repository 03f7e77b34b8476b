"""Streamlit behind the gate, on this machine's own address, until a signal ends it."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import streamlit as st
import uvicorn
from streamlit.web.bootstrap import load_config_options

from semsearch import MissingExtra, SemsearchError
from semsearch.utils.web import until_signal

from . import theme
from .gate import Gate
from .identity import HERE, Identity

TOKEN = "SEMSEARCH_UI_TOKEN"  # in the environment, as other users can read the arguments of a process
SCRIPT = Path(__file__).resolve().parents[1] / "app.py"
MESSAGE_MB = 64  # the largest message from a browser
# Streamlit's own defaults listen on every address, show tracebacks and send usage statistics. Files in the current
# folder (.streamlit/config.toml) could change the rest.
OPTIONS: dict[str, object] = {
    "global.developmentMode": False,
    "server.address": HERE,
    "server.headless": True,
    "server.baseUrlPath": "",
    "server.allowedHosts": [HERE, "localhost", "::1"],
    "server.corsAllowedOrigins": [],
    "server.enableCORS": True,  # protects against foreign origins
    "server.enableXsrfProtection": True,
    "server.enableStaticServing": False,
    "server.scriptHealthCheckEnabled": False,
    "server.fileWatcherType": "none",
    "server.enableAgentApi": False,
    "runner.postScriptGC": False,  # stops the whole server for 0.1 s after every run; Python collects by itself
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "minimal",
    "client.disableDataExport": True,  # its CSV would pass formulas to a spreadsheet; the pages have their own
}

_LEADS = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={url}">
<a href="{url}">Open semsearch</a>
"""


def main(arguments: Sequence[str]) -> int:
    """Serve the pages. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="semsearch ui")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--max-upload", type=int, required=True, metavar="MB")
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args(arguments)
    try:
        gate = guarded(options.port, options.max_upload, os.environ.pop(TOKEN, ""))
        listening = _listen(options.port)
    except SemsearchError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    with listening, tempfile.TemporaryDirectory(prefix="semsearch-ui-") as folder:
        if options.browser:
            _open_browser(gate.identity, Path(folder))
        return serve(gate, listening)


def guarded(port: int, max_upload: int, token: str) -> Gate:
    """Streamlit behind the gate. Raises SemsearchError where it cannot be protected: it is not served then."""
    if not token:
        raise SemsearchError("the pages were started without a token.", "Start them with `semsearch ui`.")
    sizes = {"server.maxUploadSize": max_upload, "server.maxMessageSize": MESSAGE_MB}
    options = OPTIONS | theme.options() | sizes | {"server.port": port}
    try:
        load_config_options(options)
        ignored = [name for name, value in options.items() if st.get_option(name) != value]
        if ignored:
            raise ValueError(f"it ignores {', '.join(ignored)}")
        return Gate(st.App(SCRIPT), Identity(port, token))
    except Exception as error:  # whatever another version has moved
        what = f"Streamlit {st.__version__} cannot be protected: {type(error).__name__}: {error}."
        raise SemsearchError(what, MissingExtra("`semsearch ui`", "cpu,ui", "another version").fix) from None


def serve(gate: Gate, listening: socket.socket) -> int:
    """Answer requests until a signal comes; returns the exit code of that signal."""
    config = uvicorn.Config(
        gate,
        lifespan="on",
        ws="websockets-sansio",
        ws_max_size=MESSAGE_MB * 2**20,
        ws_per_message_deflate=False,
        proxy_headers=False,  # nobody in front is believed
        server_header=False,
        access_log=False,  # URLs are queries
        log_level="warning",
        use_colors=False,
        timeout_graceful_shutdown=5,
    )
    problem = "error: Streamlit did not start. The lines above say why.\n"
    return until_signal.run(uvicorn.Server(config), listening, not_started=problem)


def _listen(port: int) -> socket.socket:
    """A socket at which the operating system already queues connections."""
    try:
        return socket.create_server((HERE, port))
    except OSError as error:
        raise SemsearchError(f"port {port} cannot be used: {error.strerror}.", "Choose another with --port.") from None


def address(identity: Identity) -> str:
    """The URL that lets a browser in. The token has no character that needs escaping."""
    return f"http://{HERE}:{identity.port}/?token={identity.token}"


def _open_browser(identity: Identity, folder: Path) -> None:
    """Open the browser at the pages, if there is a screen. `folder` is private and outlives the browser's start.

    Every user of a machine can read the arguments of every process, so the browser is not started with the address that
    lets in, but with a file that only its owner can read and that leads there.
    """
    if sys.platform == "linux" and not os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}:
        return  # else webbrowser would start one that draws in the terminal
    file = folder / "semsearch.html"
    file.touch(0o600)
    file.write_text(_LEADS.format(url=address(identity)), encoding="utf-8")
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
