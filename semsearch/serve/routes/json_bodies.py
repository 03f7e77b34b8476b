"""JSON in short steps: the bodies of requests, and answers.

One call of a JSON library keeps all other threads waiting, so neither a body of a million values nor a long answer is
one call.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from semsearch.documents.parsing.json_size import MOST_DIGITS, MOST_VALUES, has_too_many_values, is_nested_deeper
from semsearch.serve.opened import LONGEST_ANSWER
from semsearch.serve.problems import Refused
from semsearch.serve.service import beside
from semsearch.types import JsonObject

_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.I)
SHORT = 2**14  # bytes of a body that is read at once: another thread would take longer to begin
_WHOLE = frozenset([int, float, bool, type(None), dict])  # what has no items, and is not long
LONG = 2**20  # characters of a text that is written in several steps


class JsonRoute(APIRoute):
    """A route whose body is read by `parsed`. A parameter that it does not take, or has twice, is an error."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = [parameter.alias for parameter in self.dependant.query_params]

        async def handled(request: Request) -> Response:
            given = Counter(name for name, _ in request.query_params.multi_items())
            if wrong := next((name for name, number in given.items() if number > 1 or name not in known), None):
                problem = "it is given more than once" if wrong in known else _unknown(known)
                raise RequestValidationError([{"loc": ("query", wrong[:100]), "msg": problem}])
            return await handle(_JsonRequest(request.scope, request.receive))

        return handled


class _JsonRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        said = _CHARSET.search(self.headers.get("content-type", ""))
        if said and said[1].lower() not in ("utf-8", "utf8", "us-ascii"):
            raise HTTPException(422, f"the body says that its charset is {said[1][:40]}; JSON is UTF-8.")
        try:
            return parsed(body) if len(body) <= SHORT else await beside(None, partial(parsed, body))
        except Refused as error:  # FastAPI passes on only this kind
            raise HTTPException(error.status, str(error)) from None


def parsed(body: bytes) -> Any:
    """The JSON of a body. Raises Refused, 413 for too many values, 422 for what is no JSON."""
    if has_too_many_values(body):
        raise Refused(413, f"the body has more than {MOST_VALUES:,} values.", "Send less at once.")
    return unbounded(body)


def unbounded(body: bytes) -> Any:
    """A body with any number of values. Raises Refused."""
    try:
        return json.loads(body.decode(), parse_int=_whole, object_pairs_hook=_members)
    except UnicodeDecodeError as error:
        raise Refused(422, f"the body is not UTF-8 at byte {error.start + 1}.") from None
    except RecursionError:
        raise Refused(422, "the body is nested too deep.") from None
    except json.JSONDecodeError as error:
        raise Refused(422, f"the body is not JSON: {error.msg} at character {error.pos + 1}.") from None
    except ValueError as error:
        raise Refused(422, f"the body has {error}.") from None


def _unknown(known: Sequence[str]) -> str:
    return f"there is no such parameter; this address takes {', '.join(known) or 'none'}"


def _members(pairs: Sequence[tuple[str, object]]) -> JsonObject:
    """An object. Of two members with the same key, most readers drop one without a word."""
    members = dict(pairs)
    if len(members) < len(pairs):
        key = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
        raise ValueError(f"the key {key[:100]!r} more than once in an object")
    return members


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits; {MOST_DIGITS} is the most")
    return int(digits)


def json_response(content: JsonObject, status: int = 200) -> Response:
    """An answer. Raises Refused, 413, where it would be longer than LONGEST_ANSWER and has several items.

    Of an iterator in it, no more is read then.
    """
    pieces, size, longest = [], 0, 0
    for piece in _pieces(content):
        pieces.append(piece)
        size, longest = size + len(piece), max(longest, len(piece))
        if size - longest > LONGEST_ANSWER:
            problem = f"the answer would be longer than {LONGEST_ANSWER >> 20} MB."
            raise Refused(413, problem, "Ask for fewer hits, documents or texts at once.")
    return Response(b"".join(pieces), status, media_type="application/json")


def answerable(item: JsonObject) -> JsonObject:
    """A hit or a document without metadata that no JSON library writes; `metadata_left_out` has their keys then.

    Such metadata cannot be stored any more, but an older version has stored them.
    """
    if not is_nested_deeper(item.get("metadata")):
        return item
    return {**item, "metadata": {}, "metadata_left_out": sorted(item["metadata"])[:20]}


def _pieces(value: Any) -> Iterator[bytes]:
    """The JSON of a value; each item of a list of objects or lists, and of an iterator, is a piece of its own.

    So is each long text of an object, which several steps write.
    """
    if isinstance(value, dict) and any(map(_has_parts, value.values())):
        value = answerable(value)
        mark = b"{"
        for key, inner in value.items():
            yield mark + to_json(key) + b":"
            yield from _pieces(inner)
            mark = b","
        yield b"}"
    elif _has_items(value):
        mark = b"["
        for item in value:
            yield mark
            yield from _pieces(item)
            mark = b","
        yield b"[]" if mark == b"[" else b"]"
    elif _is_long(value):
        parts = (to_json(value[at : at + LONG])[1:-1] for at in range(0, len(value), LONG))
        yield b"".join([b'"', *parts, b'"'])
    else:
        yield to_json(answerable(value) if isinstance(value, dict) else value)


def _has_parts(value: object) -> bool:
    kind = type(value)  # an answer asks this of each field of each hit
    return len(value) > LONG if kind is str else kind not in _WHOLE and (_has_items(value) or _is_long(value))  # type: ignore[arg-type]


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > LONG


def _has_items(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict | list)
    return isinstance(value, Iterator)
