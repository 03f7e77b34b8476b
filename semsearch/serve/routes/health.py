"""The state of the server, and the page that describes it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from fastapi import APIRouter, Request
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from semsearch.serve.service import CallerDep, ServiceDep, starting
from semsearch.types import JsonObject

router = APIRouter(tags=["server"])
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>semsearch serve</title>
<style>:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem }} pre {{ overflow-x: auto }}</style>
<h1>semsearch serve</h1>
<p>Errors are problem details (RFC 9457). <a href="/openapi.json">openapi.json</a> has all of this for programs.</p>
{operations}</html>
"""


@router.get("/healthz")
async def alive() -> JsonObject:
    """Whether the server answers."""
    return {"status": "ok"}


@router.get("/readyz")
async def ready(service: ServiceDep) -> JsonObject:
    """Whether the encoders are loaded and the folder of indexes can be read; 503 if not, and during shutdown."""
    if not service.ready:
        raise starting()
    await service.read(service.indexes.names)
    return {"status": "ready"}


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: ServiceDep, caller: CallerDep) -> Response:
    """Counters in the text format of Prometheus, with the indexes that the token may know of."""
    page = await service.read(lambda: service.page_of_metrics(caller))
    return Response(page, media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/docs", include_in_schema=False)
async def describe(request: Request) -> HTMLResponse:
    """Every address with its parameters and the fields of its body, without scripts of others."""
    schema = request.app.openapi()
    return HTMLResponse(PAGE.format(operations="\n".join(_operations(schema))))


def _operations(schema: JsonObject) -> Iterator[str]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('description', ''))}</p>"
            fields = [_field(one["name"], one["schema"], one) for one in operation.get("parameters", ())]
            content = operation.get("requestBody", {}).get("content", {})
            for name in _names(content.get("application/json", {}).get("schema", {})):
                fields += [f"<li><b>{escape(name)}</b></li>"]
                properties = schema["components"]["schemas"][name].get("properties", {})
                fields += [_field(field, each, each) for field, each in properties.items()]
            yield f"<ul>{''.join(fields)}</ul>"


def _names(schema: JsonObject) -> list[str]:
    """The bodies that an operation takes."""
    return [one["$ref"].rpartition("/")[2] for one in (schema, *schema.get("oneOf", ())) if "$ref" in one]


def _field(name: str, schema: JsonObject, details: JsonObject) -> str:
    kinds = [one.get("type", "object") for one in schema.get("anyOf", (schema,))]
    default = f", default {schema['default']!r}" if "default" in schema else ""
    text = details.get("description", "")
    return f"<li><code>{escape(name)}</code>: {escape(' or '.join(kinds) + default)}. {escape(text)}</li>"
