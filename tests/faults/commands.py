"""Command lines in processes of their own: with another user's rights, with a limit on files, or on a failing disk."""

from __future__ import annotations

import faulthandler
import os
import resource
from multiprocessing.connection import Connection
from typing import NamedTuple

from forks import run as forked
from helpers.commandline import CommandLine, Ran


class Limits(NamedTuple):
    """What a process may: act as this user, with files of at most so many bytes."""

    user: int | None = None
    file_bytes: int | None = None


NONE = Limits()


def run(arguments: list[str], environment: dict[str, str], limits: Limits = NONE) -> Ran:
    """What a command line left behind, run in a process of its own that has to end by itself."""
    [ran] = forked(_child, arguments, environment, limits).said
    assert isinstance(ran, Ran)
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
