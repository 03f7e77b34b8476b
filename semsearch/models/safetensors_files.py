"""Which files hold a model's weights, that they are whole, and the hash that names them. Nothing is loaded here.

safetensors only: unpickling a file runs what is written in it. Hashes of large files are kept in the user's cache by
path, size, times and place on the disk, so that a model of 14 GB is read once and not on each start.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from semsearch.errors import Corrupt, NotFound
from semsearch.types import JsonObject
from semsearch.utils import user_cache

WHOLE = "model.safetensors"
SHARDED = "model.safetensors.index.json"
ADAPTER = "adapter_config.json"
PROMPT = "prompt.safetensors"
PICKLED = ("pytorch_model*.bin", "*.ckpt", "*.pt", "*.pth", "*.bin")
LARGE = 64 << 20  # bytes: below it a file is hashed in less time than a stale hash would cost
KEPT = "hashes.json"
MOST_KEPT = 500
CONVERT = (
    'In that folder, convert it: python -c "import torch, safetensors.torch as s; '
    "d = torch.load('{file}', map_location='cpu', "
    "weights_only=True); s.save_file({{k: v.clone() for k, v in d.items()}}, 'model.safetensors', {{'format': 'pt'}})\""
)


def find(folder: Path) -> str:
    """The name of the weights in `folder`: a file, or the index of several. Raises NotFound, Corrupt."""
    if (folder / WHOLE).is_file():
        _header(folder / WHOLE)
        return WHOLE
    if (folder / SHARDED).is_file():
        for shard in _shards(folder / SHARDED):
            _header(shard)
        return SHARDED
    pickled = sorted({path.name for pattern in PICKLED for path in folder.glob(pattern)})
    if pickled:
        raise pickled_only(str(folder), pickled)
    if (folder / ADAPTER).is_file():
        raise NotFound(f"{folder} holds an adapter, not a model.", "Merge it into its base model and save that.")
    raise NotFound(f"{folder} has no weights: no {WHOLE}.", "Copy the whole model, or name another folder.")


def pickled_only(where: str, files: Sequence[str]) -> NotFound:
    """The error for a model that could only be unpickled, with the way to convert it."""
    several = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return NotFound(
        f"{where} has pickled weights only ({files[0]}{several}), which are not read.", CONVERT.format(file=files[0])
    )


def identity(path: Path) -> str:
    """The sha256 of the weights `path`; of several files, that of their hashes in the index's order.

    Raises NotFound where a file is absent.
    """
    if not path.name.endswith(".index.json"):
        return sha256(path)
    return combine_hashes(sha256(shard) for shard in _shards(path))


def combine_hashes(hashes: Iterable[str]) -> str:
    """One hash for several, in their order; of a single one, itself."""
    listed = list(hashes)
    return listed[0] if len(listed) == 1 else hashlib.sha256("\n".join(listed).encode()).hexdigest()


def of_module(folder: Path) -> tuple[str, str]:
    """Of the weights of a module behind the pooling, and of its configuration, which names its activation."""
    return identity(folder / find(folder)), hashed(folder / "config.json")


def of_prompt(folder: Path, method: str) -> tuple[str, ...]:
    """Of the vectors that stand in place of a prompt's words, where `method` reads them and they are learned yet."""
    learned = folder / PROMPT
    return (hashed(learned),) if method == "optiprompt" and learned.is_file() else ()


def sha256(path: Path) -> str:
    """The sha256 of a file; of a large one, what was found when it was last read, as long as nobody touched it."""
    stat = path.stat()
    if stat.st_size < LARGE:
        return hashed(path)
    # archives set st_mtime to whatever they like, and checkpoints of one architecture have one size
    name, stamp = str(path.resolve()), [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    known = _known()
    if known.get(name, [None])[:-1] == stamp:
        return str(known[name][-1])
    found = hashed(path)
    newest = [*((key, value) for key, value in known.items() if key != name), (name, [*stamp, found])]
    user_cache.write(KEPT, json.dumps(dict(newest[-MOST_KEPT:])).encode())
    return found


def precision(folder: Path, weights: str) -> str:
    """What most of the numbers are kept in: fp32, fp16 or bf16."""
    path = folder / weights
    files = _shards(path) if weights.endswith(".index.json") else [path]
    sizes: dict[str, int] = {}
    for tensor in _header(files[0]).values():
        if isinstance(tensor, dict) and "dtype" in tensor:
            start, end = tensor["data_offsets"]
            sizes[tensor["dtype"]] = sizes.get(tensor["dtype"], 0) + end - start
    most = max(sizes, key=sizes.__getitem__, default="F32")
    return {"F16": "fp16", "BF16": "bf16"}.get(most, "fp32")


def names(path: Path) -> set[str]:
    """What the tensors of the weights `path` are called. Raises Corrupt, NotFound."""
    files = _shards(path) if path.name.endswith(".index.json") else [path]
    return {name for file in files for name in _header(file) if name != "__metadata__"}


def _shards(index: Path) -> list[Path]:
    """The files of an index, in the order in which it names them. Raises Corrupt, NotFound."""
    try:
        names = dict.fromkeys(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise Corrupt(f"{index} is not an index of weights.", "Copy the model again.") from error
    shards = [index.parent / Path(str(name)).name for name in names]
    for shard in shards:
        if not shard.is_file():
            raise NotFound(f"{index.parent} lacks {shard.name}, a part of its weights.", "Copy the model again.")
    return shards


def _header(path: Path) -> JsonObject:
    """What a safetensors file says of itself. Raises Corrupt where it is cut short, or is something else."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= size - 8:
                raise ValueError
            header: JsonObject = json.loads(file.read(length))
        ends = [each["data_offsets"][1] for key, each in header.items() if key != "__metadata__"]
        whole = 8 + length + max(ends, default=0) == size
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"{path} is not a safetensors file.", "Copy it again.") from error
    if not whole:
        raise Corrupt(f"{path} is cut short, or longer than it says.", "Copy it again.")
    return header


def hashed(path: Path) -> str:
    """The sha256 of a file, read now."""
    with path.open("rb") as file:  # piece by piece: weights may be larger than the memory that is left
        return hashlib.file_digest(file, "sha256").hexdigest()


def _known() -> dict[str, list[Any]]:
    """path -> size, times of content and file in ns, inode, sha256."""
    try:
        known = json.loads(user_cache.read(KEPT) or b"{}")
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}
