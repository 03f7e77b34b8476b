"""The command line, in a process that is killed at a named step of the write path.

    SEMSEARCH_FAULT_POINT='COMMIT:2' python tests/faults/child.py index FOLDER -n notes -m hashing

kills itself with SIGKILL just before a step of `write_steps` is taken, here the second COMMIT. Tests call `run` in
processes of their own.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import write_steps

from semsearch.cli.main import main

VARIABLE = "SEMSEARCH_FAULT_POINT"
STDIN = "stdin"  # a file in the folder in which a command runs


def run(arguments: Sequence[str], environment: dict[str, str], point: str, told: Connection) -> None:
    """Run a command line in the folder PWD, and say in pairs what happens.

    ("begun", None); ("put", ids of documents) and ("deleted", ids) after their commit; ("steps", how often each was
    taken) and ("code", exit code) at the end. Its input is the file `stdin`; its output goes to `said.txt`.
    """
    os.environ.update(environment)
    os.chdir(environment["PWD"])
    tempfile.tempdir = None  # it is looked up again
    taken = Counter[str]()
    kill = killing(point)
    write_steps.watch(lambda step: (taken.update([step]), kill(step)), lambda *change: told.send(change))
    with Path("said.txt").open("w", encoding="utf-8") as said, Path(STDIN).open(encoding="utf-8") as sys.stdin:
        sys.stdout = sys.stderr = said
        told.send(("begun", None))
        code = main(arguments)
    told.send(("steps", dict(taken)))
    told.send(("code", code))


def killing(point: str) -> Callable[[str], None]:
    """What kills this process when a step is taken: NAME:COUNT; nothing for an empty `point`."""
    wanted, _, count = point.rpartition(":")
    left = iter(range(1, int(count or 1)))

    def kill(step: str) -> None:
        if step == wanted and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    return kill


if __name__ == "__main__":
    write_steps.watch(killing(os.environ.get(VARIABLE, "")), lambda *_: None)
    sys.exit(main(sys.argv[1:]))
