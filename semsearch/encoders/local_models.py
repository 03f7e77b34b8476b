"""The models of this machine: those that lie in a folder of folders, and those of the hub, fetched and removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semsearch import settings
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hub
from semsearch.models.model_ref import HUB, Reference

USUAL = "indexes"  # the name of a home of indexes that is not one's own choice
DEPTH = ("*", "*/onnx", "*/seed-*", "*/seed-*/onnx")  # what `train` makes, with its exports


def home() -> Path:
    """The folder `models` beside the home of indexes where that is called `indexes`, else inside it."""
    indexes = settings.home().absolute()
    return (indexes.parent if indexes.name == USUAL else indexes) / "models"


def saved(folder: Path) -> list[dict[str, Any]]:
    """The encoders with a manifest in the folders of `folder`, by path. What cannot be read says so in `problem`."""
    found = sorted({file.parent for each in DEPTH for file in folder.glob(f"{each}/{bundles.MANIFEST}")})
    return [_told(each, each.relative_to(folder).as_posix()) for each in found]


def here(model: str) -> bool:
    """Whether nothing has to be fetched for it."""
    named, reference = hub_name(model)
    revision = reference.revision or bundles.catalogue().get(reference.model, {}).get("revision", "")
    return named is None or hub.local(named, revision) is not None


def pull(model: str) -> Path | None:
    """Fetch the newest of a model of the hub, or of one revision; its folder. None for what is part of semsearch.

    Raises UsageError for what is no model of the hub, NotFound where it cannot be had.
    """
    named, reference = on_hub(model)
    return None if named is None else hub.pull(named, reference.revision)


def remove(model: str) -> int:
    """Take a model of the hub off this machine, for other programs too; how many bytes that freed.

    Raises UsageError for what is no model of the hub, NotFound where it is not here.
    """
    named, revision = check_here(model)
    return hub.remove(named, revision)


def check_here(model: str) -> tuple[str, str]:
    """The hub's name of a model that is here, and the revision that is meant. Raises UsageError, NotFound."""
    named, reference = on_hub(model)
    if named is None:
        raise UsageError(f"{model} is part of semsearch.", "Only models of the hub can be removed.")
    if not hub.known(named):
        raise NotFound(f"hf:{named} is not on this machine.", "See: semsearch models list")
    return named, reference.revision


def on_hub(model: str) -> tuple[str | None, Reference]:
    """The hub's name of `model`, None where it is part of semsearch. Raises UsageError for anything else."""
    named, reference = hub_name(model)
    if named is None and reference.model not in bundles.catalogue():
        raise UsageError(f"{model} is no model of the hub.", "Say hf:owner/name, or a name of: semsearch models list")
    return named, reference


def hub_name(model: str) -> tuple[str | None, Reference]:
    """The hub's name of `model`, None where it is somewhere else, and what else `model` says."""
    reference = Reference.parse(model)
    if reference.model.startswith(HUB):
        return reference.model.removeprefix(HUB), reference
    return bundles.catalogue().get(reference.model, {}).get("hub"), reference


def size(folder: Path) -> int:
    """Bytes of all that lies in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _told(folder: Path, name: str) -> dict[str, Any]:
    told = {"name": name, "path": str(folder)}
    try:
        return {**told, **_shown(bundles.read(folder))}
    except (SemsearchError, OSError, ValueError, TypeError, AttributeError) as error:  # damage has any type
        return {**told, "problem": str(error)}


def _shown(bundle: bundles.Bundle) -> dict[str, Any]:
    shown = {
        key: getattr(bundle, key) for key in ("fingerprint", "method", "dim", "max_tokens", "precision", "licence")
    }
    weights = [each for each in bundle.files() if each.is_file()]
    return {
        **shown,
        "runs": "onnx" if bundle.weights.endswith(bundles.ONNX) else "torch",
        "bytes": sum(each.stat().st_size for each in weights),
        "parity": dict(bundle.parity),
        "trained": dict(bundle.origin.get("trained", {})),
    }
