"""Local cache of the Hugging Face hub, shared with every other program: what is in it, read without the network.

HF_HOME sets the place of the cache, as usual.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from semsearch import settings
from semsearch.errors import UsageError

NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def known(name: str) -> bool:
    """Whether the cache has anything of a model."""
    check_name(name)
    return _folder(name).is_dir()


def cache() -> Path:
    """The folder in which every program keeps what it fetched from the hub."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser()
    usual = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(os.environ.get("HF_HOME") or usual).expanduser() / "hub"


def commit(folder: Path) -> str:
    """The commit that a folder of the cache holds, or ""."""
    return folder.name if re.fullmatch(r"[0-9a-f]{40}", folder.name) else ""


def offline() -> bool:
    """Whether the network is off: by a flag, a setting, or HF_HUB_OFFLINE."""
    return settings.load().offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _folder(name: str) -> Path:
    return cache() / f"models--{name.replace('/', '--')}"


def snapshot(name: str, revision: str = "") -> Path | None:
    """The folder of a revision in the cache, complete or not; None where it is absent. Never uses the network."""
    check_name(name)
    folder = _folder(name)
    wanted = revision or "main"
    try:
        wanted = (folder / "refs" / wanted).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        if not re.fullmatch(r"[0-9a-f]{40}", wanted):
            return None
    snapshot = folder / "snapshots" / wanted
    return snapshot if snapshot.is_dir() else None


def check_name(name: str) -> None:
    """Raises UsageError for what cannot be the name of a model of the hub."""
    if not NAME.fullmatch(name):
        raise UsageError(f"hf:{name} is not the name of a model.", "Use hf:owner/name, or hf:owner/name@revision.")


def hub_id(name: str, revision: str) -> str:
    """The reference of a model of the hub."""
    return f"hf:{name}@{revision}" if revision else f"hf:{name}"
