"""Files of a model's weights: their names, integrity and hashes. Nothing is loaded here.

Only safetensors are supported, since unpickling a file can run code. Hashes of large files are cached by path, size,
times and inode, so that a model of 14 GB is hashed once and not on each start.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from semsearch.errors import Corrupt, NotFound
from semsearch.types import JsonObject
from semsearch.utils import user_cache
from semsearch.utils.file_contents import hashed as hashed

WHOLE = "model.safetensors"
SHARDED = "model.safetensors.index.json"
ADAPTER = "adapter_config.json"
PROMPT = "prompt.safetensors"
PICKLED = ("pytorch_model*.bin", "*.ckpt", "*.pt", "*.pth", "*.bin")
LARGE = 64 << 20  # bytes: below it a file is hashed in less time than a stale hash would cost
CACHED = "hashes.json"
MAX_CACHED = 500
CONVERT = (
    'In that folder, convert it: python -c "import torch, safetensors.torch as s; '
    "d = torch.load('{file}', map_location='cpu', "
    "weights_only=True); s.save_file({{k: v.clone() for k, v in d.items()}}, 'model.safetensors', {{'format': 'pt'}})\""
)


def find(folder: Path) -> str:
    """The name of the weights in `folder`: a file, or the index of several. Raises NotFound, Corrupt."""
    for name in (WHOLE, SHARDED):
        if (folder / name).is_file():
            for file in _files(folder / name):
                _tensors(file)
            return name
    if pickled := sorted({path.name for pattern in PICKLED for path in folder.glob(pattern)}):
        several = f" and {len(pickled) - 1} more" if len(pickled) > 1 else ""
        raise NotFound(
            f"{folder} has pickled weights only ({pickled[0]}{several}), which are not read.",
            CONVERT.format(file=pickled[0]),
        )
    if (folder / ADAPTER).is_file():
        raise NotFound(f"{folder} has an adapter, not a model.", "Merge it into its base model and save that.")
    raise NotFound(f"{folder} has no weights: no {WHOLE}.", "Copy the whole model, or name another folder.")


def identity(path: Path) -> str:
    """The sha256 of the weights `path`; of an index, the combined hash of its files. Raises NotFound, Corrupt."""
    return combine_hashes(map(sha256, _files(path)))


def combine_hashes(hashes: Iterable[str]) -> str:
    """The combined hash of several, in their order; a single one is unchanged."""
    listed = list(hashes)
    return listed[0] if len(listed) == 1 else hashlib.sha256("\n".join(listed).encode()).hexdigest()


def of_module(folder: Path) -> tuple[str, str]:
    """The hashes of the weights and the configuration of a module after the pooling."""
    return identity(folder / find(folder)), hashed(folder / "config.json")


def of_prompt(folder: Path, method: str) -> tuple[str, ...]:
    """The hash of the learned prompt, if `method` uses one and it has been trained."""
    learned = folder / PROMPT
    return (hashed(learned),) if method == "optiprompt" and learned.is_file() else ()


def sha256(path: Path, *, large: int = LARGE) -> str:
    """The sha256 of a file; of `large` bytes or more, from the cache if the file did not change since it was hashed."""
    stat = path.stat()
    if stat.st_size < large:
        return hashed(path)
    # st_mtime and size are not enough: archives restore the time, and checkpoints of one architecture have one size
    name, stamp = str(path.resolve()), [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    cached = _checked_files()
    if cached.get(name, [])[:-1] == stamp:
        return str(cached[name][-1])
    digest = hashed(path)
    newest = [*((key, value) for key, value in cached.items() if key != name), (name, [*stamp, digest])]
    user_cache.write(CACHED, json.dumps(dict(newest[-MAX_CACHED:])).encode())
    return digest


def precision(folder: Path, weights: str) -> str:
    """The precision that most of the weights have: fp32, fp16 or bf16."""
    sizes: Counter[str] = Counter()
    for tensor in _tensors(_files(folder / weights)[0]).values():
        start, end = tensor["data_offsets"]
        sizes[tensor.get("dtype", "")] += end - start
    return {"F16": "fp16", "BF16": "bf16"}.get(max(sizes, key=sizes.__getitem__, default=""), "fp32")


def names(path: Path) -> set[str]:
    """The names of the tensors in the weights `path`. Raises Corrupt, NotFound."""
    return {name for file in _files(path) for name in _tensors(file)}


def _files(weights: Path) -> list[Path]:
    """The file `weights` itself, or the files of that index, in its order. Raises Corrupt, NotFound."""
    if not weights.name.endswith(".index.json"):
        return [weights]
    try:
        names = dict.fromkeys(json.loads(weights.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise Corrupt(f"{weights} is not an index of weights.", "Copy the model again.") from error
    shards = [weights.parent / Path(str(name)).name for name in names]
    for shard in shards:
        if not shard.is_file():
            raise NotFound(f"{weights.parent} lacks {shard.name}, a part of its weights.", "Copy the model again.")
    return shards


def _tensors(path: Path) -> JsonObject:
    """Name -> dtype, shape and offsets of each tensor in a file. Raises Corrupt if that is invalid."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= size - 8:
                raise ValueError
            header: JsonObject = json.loads(file.read(length))
        header.pop("__metadata__", None)
        whole = 8 + length + max((each["data_offsets"][1] for each in header.values()), default=0) == size
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"{path} is not a safetensors file.", "Copy it again.") from error
    if not whole:
        raise Corrupt(f"{path} is truncated, or longer than its header states.", "Copy it again.")
    return header


def _checked_files() -> dict[str, list[int | str]]:
    """The cached hashes: path -> size, mtime and ctime in ns, inode, sha256."""
    try:
        cached = json.loads(user_cache.read(CACHED) or b"{}")
    except ValueError:
        return {}
    return cached if isinstance(cached, dict) else {}
