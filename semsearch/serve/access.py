"""Who may do what: tokens with a right and a list of indexes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.serve.problems import Refused
from semsearch.utils.web.visitors import among

RIGHTS = ("read", "write", "admin")  # each includes those before it
SHAPE = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")  # what an Authorization header can carry, too long to be guessed


class WrongToken(Refused):
    """A token that is not a valid one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a name for the log, a right, and the indexes that it covers; no list covers all."""

    name: str
    right: str
    indexes: tuple[str, ...] = ()

    def require(self, right: str) -> None:
        """Raises Refused, 403, for a caller without the right."""
        if RIGHTS.index(self.right) < RIGHTS.index(right):
            raise Refused(403, f"this token has the right to {self.right}, not to {right}.", "Use another token.")

    def require_index(self, index: str) -> None:
        """Raises NotFound for an index that the caller may not know of."""
        if not self.sees(index):
            raise NotFound(f"there is no index called {index!r}.", "GET /indexes lists them.")

    def sees(self, index: str) -> bool:
        return not self.indexes or index in self.indexes


@dataclass(frozen=True, slots=True)
class Token:
    """A secret, and who has it."""

    secret: str
    caller: Caller


NOBODY = Caller("none", "read")  # of addresses that need no token
LOCAL = Caller("local", "admin")  # a program on this machine, where no token was asked for


def parse(specs: Sequence[str], environment: Mapping[str, str]) -> tuple[Token, ...]:
    """The tokens of NAME[:RIGHT[:INDEX,…]], each the value of the variable NAME. Raises UsageError, UnknownName."""
    tokens = tuple(_token(spec, environment) for spec in specs)
    if len({token.secret for token in tokens}) < len(tokens):
        raise UsageError("two tokens have the same value.", "Give each its own.")
    return tokens


def _token(spec: str, environment: Mapping[str, str]) -> Token:
    name, _, rest = spec.partition(":")
    right, colon, listed = rest.partition(":")
    indexes = tuple(listed.split(",")) if colon else ()
    if not all(map(str.strip, indexes)):
        raise UsageError(f"{spec} has an empty name of an index.", "Leave out what stands behind the right for all.")
    right = right or "admin"
    if right not in RIGHTS:
        raise UnknownName("right of a token", right, RIGHTS)
    secret = environment.get(name, "")
    if not SHAPE.fullmatch(secret):
        problem = "is not set" if not secret else "is not a token"
        fix = "Put 16 or more of the characters A-Z a-z 0-9 . _ ~ + / = - into it."
        raise UsageError(f"the environment variable {name} {problem}.", fix)
    return Token(secret, Caller(name, right, indexes))


def caller(tokens: Sequence[Token], authorizations: Sequence[str]) -> Caller:
    """Whose token an `Authorization: Bearer` header carries; every token is compared.

    Raises WrongToken, and Refused, 401, where there is none.
    """
    if not tokens:
        return LOCAL
    schemes = [each.partition(" ") for each in authorizations]
    secrets = [value.strip() for scheme, _, value in schemes if scheme.lower() == "bearer"]
    callers = [token.caller for token in tokens if among(secrets, token.secret)]
    fix = "Send the header Authorization: Bearer TOKEN."
    if not secrets:
        raise Refused(401, "there is no token.", fix)
    if len(secrets) > 1 or not callers:
        raise WrongToken(401, "the token is not a valid one.", fix)
    return callers[0]
