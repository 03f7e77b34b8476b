"""The PyTorch export: the model's own files, encoder.json and post/ (post-processing) in one folder.

The weights are copied unchanged, so the fingerprint is that of the source encoder.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from semsearch.encoders.torch_backend import TorchBackend
from semsearch.models import bundle as bundles
from semsearch.models import postprocessing, safetensors_files
from semsearch.models.bundle import Bundle
from semsearch.models.networks import post as steps

COPIED = ("*.json", "*.txt", "*.model", "*.safetensors", "*.py", "README.md", "LICENSE*", "NOTICE*")
CONFIG = "config.json"  # only subfolders with a config are modules of the model
EXCLUDED = (postprocessing.FOLDER, "run")  # post-processing is written anew, the training run is not copied


def write(backend: TorchBackend, place: Path) -> Bundle:
    """Write the files of `backend` into the folder `place`; return the manifest."""
    source = backend.bundle
    shutil.copytree(source.folder, place, ignore=_ignored, dirs_exist_ok=True)
    if backend.post is not None:
        steps.save(backend.post, place)
    if not Path(source.tokenizer).is_absolute():
        return replace(source, folder=place)
    shutil.copy(source.path("tokenizer"), place / bundles.TOKENIZER)  # a converted tokenizer is in a cache
    digest = safetensors_files.identity(place / bundles.TOKENIZER)
    return replace(source, tokenizer=bundles.TOKENIZER, tokenizer_sha256=digest, folder=place)


def _ignored(folder: str, names: Sequence[str]) -> list[str]:
    paths = [Path(folder, name) for name in names]
    modules = [path.name for path in paths if path.name not in EXCLUDED and (path / CONFIG).is_file()]
    files = [path.name for path in paths if path.is_file() and any(fnmatch(path.name, each) for each in COPIED)]
    return [name for name in names if name not in (*modules, *files) or name == bundles.MANIFEST]
