"""Models of the Hugging Face hub: its cache, shared with every other program, and downloads into it.

Configuration, tokenizer and safetensors are downloaded; ONNX if encoder.json or reranker.json marks an export, if there
are no safetensors, or where PyTorch, which runs those, is not installed. Never code or pickles. HF_ENDPOINT sets the
address of the hub and HF_HOME the place of the cache, as usual.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from semsearch import settings
from semsearch.errors import NotFound, SemsearchError, UsageError

NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
COMMIT = re.compile(r"[0-9a-f]{40}")
PATTERNS = ["*.json", "*.txt", "*.model", "*.safetensors", "README.md"]
EXPORTED = ["*.onnx", "*.onnx.data"]
NEVER = ["consolidated*", "original/*", "openvino/*", "onnx/*", "*.py", "*.bin", "*.msgpack", "*.h5"]
HUB = "https://huggingface.co"
CONVERTER = f"{HUB}/spaces/safetensors/convert"


def cache() -> Path:
    """The folder in which every program stores its downloads from the hub."""
    if chosen := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(chosen).expanduser()
    usual = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(os.environ.get("HF_HOME") or usual).expanduser() / "hub"


def is_cached(name: str) -> bool:
    """Whether the cache has any file of a model."""
    return _folder(name).is_dir()


def snapshot(name: str, revision: str = "") -> Path | None:
    """The folder of a revision in the cache, complete or not; None if there is none. Never uses the network."""
    folder, commit = _folder(name), revision or "main"
    try:
        commit = (folder / "refs" / commit).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        if not COMMIT.fullmatch(commit):
            return None
    snapshot = folder / "snapshots" / commit
    return snapshot if snapshot.is_dir() else None


def commit(folder: Path) -> str:
    """The commit in a folder of the cache, or ""."""
    return folder.name if COMMIT.fullmatch(folder.name) else ""


def offline() -> bool:
    """Whether the network is off: by a flag, a setting, or HF_HUB_OFFLINE."""
    return settings.load().offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def hub_id(name: str, revision: str) -> str:
    """The reference of a model of the hub."""
    return f"hf:{name}@{revision}" if revision else f"hf:{name}"


def download(name: str, revision: str = "") -> Path:
    """Download the newest version of a model, or one revision, with progress on stderr; its folder.

    Raises NotFound if it is unknown, access is denied, or the network is off or fails.
    """
    _check_name(name)
    if offline():
        raise NotFound(
            f"hf:{name} cannot be downloaded in offline mode.",
            "Allow the network: unset SEMSEARCH_OFFLINE and HF_HUB_OFFLINE.",
            "Leave out --offline.",
        )
    from huggingface_hub import snapshot_download

    fetch = partial(
        snapshot_download,
        name,
        revision=revision or None,
        cache_dir=cache(),
        endpoint=os.environ.get("HF_ENDPOINT"),
    )
    with _explained(name, revision):
        if graph := _graph(name, revision):
            without = [*NEVER, "*.safetensors"]
            without.remove("onnx/*")
            return Path(fetch(allow_patterns=[*PATTERNS, *graph], ignore_patterns=without))
        folder = Path(fetch(allow_patterns=PATTERNS, ignore_patterns=NEVER))
        if any((folder / name).is_file() for name in ("encoder.json", "reranker.json")):
            fetch(allow_patterns=PATTERNS + EXPORTED, ignore_patterns=NEVER)
        return folder


def _graph(name: str, revision: str) -> list[str]:
    """The files of the ONNX graph that runs in place of safetensors; [] where these do, and of an export."""
    from semsearch.models import hf_config  # the template library, which the default encoder does not need

    files = _files(name, revision)
    weights = any(file.endswith(".safetensors") for file in files) and find_spec("torch") is not None
    exported = {"encoder.json", "reranker.json"}.intersection(files)
    graph = "" if weights or exported else hf_config.graph(files)
    return [part for part in hf_config.parts(graph) if part in files] if graph else []


def _files(name: str, revision: str) -> list[str]:
    from huggingface_hub import HfApi

    _check_answers(os.environ.get("HF_ENDPOINT") or HUB)
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT")).list_repo_files(name, revision=revision or None)


def _check_answers(address: str) -> None:
    """Raises OSError where nothing answers there: the hub's client would try six times, for half a minute."""
    import socket  # 20 ms that a model on this machine does not need
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    place = urlsplit(address)
    port = place.port or (80 if place.scheme == "http" else 443)
    if place.hostname and (place.scheme not in getproxies() or proxy_bypass(place.hostname)):
        socket.create_connection((place.hostname, port), timeout=10).close()


def remove(name: str, revision: str = "") -> int:
    """Delete a model from the cache, all of its revisions or one; the number of bytes freed. Raises NotFound."""
    _check_name(name)
    from huggingface_hub import scan_cache_dir

    with _explained(name, revision):
        scan = scan_cache_dir(cache())
    repos = [repo for repo in scan.repos if (repo.repo_id, repo.repo_type) == (name, "model")]
    cached = [each for repo in repos for each in repo.revisions]
    doomed = [each.commit_hash for each in cached if not revision or revision in (each.commit_hash, *each.refs)]
    if not doomed:
        raise NotFound(
            f"{hub_id(name, revision)} is not on this machine.",
            "Encoder.list_local() lists those that are.",
            "See: semsearch models list",
        )
    strategy = scan.delete_revisions(*doomed)
    strategy.execute()
    return int(strategy.expected_freed_size)


def check_safetensors(name: str, revision: str = "") -> None:
    """Raises NotFound if the hub has only pickled weights of a model."""
    with _explained(name, revision):
        files = _files(name, revision)
    pickled = sorted(file for file in files if re.fullmatch(r"pytorch_model.*\.bin|[^/]*\.(ckpt|pt|pth)", file))
    if pickled and not any(file.endswith(".safetensors") for file in files):
        raise NotFound(
            f"{hub_id(name, revision)} has pickled weights only ({pickled[0]}), which are not read.",
            f"Convert it at {CONVERTER} and use hf:{name}@refs/pr/N, or convert a local copy.",
        )


def _check_name(name: str) -> None:
    """Raises UsageError for what cannot be the name of a model of the hub."""
    if not NAME.fullmatch(name):
        raise UsageError(f"hf:{name} is not the name of a model.", "Use hf:owner/name, or hf:owner/name@revision.")


def _folder(name: str) -> Path:
    _check_name(name)
    return cache() / f"models--{name.replace('/', '--')}"


@contextmanager
def _explained(name: str, revision: str) -> Iterator[None]:
    """Errors of the hub, its client or its cache, raised as NotFound with a one-line message."""
    from huggingface_hub import errors

    reasons: tuple[tuple[type[Exception], str, str], ...] = (
        (errors.GatedRepoError, "requires accepting its terms", "Accept them on its page, then: hf auth login"),
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
                raise NotFound(f"{hub_id(name, revision)} {reason}.", fix) from error
        detail = " ".join(str(error.__cause__ or error).split())[:200] or type(error).__name__
        raise NotFound(
            f"{hub_id(name, revision)} could not be downloaded: {detail}.", "Check the network and try again."
        ) from error
