"""`mcp`: the server for assistants. This process becomes the one that serves, `python -m semsearch.serve.mcp`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

import semsearch
from semsearch.cli.lookup import existing_index, use_device
from semsearch.cli.options import DeviceOption, Options, complete_index, flag, late, value
from semsearch.cli.output import console
from semsearch.cli.serving.own_process import become
from semsearch.errors import MissingExtra, UnknownName, UsageError
from semsearch.types import JsonObject
from semsearch.utils.web.visitors import HERE

PORT = 8766
NEEDED = ("fastapi", "mcp", "prometheus_client", "uvicorn")
SETTINGS = "Settings of an assistant"  # a heading of --help
USUAL = {"--max-tokens": 8000, "--timeout": 60}
TRANSPORTS = ("stdio", "http")
TOKEN = "Variable of the environment with a token, what it may do (read, write) and in which indexes; repeatable."


def mcp(
    ctx: typer.Context,
    transport: Annotated[str, value("KIND", "stdio, which assistants start themselves, or http.")] = "stdio",
    name: Annotated[
        list[str] | None,
        value("NAME", "Only this index; repeatable.", "-n", "--name", autocompletion=complete_index),
    ] = None,
    allow_write: Annotated[bool, flag("--allow-write", "Add, change and delete documents too.")] = False,
    max_tokens: Annotated[int, value("N", "Longest answer, in tokens.", min=1000, max=100_000)] = USUAL["--max-tokens"],
    timeout: Annotated[int, value("S", "Seconds that an answer may take.", min=1)] = USUAL["--timeout"],
    host: Annotated[str, value("ADDRESS", "http: address to listen at; any but the default needs a token.")] = HERE,
    port: Annotated[int, value("N", "http: port.", min=1, max=65535)] = PORT,
    token_env: Annotated[list[str] | None, value("NAME[:RIGHT[:INDEX,…]]", f"http: {TOKEN}")] = None,
    allow_host: Annotated[
        list[str] | None,
        value("HOST", "http: name, with its port if not 80 or 443, as a proxy sends it; repeatable."),
    ] = None,
    rate: Annotated[float, value("N", "http: requests a second of each client; 0: any.", min=0)] = 0,
    proxy: Annotated[
        list[str] | None, value("ADDRESS", "http: address of a proxy whose X-Forwarded-For is believed; repeatable.")
    ] = None,
    device: DeviceOption = None,
    install: Annotated[
        str | None, value("ASSISTANT", "Write this command into the settings of an assistant.", heading=SETTINGS)
    ] = None,
    remove: Annotated[str | None, value("ASSISTANT", "Remove it from there.", heading=SETTINGS)] = None,
    only_print: Annotated[
        bool, flag("--print", "Only print what would be written or removed, and where.", heading=SETTINGS)
    ] = False,
) -> None:
    """Let assistants search your indexes (Model Context Protocol).

    --install writes this server, with the other options, into the settings of an assistant, for most of them with a
    skill that says how to ask: claude (Claude Code), claude-desktop, codex, cursor, gemini, lm-studio, vscode, windsurf
    or zed.

    An assistant such as Claude, Cursor or Zed starts this command and gets the tools search, get, similar, list_indexes
    and index_status; with --allow-write also add_documents, update_document and delete_documents. It sees all indexes
    of the home of indexes, or those of -n, and no other file. docs/mcp.md says more about their settings.

    With --transport http the server answers at http://127.0.0.1:8766/mcp, for several assistants at once. There, as for
    `semsearch serve`, pages in a browser have no access, and any other address needs a token.
    """
    options: Options = ctx.obj
    if not all(map(find_spec, NEEDED)):
        raise MissingExtra("`semsearch mcp`", "cpu,mcp", "the package mcp")
    if transport not in TRANSPORTS:
        raise UnknownName("transport", transport, TRANSPORTS)
    if transport == "stdio" and (token_env or allow_host or proxy or host != HERE):
        raise UsageError("stdio has no address, and no tokens.", "Add --transport http, or leave these options out.")
    only = [_in_home(options, one) for one in name or ()]
    if install is not None or remove is not None or only_print:
        if (install is None) == (remove is None):
            raise UsageError("--install and --remove exclude each other, and --print is for one of them.", "Pass one.")
        if transport != "stdio":
            raise UsageError("an assistant starts the server of --install itself.", "Leave out --transport.")
        if remove is not None:
            late("serving.assistant_settings.remove")(remove, only_print=only_print)
        else:
            given = {"-n": only, "--max-tokens": max_tokens, "--timeout": timeout, "--device": device}
            flags = [*_flags(given), *["--allow-write"] * allow_write]
            late("serving.assistant_settings.install")(options, install, flags, only_print=only_print)
        return
    if not semsearch.admin.names(options.folder()):
        console.note(
            f"there is no index in {options.folder()} yet. Make one, and this server has it: semsearch index FOLDER"
        )
    use_device(device)
    become(
        "semsearch.serve.mcp",
        {
            "home": str(options.folder().resolve()),
            "host": host,
            "port": port,
            "tokens": token_env or (),
            "allow_hosts": allow_host or (),
            "seconds": timeout,
            "rate": rate,
            "proxies": proxy or (),
            "transport": transport,
            "only": only,
            "allow_write": allow_write,
            "token_limit": max_tokens,
        },
    )


def _flags(given: JsonObject) -> list[str]:
    """The options that are not as usual, as words."""
    chosen = {name: value for name, value in given.items() if value not in (None, USUAL.get(name))}
    return [
        word
        for name, value in chosen.items()
        for each in (value if isinstance(value, list) else [value])
        for word in (name, str(each))
    ]


def _in_home(options: Options, name: str) -> str:
    """The name of an index of the home of indexes. Raises NotFound; UsageError for an index elsewhere."""
    folder = existing_index(options, name)
    if folder.parent.resolve() != options.folder().resolve():
        raise UsageError(f"{folder} is not in {options.folder()}.", f"Pass --home {folder.parent} -n {folder.name}.")
    return folder.name
