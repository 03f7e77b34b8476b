"""A model and what is done behind its method as one folder for Torch: the model's own files, encoder.json, post/.

The weights are copied as they are, so the fingerprint is that of the encoder it is made of.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semsearch.models import bundle as bundles
from semsearch.models import postprocessing, safetensors_files
from semsearch.models.networks import post as steps

if TYPE_CHECKING:
    from semsearch.models.bundle import Bundle

COPIED = ("*.json", "*.txt", "*.model", "*.safetensors", "*.py", "README.md", "LICENSE*", "NOTICE*")
CONFIG = "config.json"  # a folder in the model's that has none is no module of it
OTHERS = (postprocessing.FOLDER, "run")  # what this encoder was fitted and trained by is written anew, or not at all


def made(engine: Any, place: Path) -> Bundle:
    """Write the files of `engine` into `place`; their manifest."""
    source: Bundle = engine.bundle
    shutil.copytree(source.folder, place, ignore=_spare, dirs_exist_ok=True)
    if engine.post is not None:
        steps.save(engine.post, place)
    if not Path(source.tokenizer).is_absolute():
        return replace(source, folder=place)
    shutil.copy(source.path("tokenizer"), place / bundles.TOKENIZER)  # one that was converted lies elsewhere
    known = safetensors_files.identity(place / bundles.TOKENIZER)
    return replace(source, tokenizer=bundles.TOKENIZER, tokenizer_sha256=known, folder=place)


def _spare(folder: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if not _is_part(Path(folder, name))]


def _is_part(path: Path) -> bool:
    if path.is_dir():
        return path.name not in OTHERS and (path / CONFIG).is_file()
    return path.name != bundles.MANIFEST and any(fnmatch(path.name, pattern) for pattern in COPIED)
