"""`ui`: the browser pages. This process is replaced by the one that serves them, `python -m semsearch_ui`."""

from __future__ import annotations

import os
import re
import secrets
import socket
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from semsearch.cli.lookup import use_device
from semsearch.cli.options import DeviceOption, Options, flag, value
from semsearch.cli.output import console
from semsearch.errors import MissingExtra, SemsearchError, UsageError
from semsearch.utils.web.visitors import HERE

PORT = 8501
TOKEN, TOKEN_FILE = "SEMSEARCH_UI_TOKEN", ".ui-token"
VALID = re.compile(r"[A-Za-z0-9._~-]{16,}")
NEEDED = ("semsearch_ui", "streamlit", "uvicorn", "starlette")
MAX_UPLOAD = 50  # MB


def ui(
    ctx: typer.Context,
    port: Annotated[int | None, value("N", f"Port on {HERE}.  [default: {PORT}, or the next free one]")] = None,
    browser: Annotated[bool, flag("--browser/--no-browser", "Open a browser window.")] = True,
    max_upload: Annotated[int, value("MB", "Largest file that the pages accept.", min=1, max=10_000)] = MAX_UPLOAD,
    new_token: Annotated[bool, flag("--new-token", "Lock out every browser that was let in before.")] = False,
    device: DeviceOption = None,
) -> None:
    """Open the browser pages: search, compare, inspect indexes.

    The server accepts connections from this machine only, and only from a browser that has opened the printed address.
    The token in it is kept in the home of indexes, for you alone, so that bookmarks still work after a restart. Ctrl-C
    stops it.
    """
    options: Options = ctx.obj
    if not all(map(find_spec, NEEDED)):
        raise MissingExtra("`semsearch ui`", "cpu,ui", "Streamlit")
    use_device(device)
    token = os.environ.get(TOKEN) or _kept_token(options.folder() / TOKEN_FILE, new=new_token)
    shown = f"${TOKEN}" if os.environ.get(TOKEN) else token  # the user's own stays out of logs
    if not VALID.fullmatch(token):
        raise UsageError(f"{TOKEN} is not a token.", "Use 16 or more of the characters A-Z a-z 0-9 . _ ~ -")
    chosen = _port(port)
    os.environ["SEMSEARCH_HOME"] = str(options.folder().resolve())
    os.environ[TOKEN] = token  # not an argument: other users can read those
    console.note(f"http://{HERE}:{chosen}/?token={shown}   (ready in a few seconds; Ctrl-C stops it)")
    arguments = command(chosen, max_upload, browser=browser)
    sys.stdout.flush()
    os.execv(arguments[0], arguments)


def _kept_token(file: Path, *, new: bool) -> str:
    """The token in this file, or a new one, which is kept there; one that others could read is replaced."""
    with suppress(OSError):
        kept = file.read_text(encoding="ascii").strip() if not file.stat().st_mode & 0o077 and not new else ""
        if VALID.fullmatch(kept):
            return kept
    token = secrets.token_urlsafe()
    with suppress(OSError):  # of a home that cannot be written, the token is a new one each time
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.touch(0o600, exist_ok=False)
        file.write_text(f"{token}\n", encoding="ascii")
    return token


def command(port: int, max_upload: int, *, browser: bool) -> list[str]:
    """The command line of the server. -P: Python imports nothing from the current folder."""
    arguments = [f"--port={port}", f"--max-upload={max_upload}", *(["--browser"] if browser else [])]
    return [sys.executable, "-P", "-m", "semsearch_ui", *arguments]


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
