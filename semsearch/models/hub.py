"""Downloads from the Hugging Face hub, into the cache shared with other programs.

Configuration, tokenizer and safetensors are downloaded, and ONNX if encoder.json marks an exported encoder; never code
or pickles. HF_ENDPOINT sets the address of the hub, as usual.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from semsearch.errors import NotFound, SemsearchError
from semsearch.models.hub_cache import cache, check_name, hub_id, offline

WANTED = ("*.json", "*.txt", "*.model", "*.safetensors", "README.md")
EXPORTED = ("*.onnx", "*.onnx.data")
NEVER = ("consolidated*", "original/*", "openvino/*", "onnx/*", "*.py", "*.bin", "*.msgpack", "*.h5")
CONVERTER = "https://huggingface.co/spaces/safetensors/convert"


def download(name: str, revision: str = "") -> Path:
    """Download the newest version of a model, or one revision, with progress on stderr; its folder.

    Raises NotFound if it is unknown, access is denied, or the network is off or fails.
    """
    check_name(name)
    if offline():
        raise NotFound(f"hf:{name} cannot be downloaded in offline mode.", "Leave out --offline.")
    from huggingface_hub import snapshot_download

    def fetch(more: tuple[str, ...]) -> Path:
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

    with _explained(name, revision):
        folder = fetch(())
        return fetch(EXPORTED) if (folder / "encoder.json").is_file() else folder


def remove(name: str, revision: str = "") -> int:
    """Delete a model from the cache, all of its revisions or one; the number of bytes freed. Raises NotFound."""
    check_name(name)
    from huggingface_hub import scan_cache_dir

    with _explained(name, revision):
        found = scan_cache_dir(cache())
    repos = [repo for repo in found.repos if repo.repo_id == name and repo.repo_type == "model"]
    cached = [each for repo in repos for each in repo.revisions]
    doomed = [each.commit_hash for each in cached if not revision or revision in (each.commit_hash, *each.refs)]
    if not doomed:
        raise NotFound(f"{hub_id(name, revision)} is not on this machine.", "See: semsearch models list")
    strategy = found.delete_revisions(*doomed)
    strategy.execute()
    return int(strategy.expected_freed_size)


def check_safetensors(name: str, revision: str = "") -> None:
    """Raises NotFound if the hub has only pickled weights of a model."""
    from huggingface_hub import HfApi

    with _explained(name, revision):
        files = HfApi(endpoint=os.environ.get("HF_ENDPOINT")).list_repo_files(name, revision=revision or None)
    pickled = sorted(file for file in files if re.fullmatch(r"pytorch_model.*\.bin|[^/]*\.(ckpt|pt|pth)", file))
    if pickled and not any(file.endswith(".safetensors") for file in files):
        raise NotFound(
            f"{hub_id(name, revision)} has pickled weights only ({pickled[0]}), which are not read.",
            f"Convert it at {CONVERTER} and use hf:{name}@refs/pr/N, or convert a local copy.",
        )


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
