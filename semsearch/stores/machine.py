"""The name of this machine, where several write to one store: each follows files of its own."""

from __future__ import annotations

import os
import socket

VARIABLE = "SEMSEARCH_MACHINE"


def name() -> str:
    """SEMSEARCH_MACHINE, else the name of the host. Machines that share their folders may share a name too."""
    return os.environ.get(VARIABLE) or socket.gethostname() or "unnamed"
