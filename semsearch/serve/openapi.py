"""The OpenAPI description, with what FastAPI cannot know: the errors, and the token."""

from __future__ import annotations

from fastapi import FastAPI

from semsearch.serve.gate import OPEN
from semsearch.types import JsonObject

PROBLEM: JsonObject = {
    "title": "Problem",
    "description": "An error, as RFC 9457 has it. Below /v1, `error` repeats it as OpenAI's clients read it.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "fix", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong."},
        "code": {"type": "integer", "description": "The exit code that the command line has for it."},
        "fix": {"type": "string", "description": "What to do next."},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "With 422: the fields that are invalid.",
            "items": {
                "type": "object",
                "required": ["field", "problem"],
                "properties": {"field": {"type": "string"}, "problem": {"type": "string"}},
            },
        },
        "error": {"type": "object"},
    },
}
ERRORS = {
    400: "The request is invalid.",
    401: "There is no valid token.",
    403: "The token has not the right, or the request comes from elsewhere.",
    404: "There is no such index, document or address, or the token may not know of it.",
    408: "The body came too slowly.",
    409: "The index was built with another encoder.",
    413: "The body, or the number of items in it, is too large.",
    422: "A field is missing, unknown or invalid.",
    423: "Another program writes to the index.",
    429: "The client sends too many requests, or too many wrong tokens.",
    500: "The server failed.",
    503: "The server is starting or stopping.",
    504: "The answer took too long.",
}
PUBLIC = (403, 408, 413, 500, 503, 504)  # the errors of addresses that need no token


def describe(app: FastAPI) -> None:
    """Have every operation of `app` list its errors, and the token."""
    plain = app.openapi

    def described() -> JsonObject:
        if app.openapi_schema is None:
            schema = plain()
            components = schema.setdefault("components", {})
            schemas = components.setdefault("schemas", {})
            schemas["Problem"] = PROBLEM
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for path, methods in schema["paths"].items():
                for operation in methods.values():
                    public = path in OPEN
                    operation["security"] = [] if public else [{}, {"token": []}]  # {}: on 127.0.0.1 without tokens
                    for status in PUBLIC if public else ERRORS:
                        operation["responses"][str(status)] = _error(status)
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _error(status: int) -> JsonObject:
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": ERRORS[status], "content": content}
