"""What can go wrong, each with its exit code, its message and what to do next.

SemsearchError                 1  failure at run time
├── UsageError                 2  the request itself is off
│   ├── BadFilter                 --where that does not parse
│   ├── UnknownName               no plug-in, setting or field is called that
│   └── GuardRail                 refused until the user says yes
├── NotFound                   3  index, document, path or model is not there
├── EncoderMismatch            4  index and encoder do not belong together
├── GateFailed                 5  finished, but something was skipped or a check failed
├── DeviceUnavailable          6  the device that was asked for is absent
├── Locked                     7  another process writes to this index
├── Corrupt                    1  bytes on disk are not what was written
├── MissingExtra               1  an optional package is needed
└── Unreadable                 1  one document cannot be read; the others can
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SemsearchError(Exception):
    """Base of every error that semsearch raises on purpose. `fix` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".rstrip()


class UsageError(SemsearchError):
    exit_code = 2


class BadFilter(UsageError):
    pass


class UnknownName(UsageError):
    """A name that is not among the known ones; offers the nearest and lists the rest."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        near = difflib.get_close_matches(name, choices, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        listed = ", ".join(choices) if choices else "(none)"
        super().__init__(f"no {kind} is called {name!r}.", f"{hint}Choose from: {listed}.")


class GuardRail(UsageError):
    pass


class NotFound(SemsearchError):
    exit_code = 3


class EncoderMismatch(SemsearchError):
    """The vectors of an index and of an encoder live in different spaces."""

    exit_code = 4

    def __init__(self, index: str, *, built_with: str, got: str, fix: str) -> None:
        super().__init__(
            f"{index} was built with encoder {built_with} but {got} was given; their vectors cannot be compared.",
            fix,
        )


class GateFailed(SemsearchError):
    exit_code = 5


class DeviceUnavailable(SemsearchError):
    exit_code = 6


class Locked(SemsearchError):
    exit_code = 7


class Corrupt(SemsearchError):
    pass


class MissingExtra(SemsearchError):
    """An optional package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package.", f"Install it: pip install 'semsearch[{extra}]'")


class Unreadable(SemsearchError):
    """One document cannot be read. `message` is the reason, in words for the skipped-files report."""
