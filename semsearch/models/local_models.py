"""Models on this machine: the catalogue, your own encoders, and models of the hub, which can be pulled and removed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from semsearch import settings
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hub, model_folders
from semsearch.models.model_ref import HUB, Reference
from semsearch.models.rerankers import manifest
from semsearch.types import JsonObject

DEPTH = ("*", "*/onnx", "*/seed-*", "*/seed-*/onnx")  # the folders made by `train`, with exports


def catalogue() -> list[JsonObject]:
    """The encoders with a name: name, whether it is on this machine (`local`) with its `bytes`, licence, size …

    Nothing is downloaded or loaded.
    """
    return [{"name": name, **_on_disk(entry), **entry} for name, entry in model_folders.catalogue().items()]


def names(kind: Literal["encoder", "reranker"]) -> list[str]:
    """The names of the catalogue, without a look at the disk."""
    return list(model_folders.catalogue() if kind == "encoder" else model_folders.rerankers())


def rerankers() -> list[JsonObject]:
    """The rerankers with a name, as `catalogue` has encoders."""
    return [{"name": name, **_on_disk(entry), **entry} for name, entry in model_folders.rerankers().items()]


def saved_encoders(folder: str | Path) -> list[Path]:
    """The folders of saved encoders below `folder`, by path. Nothing is loaded or checked."""
    folder = Path(folder).expanduser()
    return sorted({file.parent for each in DEPTH for file in folder.glob(f"{each}/{bundles.MANIFEST}")})


def saved_rerankers(folder: str | Path) -> list[Path]:
    """The folders of exported rerankers below `folder`, by path. Nothing is loaded or checked."""
    folder = Path(folder).expanduser()
    return sorted({file.parent for each in DEPTH for file in folder.glob(f"{each}/{manifest.MANIFEST}")})


def _on_disk(entry: JsonObject) -> JsonObject:
    """Whether an encoder of the catalogue is on this machine, and its bytes. One without files is everywhere."""
    if "hub" in entry:
        folder = model_folders.local(entry["hub"])
        return {"local": folder is not None, "bytes": size(folder) if folder else None}
    return {"local": True, "bytes": size(model_folders.ASSETS / entry["folder"]) if "folder" in entry else 0}


def models_dir(home: Path | None = None) -> Path:
    """The folder for trained and exported encoders: `models`, beside a home of indexes called `indexes`, else in it.

    Without `home` it is that of the settings.
    """
    indexes = settings.home(home).absolute()
    return (indexes.parent if indexes.name == "indexes" else indexes) / "models"


def list_local(folder: str | Path) -> list[JsonObject]:
    """The encoders saved below `folder`, by path: name, path, fingerprint, width, `bytes`, `runs`, `parity` …

    Nothing is loaded. An entry that cannot be read has a `problem` instead.
    """
    folder = Path(folder).expanduser()
    return [_entry(each, each.relative_to(folder).as_posix()) for each in saved_encoders(folder)]


def is_local(model: str) -> bool:
    """Whether `load` would download nothing. A local folder may still be no encoder."""
    named, reference = hub_name(model)
    revision = reference.revision or _entries().get(reference.model, {}).get("revision", "")
    return named is None or model_folders.local(named, revision) is not None


def pull(model: str) -> Path | None:
    """Download the newest version of a hub model, or one revision; its folder, or None for a part of semsearch.

    Configuration, tokenizer and safetensors; never code. Raises UsageError if it is no model of the hub, NotFound if
    it cannot be downloaded.
    """
    named, reference = on_hub(model)
    return None if named is None else model_folders.pull(named, reference.revision)


def remove(model: str) -> int:
    """Remove a hub model from this machine, for other programs too; the number of bytes freed.

    Raises UsageError if it is no model of the hub, NotFound if it is not on this machine.
    """
    return hub.remove(*check_local(model))


def check_local(model: str) -> tuple[str, str]:
    """The hub name and the revision of a model on this machine. Raises UsageError, NotFound."""
    named, reference = on_hub(model)
    if named is None:
        raise UsageError(f"{model} is part of semsearch.", "Only models of the hub can be removed.")
    if not hub.is_cached(named):
        raise NotFound(
            f"hf:{named} is not on this machine.",
            "Encoder.list_local() lists those that are.",
            "See: semsearch models list",
        )
    return named, reference.revision


def on_hub(model: str) -> tuple[str | None, Reference]:
    """The hub name of `model`, None if it is a part of semsearch. Raises UsageError for anything else."""
    named, reference = hub_name(model)
    if named is None and reference.model not in _entries():
        raise UsageError(
            f"{model} is not a model of the hub.",
            "Use hf:owner/name, or see Encoder.catalogue().",
            "Use hf:owner/name, or see: semsearch models list",
        )
    return named, reference


def hub_name(model: str) -> tuple[str | None, Reference]:
    """The hub name of `model`, None if it is no model of the hub, and `model` as a reference."""
    reference = Reference.parse(model)
    if reference.model.startswith(HUB):
        return reference.model.removeprefix(HUB), reference
    return _entries().get(reference.model, {}).get("hub"), reference


def _entries() -> dict[str, JsonObject]:
    """Everything with a name."""
    return {**model_folders.rerankers(), **model_folders.catalogue()}


def size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _entry(folder: Path, name: str) -> JsonObject:
    entry: JsonObject = {"name": name, "path": str(folder)}
    try:
        bundle = bundles.read(folder)
        shown = ("fingerprint", "method", "dim", "max_tokens", "precision", "licence")
        return entry | {
            **{key: getattr(bundle, key) for key in shown},
            "runs": "onnx" if bundle.weights.endswith(bundles.ONNX) else "torch",
            "bytes": sum(each.stat().st_size for each in bundle.files() if each.is_file()),
            "parity": dict(bundle.parity),
            "trained": dict(bundle.origin.get("trained", {})),
        }
    except (SemsearchError, OSError, ValueError, TypeError, AttributeError) as error:  # damage has any type
        return entry | {"problem": str(error)}
