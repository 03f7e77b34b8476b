"""Opening the browser without showing the token to others.

Every user of a machine can read the arguments of every process, so the browser is not started with the address that
lets in, but with a file that only its owner can read and that leads there.
"""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path

from .identity import HERE, Identity

_LEADS = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={url}">
<a href="{url}">Open semsearch</a>
"""


def address(identity: Identity) -> str:
    """The URL that lets a browser in. The token has no character that needs escaping."""
    return f"http://{HERE}:{identity.port}/?token={identity.token}"


def open_at(identity: Identity, folder: Path) -> None:
    """Open the browser at the pages, if there is a screen. `folder` is private and outlives the browser's start."""
    if sys.platform == "linux" and not os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}:
        return  # else webbrowser would start one that draws in the terminal
    file = folder / "semsearch.html"
    file.touch(0o600)
    file.write_text(_LEADS.format(url=address(identity)), encoding="utf-8")
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
