"""Runs command lines inside the test's own process, as `semsearch` would: same parser, same errors, same codes."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from semsearch.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind. `raw` is stdout as bytes."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8")

    @property
    def json(self) -> Any:
        """stdout as the one JSON value it has to be."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Stream(io.TextIOWrapper):
    """A stand-in for stdin, stdout or stderr that can call itself a terminal."""

    def __init__(self, content: bytes = b"", *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8", errors="backslashreplace", newline="")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def content(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined]


def run_console(line: str, environment: dict[str, str]) -> Ran:
    """A line of the documentation, `semsearch ...` with $VARIABLES, in this process: torch is imported once for all."""
    with patch.dict(os.environ, environment):
        for name in [name for name in os.environ if name.startswith("SEMSEARCH_") and name not in environment]:
            del os.environ[name]
        program, *arguments = shlex.split(os.path.expandvars(line))
        assert program == "semsearch", line
        return CommandLine()(*arguments)


class CommandLine:
    """`cli("query", "tea", "-n", "notes")` is `semsearch query tea -n notes`."""

    def __call__(self, *args: object, stdin: str | bytes = b"", terminal: bool = False, **variables: str) -> Ran:
        """`terminal`: stdin and stdout are one. `variables` join the environment."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        streams = Stream(given, terminal=terminal), Stream(terminal=terminal), Stream()
        with (
            patch.dict(os.environ, variables),
            patch.object(sys, "stdin", streams[0]),
            patch.object(sys, "stdout", streams[1]),
            patch.object(sys, "stderr", streams[2]),
        ):
            code = main([str(arg) for arg in args])
        return Ran(code, streams[1].content(), streams[2].content().decode("utf-8"))

    def ok(self, *args: object, **how: Any) -> Ran:
        """The same, where anything but success is the test's failure."""
        ran = self(*args, **how)
        assert ran.code == 0, ran.err
        return ran
