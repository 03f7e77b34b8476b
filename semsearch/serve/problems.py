"""Errors as problem details (RFC 9457), with the exit code that the command line has for them as `code`."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.routing import compile_path
from starlette.types import Scope

from semsearch.errors import (
    DeviceUnavailable,
    EncoderMismatch,
    Locked,
    MissingExtra,
    NotFound,
    SemsearchError,
    TooLarge,
    Unreadable,
    UsageError,
)
from semsearch.serve.bodies import MANY, ONE
from semsearch.types import JsonObject

log = logging.getLogger(__name__)
NO_FIELDS = ("body", ONE, MANY)  # where an error is, besides the names of fields
_OF_PYDANTIC = re.compile(r"(?:constrained-|function-|(?:list|dict|tuple)\[|str$)")  # the branch of a union
IN_PYTHON = {  # what pydantic says in words of Python
    "Extra inputs are not permitted": "There is no such field",
    " or object to extract fields from": "",
    " or instance of DocumentBody": "",
    "valid dictionary": "valid object",
    "valid tuple": "valid list",
    " after validation": "",
    "Value error, ": "",
}
DESCRIBED = "GET /docs describes the request."
STATUS = {  # the first that fits counts
    NotFound: 404,
    TooLarge: 413,
    UsageError: 400,
    Unreadable: 422,
    EncoderMismatch: 409,
    Locked: 423,
    DeviceUnavailable: 503,
    MissingExtra: 503,
}


class Refused(SemsearchError):
    """An answer that only a server gives, with its HTTP status."""

    def __init__(self, status: int, message: str, fix: str = "") -> None:
        super().__init__(message, fix)
        self.status = status
        self.retry_after = 1  # seconds, where coming again helps
        self.exit_code = UsageError.exit_code if status < 500 else SemsearchError.exit_code


def status_of(error: SemsearchError) -> int:
    """The HTTP status for an error."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


def answer(error: SemsearchError, scope: Scope, **more: object) -> JSONResponse:
    """The answer for an error. `more` are further members; below /v1, `error` is what OpenAI's clients read."""
    status = status_of(error)
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "code": UsageError.exit_code if status in (400, 413, 422) else error.exit_code,
        "fix": error.fix,
        "request_id": scope.get("request_id", ""),
        **more,
    }
    if scope["path"].startswith("/v1/"):
        kind = "invalid_request_error" if status < 500 else "server_error"
        body["error"] = {"message": str(error), "type": kind, "param": None, "code": error.exit_code}
    wait = error.retry_after if isinstance(error, Refused) else 1
    headers = {"retry-after": str(wait)} if status in (423, 429, 503) else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def install(app: FastAPI) -> None:
    """Have `app` answer every error with a problem."""
    app.add_exception_handler(SemsearchError, _expected)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(OSError, _of_the_system)
    app.add_exception_handler(Exception, _unexpected)


def _expected(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SemsearchError)
    if status_of(error) >= 500 and not (isinstance(error, Refused) and error.status == 503):  # which says: come again
        log.error("%s", error)
    home = request.app.state.service.options.home
    error.message, error.fix = (without_folder(text, home) for text in (error.message, error.fix))
    return answer(error, request.scope)


def without_folder(text: str, home: str) -> str:
    """A message without the folder of the indexes, which is nothing to a client: an index is left as its name."""
    for folder in (home, str(Path(home).absolute())):
        text = text.replace(f"{folder.rstrip(os.sep)}{os.sep}", "")
    return text


def _gone(request: Request, error: Exception) -> JSONResponse:
    """What the log says of a client that went away while it sent a body; nobody reads it."""
    return answer(Refused(400, "the client went away before its body was complete."), request.scope)


def _of_the_system(request: Request, error: Exception) -> JSONResponse:
    """A full disk, a folder that may not be read: the reason, without the path."""
    log.error("%s", error)
    reason = getattr(error, "strerror", None) or type(error).__name__
    return answer(SemsearchError(f"{reason}.", "The log of the server has the details."), request.scope)


def _unexpected(request: Request, error: Exception) -> JSONResponse:
    """A fault of the server's own; the gate writes it to the log."""
    return answer(SemsearchError("the server failed.", "The log of the server has the details."), request.scope)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    errors = list(error.errors())
    told = [(*described(one), _is_of_type(one)) for one in errors]
    exact = {place for place, _, is_of_type in told if not is_of_type}  # a value has the wrong type for other kinds
    others = [(place, problem) for place, problem, is_of_type in told if not (is_of_type and place in exact)]
    problems = [{"field": place, "problem": problem} for place, problem in others]
    of_first = [one for one in errors if one["loc"][:2] == errors[0]["loc"][:2]]  # of a field of several kinds, the
    field, problem = described(max(of_first, key=_closeness))  # one that it comes closest to
    wrong = Refused(422, f"{field or 'the body'}: {problem}.", DESCRIBED)
    return answer(wrong, request.scope, errors=problems)


def _closeness(error: Mapping[str, Any]) -> tuple[int, bool]:
    """How far a value got in one kind of a field before this error: a wrong type is the first thing that is seen."""
    return len(error["loc"]), not _is_of_type(error)


def _is_of_type(error: Mapping[str, Any]) -> bool:
    return str(error.get("type", "")).endswith("_type")


def described(error: Mapping[str, Any]) -> tuple[str, str]:
    """The field that an error of pydantic is about, "" for all of it, and the problem, in words of the client.

    A key of the client may have half a pair of surrogates, which no answer can repeat.

    >>> described({"loc": ("body", "input", "list[constrained-str]", 0), "msg": "Value error, it is too long"})
    ('input.0', 'it is too long')
    """
    parts = [str(part) for part in error["loc"] if part not in NO_FIELDS]
    name = ".".join(part for part in parts if not _OF_PYDANTIC.match(part))
    problem = str(error["msg"])
    if not parts and isinstance(error.get("input"), bytes):  # FastAPI parses what is declared as JSON alone
        problem = "Its Content-Type has to be application/json"
    for theirs, ours in IN_PYTHON.items():
        problem = problem.replace(theirs, ours)
    return name.encode("utf-8", "backslashreplace").decode(), problem


def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return answer(NotFound("there is no such address.", "GET /docs lists them."), request.scope)
    if error.status_code == 405:
        allowed = ", ".join(_methods(request))
        refusal = answer(
            Refused(405, f"this address does not take {request.method}.", f"It takes {allowed}."), request.scope
        )
        refusal.headers["allow"] = allowed
        return refusal
    fix = DESCRIBED if error.status_code in (400, 413, 422) else ""
    refusal = answer(Refused(error.status_code, f"{error.detail}.".replace("..", "."), fix), request.scope)
    refusal.headers.update(error.headers or {})
    return refusal


def _methods(request: Request) -> list[str]:
    """The methods that an address has. The router names those of one of its routes."""
    paths: JsonObject = request.app.openapi()["paths"]
    fitting = [path for path in paths if _pattern(path).match(request.scope["path"])]
    fewest = min((path.count("{") for path in fitting), default=0)  # /documents/upload is no document
    nearest = [path for path in fitting if path.count("{") == fewest]
    return sorted({method.upper() for path in nearest for method in paths[path]})


@lru_cache(64)
def _pattern(path: str) -> re.Pattern[str]:
    """What matches the addresses of a path of the OpenAPI, in which ids of documents may have slashes."""
    return compile_path(re.sub("{(document|model)}", r"{\1:id}", path))[0]
