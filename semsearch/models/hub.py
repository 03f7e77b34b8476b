"""Models of the Hugging Face hub: fetched once into its usual cache, and read from there without a network.

A model that is here is never looked up again; `models pull` asks for a newer one. What is fetched is configuration,
tokenizer and safetensors, and ONNX only where encoder.json says that it is an exported encoder: nothing that is code
or pickled. The address of the hub and the place of its cache are HF_ENDPOINT and HF_HOME, as for every other program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from semsearch import settings
from semsearch.errors import NotFound, SemsearchError, UsageError

NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
WANTED = ("*.json", "*.txt", "*.model", "*.safetensors", "README.md")
EXPORTED = ("*.onnx", "*.onnx.data")
NEVER = ("consolidated*", "original/*", "openvino/*", "onnx/*", "*.py", "*.bin", "*.msgpack", "*.h5")
CONVERTER = "https://huggingface.co/spaces/safetensors/convert"


def fetch(name: str, revision: str = "") -> Path:
    """The folder of the model `name` (owner/name), fetched where it is not here.

    Raises NotFound where it cannot be had: unknown, not allowed, no network, offline.
    """
    found = local(name, revision)
    if found is not None:
        return found
    if offline():
        raise NotFound(
            f"{_said(name, revision)} is not on this machine, and the network is not to be used.",
            f"Fetch it once without --offline: semsearch models pull {_said(name, revision)}",
        )
    return pull(name, revision)


def local(name: str, revision: str = "") -> Path | None:
    """The folder of a model that is here and whole, or None. Never uses the network."""
    _checked(name)
    folder = _snapshot(name, revision)
    return folder if folder is not None and _whole(folder) else None


def known(name: str) -> bool:
    """Whether anything of a model is in the cache."""
    _checked(name)
    return _kept(name).is_dir()


def pull(name: str, revision: str = "") -> Path:
    """Fetch the newest of a model, or this revision of it, with progress on stderr."""
    _checked(name)
    if offline():
        raise NotFound(f"hf:{name} cannot be fetched: the network is not to be used.", "Leave out --offline.")
    from huggingface_hub import snapshot_download

    def download(more: tuple[str, ...]) -> Path:
        patterns = [*WANTED, *more]
        return Path(
            snapshot_download(
                name,
                revision=revision or None,
                allow_patterns=patterns,
                ignore_patterns=[*NEVER],
                cache_dir=cache(),
                endpoint=os.environ.get("HF_ENDPOINT"),
            )
        )

    with _told(name, revision):
        folder = download(())
        folder = download(EXPORTED) if (folder / "encoder.json").is_file() else folder
        if not _whole(folder):
            _refuse(name, revision, folder)
    return folder


def remove(name: str, revision: str = "") -> int:
    """Take a model out of the hub's cache, all of its revisions or one; how many bytes that freed. Raises NotFound."""
    _checked(name)
    from huggingface_hub import scan_cache_dir

    with _told(name, revision):
        found = scan_cache_dir(cache())
    repos = [repo for repo in found.repos if repo.repo_id == name and repo.repo_type == "model"]
    kept = [each for repo in repos for each in repo.revisions]
    doomed = [each.commit_hash for each in kept if not revision or revision in (each.commit_hash, *each.refs)]
    if not doomed:
        raise NotFound(f"{_said(name, revision)} is not on this machine.", "See: semsearch models list")
    strategy = found.delete_revisions(*doomed)
    strategy.execute()
    return int(strategy.expected_freed_size)


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
    """Whether the network is not to be used, by a flag, a setting, or the variable of the hub itself."""
    return settings.load().offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _kept(name: str) -> Path:
    return cache() / f"models--{name.replace('/', '--')}"


def _snapshot(name: str, revision: str) -> Path | None:
    """Where the cache has this revision, whole or not."""
    folder = _kept(name)
    wanted = revision or "main"
    try:
        wanted = (folder / "refs" / wanted).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        if not re.fullmatch(r"[0-9a-f]{40}", wanted):
            return None
    snapshot = folder / "snapshots" / wanted
    return snapshot if snapshot.is_dir() else None


def _whole(folder: Path) -> bool:
    """Whether nothing is missing to run what is in `folder`: a download may have been cut off."""
    from semsearch.models import bundle, hf_config

    try:
        if (folder / bundle.MANIFEST).is_file():
            return all(file.is_file() for file in bundle.read(folder).files())
        hf_config.check_whole(folder)
    except SemsearchError:
        return False
    return True


def _refuse(name: str, revision: str, folder: Path) -> None:
    """Say why what was fetched does not make a model."""
    from huggingface_hub import HfApi

    files = HfApi(endpoint=os.environ.get("HF_ENDPOINT")).list_repo_files(name, revision=revision or None)
    pickled = sorted(file for file in files if re.fullmatch(r"pytorch_model.*\.bin|[^/]*\.(ckpt|pt|pth)", file))
    if pickled and not any(file.endswith(".safetensors") for file in files):
        raise NotFound(
            f"{_said(name, revision)} has pickled weights only ({pickled[0]}), which are not read.",
            f"Have it converted at {CONVERTER} and say hf:{name}@refs/pr/N, or convert it in a folder of its own.",
        )
    from semsearch.models import hf_config

    hf_config.check_whole(folder)
    raise NotFound(f"{_said(name, revision)} is no model that is run here.", "Name another model.")


@contextmanager
def _told(name: str, revision: str) -> Iterator[None]:
    """Whatever goes wrong with the hub or its cache, as one line."""
    from huggingface_hub import errors

    reasons: tuple[tuple[type[Exception], str, str], ...] = (
        (errors.GatedRepoError, "is for those who accepted its terms", "Accept them on its page, then: hf auth login"),
        (errors.RepositoryNotFoundError, "is not on the hub, or is private", "Check the spelling, or: hf auth login"),
        (errors.RevisionNotFoundError, "has no such revision", "Name a branch, a tag or a commit."),
    )
    try:
        yield
    except SemsearchError:
        raise
    except Exception as error:  # the hub's client, its HTTP library and the disk raise classes of their own
        for kind, reason, fix in reasons:
            if isinstance(error, kind):
                raise NotFound(f"{_said(name, revision)} {reason}.", fix) from error
        detail = " ".join(str(error.__cause__ or error).split())[:200] or type(error).__name__
        raise NotFound(
            f"{_said(name, revision)} could not be fetched: {detail}.", "Check the network, and try again."
        ) from error


def _checked(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(
            f"hf:{name} is no name of a model on the hub.", "Write hf:owner/name, or hf:owner/name@revision."
        )


def _said(name: str, revision: str) -> str:
    return f"hf:{name}@{revision}" if revision else f"hf:{name}"
