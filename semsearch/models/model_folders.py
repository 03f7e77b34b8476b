"""Model folders: found by a name of the catalogue, an id of the hub, or a path.

A downloaded model of the hub is used without contacting the hub again; `models pull` fetches the newest version. The
engine of a model that was the fastest one on this machine is an ONNX export in the user's cache folder, written by
`semsearch bench --keep`. It has the fingerprint of its model, so it gives the same vectors; without it the model runs
as before.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from semsearch.errors import NotFound, SemsearchError
from semsearch.models import bundle, hub
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import HUB
from semsearch.models.rerankers import manifest
from semsearch.types import JsonObject
from semsearch.utils import user_cache

ASSETS = Path(__file__).parent / "assets"
SUCCESSORS = {"cot-minilm": "default"}  # of encoders that came with semsearch once, for indexes that name them


def catalogue() -> dict[str, JsonObject]:
    """Every encoder with a name: its licence, size, source and template."""
    content: dict[str, JsonObject] = json.loads((ASSETS / "catalogue.json").read_text(encoding="utf-8"))
    return content


def rerankers() -> dict[str, JsonObject]:
    """Every reranker with a name, as in `catalogue`."""
    content: dict[str, JsonObject] = json.loads((ASSETS / "rerankers.json").read_text(encoding="utf-8"))
    return content


def find(name: str | Path, revision: str = "") -> Path:
    """The folder of the model called `name`: a name of the catalogue, hf:owner/name, or a path.

    A model of the hub is downloaded if necessary. Raises NotFound, which suggests similar names.
    """
    return _find(str(name), catalogue(), "encoder", revision)


def find_reranker(name: str | Path, revision: str = "") -> Path:
    """The folder of the reranker called `name`, as `find` does. Raises NotFound."""
    return _find(str(name), rerankers(), "reranker", revision)


def _find(name: str, entries: dict[str, JsonObject], kind: str, revision: str) -> Path:
    entry = entries.get(name, {})
    if entry.get("folder"):
        return ASSETS / str(entry["folder"])
    if on_hub := entry.get("hub") or (name.removeprefix(HUB) if name.startswith(HUB) else ""):
        return fetch(on_hub, revision or entry.get("revision", ""))
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if kind == "encoder" and name in SUCCESSORS:
        raise NotFound(f"{name} does not come with semsearch any more.", f"Use {SUCCESSORS[name]}.")
    if "/" in name or name.startswith((".", "~")):
        raise _no_folder(name, folder)
    raise NotFound(
        f"no {kind} is called {name!r}.",
        f"{_similar(name, [*entries, *_beside(folder)])}Choose from: {', '.join(sorted(entries))}, "
        "a folder, or hf:owner/name.",
    )


def _no_folder(name: str, folder: Path) -> NotFound:
    """The error for a path that does not exist, with a similar name beside it."""
    hint = _similar(folder.name, _beside(folder), folder.parent)
    on_hub = f" A model of the hub is written {HUB}{name}." if re.fullmatch(r"[\w-]+/[\w.-]+", name) else ""
    return NotFound(
        f"there is no folder {name}.",
        f"{hint}Check the path.{on_hub}",
        f"{hint}Check the path, or see: semsearch models list.{on_hub}",
    )


def _similar(name: str, names: list[str], parent: Path = Path()) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {str(parent / near[0])!r}? " if near else ""


def _beside(folder: Path) -> list[str]:
    """Names of the folders beside `folder`."""
    try:
        return [each.name for each in folder.parent.iterdir() if not each.name.startswith(".") and each.is_dir()][:200]
    except OSError:
        return []


def fetch(name: str, revision: str = "") -> Path:
    """The folder of a model of the hub (owner/name), downloaded if necessary.

    Raises NotFound if it is unknown, access is denied, or the network is off or fails.
    """
    if (folder := local(name, revision)) is not None:
        return folder
    if hub.offline():
        model = hub.hub_id(name, revision)
        raise NotFound(
            f"{model} is not on this machine and cannot be downloaded in offline mode.",
            f"Fetch it once with the network: Encoder.pull({model!r}).",
            f"Fetch it once without --offline: semsearch models pull {model}",
        )
    return pull(name, revision)


def on_this_machine(name: str, revision: str = "") -> Path | None:
    """The folder of a reranker by its name, or of a model by its hub id or path; None where it is not here."""
    if name.startswith(HUB):
        return local(name.removeprefix(HUB), revision)
    if on_hub := rerankers().get(name, {}).get("hub"):
        return local(on_hub, revision)
    folder = Path(name).expanduser()
    return folder if folder.is_dir() and name not in catalogue() else None


def local(name: str, revision: str = "") -> Path | None:
    """The folder of a model of the hub that is on this machine and complete, else None. Never uses the network."""
    folder = hub.snapshot(name, revision)
    try:
        if folder is not None:
            check_complete(folder)
    except SemsearchError:
        return None
    return folder


def pull(name: str, revision: str = "") -> Path:
    """Download the newest version of a model of the hub, or one revision of it. Raises NotFound."""
    folder = hub.download(name, revision)
    try:
        check_complete(folder)
    except SemsearchError:
        hub.check_safetensors(name, revision)
        raise
    return folder


def check_complete(folder: Path) -> None:
    """Raises NotFound if a required file is missing, as after an interrupted download, Corrupt if one is damaged."""
    saved = (folder / bundle.MANIFEST).is_file()
    if saved or manifest.is_saved(folder):
        files = bundle.read(folder).files() if saved else manifest.read(folder).files()
        if missing := [file for file in files if not file.is_file()]:
            raise NotFound(f"{folder} lacks {missing[0].relative_to(folder)}.", "Copy or download the whole model.")
        return
    from semsearch.models import hf_config  # the template library, which the default encoder does not need

    hf_config.check_complete(folder)


def engine_folder(fingerprint: str, device: str) -> Path:
    """Where the export of the model with this fingerprint is kept, if it is, for runs with `--device` so."""
    return user_cache.folder() / "engines" / f"{fingerprint}-{device.replace(':', '-')}"


def kept_engine(model: Bundle, device: str) -> Bundle | None:
    """The kept export of a model in PyTorch, under the model's name; None where there is none that can run."""
    kept = engine_folder(model.fingerprint, device)
    if not (kept / bundle.MANIFEST).is_file() or find_spec("onnxruntime") is None:
        return None
    with suppress(SemsearchError):  # of another version, or damaged: the model itself runs
        export = bundle.read(kept)
        if export.fingerprint == model.fingerprint:
            return replace(export, name=model.name)
    return None


def forget_engine(fingerprint: str, device: str) -> None:
    """Run the model itself from now on."""
    shutil.rmtree(engine_folder(fingerprint, device), ignore_errors=True)
