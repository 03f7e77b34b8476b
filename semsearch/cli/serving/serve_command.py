"""`serve`: the HTTP server. This process is replaced by the one that serves, `python -m semsearch.serve`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from semsearch import settings
from semsearch.cli.lookup import use_device
from semsearch.cli.options import RERANKERS, DeviceOption, Options, complete_encoder, complete_reranker, value
from semsearch.cli.serving.own_process import become
from semsearch.errors import MissingExtra, UsageError
from semsearch.utils.web.visitors import HERE

PORT = 8765
NEEDED = ("fastapi", "prometheus_client", "uvicorn")
TOKEN = (
    "Variable of the environment with a token, what it may do (read, write, admin) and in which indexes; repeatable."
)


def serve(
    ctx: typer.Context,
    host: Annotated[str, value("ADDRESS", "Address to listen at; any but the default needs a token.")] = HERE,
    port: Annotated[int, value("N", "Port.", min=1, max=65535)] = PORT,
    token_env: Annotated[list[str] | None, value("NAME[:RIGHT[:INDEX,…]]", TOKEN)] = None,
    allow_host: Annotated[
        list[str] | None, value("HOST", "Name, with its port if not 80 or 443, by which a proxy asks; repeatable.")
    ] = None,
    cors: Annotated[list[str] | None, value("ORIGIN", "Pages of this origin may ask too; repeatable.")] = None,
    model: Annotated[
        list[str] | None,
        value(
            "MODEL",
            "Encoder for /embed and /sts; the first is the default.",
            "-m",
            "--model",
            autocompletion=complete_encoder,
        ),
    ] = None,
    reranker: Annotated[
        str | None, value("MODEL", f"Reranker for /rerank and searches: {RERANKERS}", autocompletion=complete_reranker)
    ] = None,
    max_body: Annotated[int, value("MB", "Largest body of a request.", min=1, max=1024)] = 16,
    max_batch: Annotated[int, value("N", "Most queries, documents or texts of a request.", min=1)] = 1000,
    timeout: Annotated[int, value("S", "Seconds that an answer may take.", min=1)] = 60,
    most_open: Annotated[int, value("N", "Indexes that stay open; the least recently used is closed.", min=1)] = 16,
    rate: Annotated[float, value("N", "Requests a second of each client (token or address); 0: any.", min=0)] = 0,
    proxy: Annotated[
        list[str] | None, value("ADDRESS", "Address of a proxy whose X-Forwarded-For is believed; repeatable.")
    ] = None,
    device: DeviceOption = None,
) -> None:
    """Answer HTTP requests: search, write, encode, compare.

    Exposed are all indexes of the home of indexes, to read and to write, and the encoders of --model: /indexes and
    below, /embed, /sts, /rerank, and /v1 for clients of OpenAI, Cohere and Jina. GET /docs on the server describes each
    address and its fields. Files of this machine are not exposed, and a client can have no model loaded.

    Without a token every program on this machine has access; pages in a browser have none. TLS is left to a proxy:
    pass on Host, name it with --allow-host, and the address of the proxy with --proxy.
    SIGTERM and Ctrl-C end the server after the requests that it has begun.
    """
    options: Options = ctx.obj
    if not all(map(find_spec, NEEDED)):
        raise MissingExtra("`semsearch serve`", "cpu,serve", "FastAPI")
    for origin in cors or ():
        if "://" not in origin or origin.endswith("/"):
            raise UsageError(f"{origin!r} is not an origin.", "For example: --cors https://app.example.org")
    use_device(device)
    chosen = settings.load()
    server_options = {
        "home": str(options.folder().resolve()),
        "host": host,
        "port": port,
        "tokens": token_env or (),
        "allow_hosts": allow_host or (),
        "cors": cors or (),
        "models": list(dict.fromkeys(model or [chosen.model])),
        "reranker": reranker,
        "max_body_mb": max_body,
        "max_batch": max_batch,
        "seconds": timeout,
        "most_open": most_open,
        "rate": rate,
        "proxies": proxy or (),
    }
    become("semsearch.serve", server_options)
