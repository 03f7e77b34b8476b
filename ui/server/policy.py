"""The headers of every answer: what a browser may do with it.

Streamlit's front end needs styles in the document (emotion), and modules from blob: URLs, which is how a component
brings its JavaScript; scripts in the document run if their hash is known.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import streamlit

from ..shared.scripts import INLINE, in_shell

CLOSED = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
FIXED = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def of_pages(host: str) -> str:
    """The content security policy of Streamlit's answers, which may load nothing from anywhere else.

    `host` is the server as the browser calls it. Some browsers do not count its websocket as 'self'.
    """
    return (
        f"default-src 'none'; script-src 'self' blob: {_HASHES}; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws://{host}; manifest-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hashes(documents: Iterable[str]) -> str:
    """A source for each script in these pieces of HTML."""
    scripts = [script for document in documents for script in _SCRIPT.findall(document)]
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


SHELL = in_shell((Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8"))
_HASHES = _hashes([SHELL, *INLINE])
