"""Processes that are forked from a server with all modules loaded: each is killed, or limited, alone.

A fork of the test's own process would inherit its threads, and FAISS hangs in a fork once it has computed.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

MODULES = [
    "pytest",
    "writers",
    "histories",
    "commands",
    "encoding",
]  # every module of a target: one server serves all files


def context() -> ForkServerContext:
    """The context of such processes. PYTHONPATH has to lead to the modules when the first one starts."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(MODULES)
    return found
