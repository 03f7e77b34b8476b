"""Command lines in processes of their own: with another user's rights, with a limit on files, or on a failing disk."""

from __future__ import annotations

import faulthandler
import importlib
import os
import pkgutil
import resource
from multiprocessing.connection import Connection
from typing import NamedTuple

import filelock  # noqa: F401  here, so that no process has to import it
import sqlite_utils  # noqa: F401
from forking import context
from helpers.commandline import CommandLine, Ran

import semsearch.cli.indexes
import semsearch.documents.loaders
import semsearch.indexing
import semsearch.search
import semsearch.stores.local.integrity
import semsearch.vector_index.backends

for package in (semsearch.cli.indexes, semsearch.documents.loaders, semsearch.indexing, semsearch.search,
                semsearch.stores.local, semsearch.stores.local.integrity, semsearch.vector_index.backends):  # fmt: skip
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
importlib.import_module("semsearch.cli.query_command")

PATIENCE = 120  # seconds for one command


class Limits(NamedTuple):
    """What a process may: act as this user, with files of at most so many bytes."""

    user: int | None = None
    file_bytes: int | None = None


NONE = Limits()


def run(arguments: list[str], environment: dict[str, str], limits: Limits = NONE) -> Ran:
    """What a command line left behind. Fails where it ended by a signal, or not at all."""
    receive, send = context().Pipe(duplex=False)
    process = context().Process(target=_child, args=(arguments, environment, limits, send))
    process.start()
    send.close()
    try:
        ran: Ran | None = receive.recv() if receive.poll(PATIENCE) else None
    except EOFError:
        ran = None
    if ran is None:
        process.kill()
    process.join()
    assert ran is not None, f"{arguments} ended with {process.exitcode}, or not within {PATIENCE} s"
    return ran


def _child(arguments: list[str], environment: dict[str, str], limits: Limits, answer: Connection) -> None:
    faulthandler.enable()
    os.environ.update(environment)
    os.chdir("/")
    if limits.file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    if limits.user is not None:
        os.setgroups([])
        os.setgid(limits.user)
        os.setuid(limits.user)
    answer.send(CommandLine()(*arguments))
