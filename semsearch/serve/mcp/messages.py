"""Messages of JSON-RPC, read alike over both transports: what is none gets an answer, not silence."""

from __future__ import annotations

import json
import re

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification
from mcp_types import jsonrpc_message_adapter as adapter
from pydantic import ValidationError

from semsearch.serve.problems import Refused
from semsearch.serve.routes.json_bodies import unbounded

SURROGATE = re.compile("[\ud800-\udfff]")


class NoMessage(Exception):
    """A text that is no message; `answer` says why."""

    def __init__(self, request: int | str | None, code: int, problem: str) -> None:
        super().__init__(problem)
        error = ErrorData(code=code, message=problem)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request, error=error)


def message(text: bytes) -> JSONRPCMessage:
    """Raises NoMessage, with the id of the request where there is one."""
    try:
        value = unbounded(text)  # tools bound what they take, in an answer to the request
    except Refused as error:
        raise NoMessage(None, PARSE_ERROR, str(error).replace("the body", "the message")) from None
    if not isinstance(value, dict):
        raise NoMessage(None, INVALID_REQUEST, "a message is one object of JSON-RPC.")
    number = value.get("id")
    known = number if type(number) in (int, str) and not SURROGATE.search(str(number)) else None
    try:
        read = adapter.validate_json(text, by_name=False)
    except ValidationError:
        if _is_halved(value):  # the package refuses what Python reads
            problem = "the message has an unpaired surrogate, which is no character."
            raise NoMessage(known, PARSE_ERROR, problem) from None
        raise NoMessage(known, INVALID_REQUEST, "this is no message of JSON-RPC.") from None
    if isinstance(read, JSONRPCNotification) and "id" in value:
        raise NoMessage(None, INVALID_REQUEST, "the id is neither a text nor a whole number.")
    return read


def _is_halved(value: object) -> bool:
    try:
        return SURROGATE.search(json.dumps(value, ensure_ascii=False)) is not None
    except RecursionError:
        return False
