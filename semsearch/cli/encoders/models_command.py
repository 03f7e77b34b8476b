"""`models`: list, inspect, download and remove encoders and rerankers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semsearch import export as exporting
from semsearch import settings
from semsearch.cli.lookup import load_encoder, load_reranker
from semsearch.cli.options import (
    ENCODERS,
    EncoderOptions,
    JsonFlag,
    ModelOption,
    YesFlag,
    complete_model,
)
from semsearch.cli.output import console
from semsearch.errors import NotFound
from semsearch.models import hub, local_models, model_folders
from semsearch.models.model_ref import Reference
from semsearch.prompts import SLOT
from semsearch.types import JsonObject

HUB_NAMES = "A name from `models list`, or hf:owner/name[@revision]."
SHOWN = ("size", "licence", "description")


def models_list(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List the encoders and rerankers of the catalogue, which of them are here, and your own."""
    kinds = {
        "encoder": local_models.catalogue() + [_own(one) for one in _saved(ctx.obj.home)],
        "reranker": local_models.rerankers(),
    }
    models = [{**one, "kind": kind} for kind, some in kinds.items() for one in some]
    columns = ("name", "kind", "local", *SHOWN)
    rows = [
        [str({True: "yes", False: ""}.get(one.get(key, ""), one.get(key, ""))) for key in columns] for one in models
    ]
    console.result({"models": models}, lambda: console.table(rows, columns), as_json=as_json)


def _saved(home: Path | None) -> list[JsonObject]:
    return local_models.list_local(local_models.models_dir(home))


def _own(entry: JsonObject) -> JsonObject:
    """A saved encoder as an entry of the catalogue; its folder is its name."""
    what = entry.get("problem") or f"your own, {entry['method']}, for {entry['runs']}"
    size = console.size(entry["bytes"]) if "bytes" in entry else ""
    return {**entry, "name": entry["path"], "local": True, "size": size, "description": what}


def models_info(
    ctx: typer.Context,
    *,
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help=f"Encoder or reranker: {ENCODERS}", autocompletion=complete_model),
    ] = None,
    named: ModelOption = None,
    options: EncoderOptions,
    as_json: JsonFlag = False,
) -> None:
    """Load an encoder or a reranker and show its dimensions, precision and actual device.

    A model that is not on this machine is not downloaded; its catalogue entry is shown.
    """
    name = model or named or settings.load().model
    local = local_models.is_local(name)
    if local and exporting.is_reranker(name) and options == EncoderOptions(device=options.device):
        reranker = load_reranker(name, options.device)
        facts = {**reranker.info, "reference": reranker.reference}
    elif local:
        encoder = load_encoder(ctx.obj, name, options)
        facts = {**encoder.info, "reference": encoder.reference}
    else:
        facts = _catalogue_entry(Reference.parse(name).model)
    console.result({"model": facts}, _readable(facts), as_json=as_json)
    if not local:
        console.note(f"not on this machine; download it: semsearch models pull {facts['name']}")


def models_pull(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help=HUB_NAMES, autocompletion=complete_model)],
    as_json: JsonFlag = False,
) -> None:
    """Download an encoder or a reranker from the hub, or update one that is on this machine.

    Only configuration, tokenizer and safetensors files; never code or pickled files.
    """
    folder = local_models.pull(model)
    if folder is None:
        console.note(f"{model} is part of semsearch: there is nothing to download")
        return
    name, size = str(local_models.on_hub(model)[1]), local_models.size(folder)
    pulled = {"model": name, "path": str(folder), "bytes": size}
    console.result(pulled, f"{folder}  {console.size(size)}", as_json=as_json)


def models_rm(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help=HUB_NAMES, autocompletion=complete_model)],
    yes: YesFlag = False,
) -> None:
    """Remove a hub model from this machine. Other programs may share it."""
    local_models.check_local(model)
    console.confirm(f"Remove {model} from {hub.cache()}?", f"removing {model}", yes=yes)
    console.note(f"removed {model}, {console.size(local_models.remove(model))}")


def _readable(facts: JsonObject) -> dict[str, str]:
    """The fields that have a value, without JSON; a prompt with [X] in place of the text."""
    prompts = {role: SLOT.join(parts) for role, parts in facts.get("prompts", {}).items()}
    same = len(set(prompts.values())) == 1
    lines = {"prompt": next(iter(prompts.values()))} if same else {f"{r} prompt": text for r, text in prompts.items()}
    for name, value in facts.items():
        if isinstance(value, list | tuple):
            lines[name] = ", ".join(map(str, value))
        elif name != "prompts":
            lines[name] = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value or "")
    return {name: line for name, line in lines.items() if line not in ("", SLOT)}


def _catalogue_entry(name: str) -> JsonObject:
    """The catalogue entry of a model that is not on this machine. Raises NotFound if there is none."""
    entry = {**model_folders.rerankers(), **model_folders.catalogue()}.get(name)
    if entry is None:
        raise NotFound(f"{name} is not on this machine.", f"Download it: semsearch models pull {name}")
    return {"name": name, "local": False, **entry}
