"""The errors that semsearch raises, each with an exit code, a message and a fix.

SemsearchError                 1  failure at run time
├── UsageError                 2  the request is invalid
│   ├── BadFilter                 a filter or path pattern does not parse
│   ├── UnknownName               there is no plug-in, setting or field of that name
│   ├── TooLarge                  the answer would be larger than is allowed
│   └── GuardRail                 refused until the user confirms
├── NotFound                   3  an index, document, path or model does not exist
├── EncoderMismatch            4  the index was built with another encoder
│   └── ForeignVectors            vectors in a file are not those of the encoder
├── GateFailed                 5  finished, but items were skipped or a check failed
├── DeviceUnavailable          6  the requested device does not exist
├── Locked                     7  another process writes to the index
├── EncodingFailed             1  the encoder failed at a text, or its vectors are unusable
├── Corrupt                    1  bytes on disk differ from those that were written
├── MissingExtra               1  an optional package is not installed
└── Unreadable                 1  one document cannot be read; others can
"""

from __future__ import annotations

import copyreg
import difflib
import importlib.util
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path


class SemsearchError(Exception):
    """The base of every error that semsearch raises on purpose.

    `fix` is what to do next in Python, and `command` at the command line, where that differs.
    """

    exit_code = 1

    def __init__(self, message: str, fix: str = "", command: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.command = command or fix

    def __str__(self) -> str:
        """Message and fix on one line."""
        return f"{self.message} {self.fix}".rstrip()

    def __reduce__(self) -> tuple[object, ...]:
        """In another process the error is the same, whatever it was made of."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]

    def add(self, fix: str) -> None:
        """Another way out, in both forms."""
        self.fix, self.command = f"{self.fix} {fix}", f"{self.command} {fix}"


class UsageError(SemsearchError):
    exit_code = 2


class BadFilter(UsageError):
    pass


class UnknownName(UsageError):
    """A name that is not among the known ones. The fix suggests the closest and lists all."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        close = difflib.get_close_matches(name, choices, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        listed = f"Choose from: {', '.join(choices)}." if choices else "There is none."
        super().__init__(f"no {kind} is called {name!r}.", f"{hint}{listed}")


class TooLarge(UsageError):
    pass


class GuardRail(UsageError):
    pass


class NotFound(SemsearchError):
    exit_code = 3


class EncoderMismatch(SemsearchError):
    """The index was built with the encoder `built_with`; those of `got` are vectors of another space."""

    exit_code = 4

    def __init__(self, index: str, *, built_with: str, got: str, fix: str, command: str = "") -> None:
        super().__init__(
            f"{index} was built with encoder {built_with} but opened with {got}; their vectors cannot be compared.",
            fix,
            command,
        )


class ForeignVectors(EncoderMismatch):
    """The vector of the text `row` in `file` has only the `cosine` with that of `encoder`, where `least` is asked."""

    def __init__(self, file: str, encoder: str, row: str, cosine: float, least: float) -> None:
        SemsearchError.__init__(
            self,
            f"the vectors of {file} are not those of encoder {encoder}: the text {row!r}, encoded again, "
            f"has a cosine of {cosine:.3f} with its own, below {least}. Nothing was changed.",
            "Name the encoder that made them, or pass encoder=None.",
            "Name the encoder that made them with -m, or leave out -m for an index without an encoder.",
        )


class GateFailed(SemsearchError):
    exit_code = 5


class DeviceUnavailable(SemsearchError):
    exit_code = 6


class Locked(SemsearchError):
    exit_code = 7


class EncodingFailed(SemsearchError):
    pass


class Corrupt(SemsearchError):
    pass


class MissingExtra(SemsearchError):
    """`what` needs `package`, which comes with the extra `extra`. The fix is the command that installs it."""

    def __init__(self, what: str, extra: str, package: str) -> None:
        super().__init__(f"{what} needs {package}, which is not installed.", f"Install it: {install_command(extra)}")


class Unreadable(SemsearchError):
    """One document cannot be read. `message` is the reason, worded for the report of skipped files."""


def install_command(extra: str) -> str:
    """The command that adds `extra` ("ui", or several: "cpu,ui") to semsearch, from the place of its installation.

    The name alone would install the package of that name from a package index, which may be another one.
    """
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file():  # an editable installation, or none
        return f"{pip('install')} -e '{checkout}[{extra}]'"
    from importlib.metadata import distribution  # 30 ms, and only for an error

    origin = json.loads(distribution("semsearch").read_text("direct_url.json") or "{}")  # PEP 610
    vcs = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return f"{pip('install')} 'semsearch[{extra}]{' @ ' + vcs + origin['url'] if origin else ''}'"


def pip(action: str) -> str:
    """The beginning of a command line by which pip does `action` ("install", "uninstall -y") where semsearch runs.

    `pip` alone may be that of another environment: semsearch may run by its path, or from pipx or uv.
    """
    environment = Path(sys.prefix)
    if (environment / "pipx_metadata.json").is_file():
        return f"pipx runpip {environment.name} {action}"
    if importlib.util.find_spec("pip") is None:  # uv makes environments without pip
        return f"uv pip {action.removesuffix(' -y')} --python {_quoted(sys.executable)}"
    path = shutil.which("pip")
    if path and Path(path).parent == Path(sys.executable).parent:
        return f"pip {action}"
    return f"{_quoted(sys.executable)} -m pip {action}"


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path
