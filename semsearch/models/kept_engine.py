"""The engine of a model that was the fastest one on this machine: an ONNX export in the user's cache folder.

`semsearch bench --keep` writes it. It has the fingerprint of its model, so it gives the same vectors; without the
folder the model runs as before.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from semsearch.errors import SemsearchError
from semsearch.models import bundle as bundles
from semsearch.models.bundle import Bundle
from semsearch.utils import user_cache


def folder(fingerprint: str, device: str) -> Path:
    """Where the export of the model with this fingerprint is kept, if it is, for runs with `--device` so."""
    return user_cache.folder() / "engines" / f"{fingerprint}-{device.replace(':', '-')}"


def find(bundle: Bundle, device: str) -> Bundle | None:
    """The kept export of a model in PyTorch, under the model's name; None where there is none that can run."""
    kept = folder(bundle.fingerprint, device)
    if not (kept / bundles.MANIFEST).is_file() or find_spec("onnxruntime") is None:
        return None
    with suppress(SemsearchError):  # of another version, or damaged: the model itself runs
        found = bundles.read(kept)
        if found.fingerprint == bundle.fingerprint:
            return replace(found, name=bundle.name)
    return None


def forget(fingerprint: str, device: str) -> None:
    """Run the model itself from now on."""
    shutil.rmtree(folder(fingerprint, device), ignore_errors=True)
