"""What a sentence-transformers folder says of itself in modules.json, read without that library.

    transformer → pooling → dense layers, layer norms, normalisation, in the folder's order

Module classes are known by their last name, so that folders of any version are read. A module that is not known here
would run code of the folder's author: it is refused by its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from semsearch.errors import Corrupt, UsageError
from semsearch.models import safetensors_files
from semsearch.prompts import Prompt
from semsearch.types import JsonObject, Role
from semsearch.utils.json_files import read_object

MODULES = "modules.json"
CONFIG = "config_sentence_transformers.json"
OWNER = "sentence_transformers"
BEHIND = ("Dense", "LayerNorm", "Normalize", "Dropout")  # what may follow the pooling; dropout does nothing here
NORMALIZE = "normalize"  # what the method calls it
POOLINGS = {  # older folders have one switch for each, and put several side by side in this order
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
PASSAGES = ("document", "passage", "corpus")  # what the prompt for passages may be called


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`then` are the modules behind the pooling, by their folders, and `hashes` those of their weights."""

    pooling: tuple[str, ...]
    then: tuple[str, ...]
    hashes: tuple[str, ...]
    include_prompt: bool
    prompts: Mapping[Role, Prompt]

    @property
    def options(self) -> JsonObject:
        """Those of the method sentence_transformer."""
        told: JsonObject = {"pooling": self.pooling, "then": self.then}
        return told if self.include_prompt else {**told, "include_prompt": False}


def is_pipeline(folder: Path) -> bool:
    """Whether `folder` holds one."""
    return (folder / MODULES).is_file()


def transformer(folder: Path) -> str:
    """Where the model lies below `folder`: "" where it is that folder itself."""
    (kind, path), *_ = _listed(folder)
    return _inside(path, folder) if kind.endswith(".Transformer") else ""


def sizes(folder: Path) -> JsonObject:
    """max_seq_length and do_lower_case of the model in `folder`. Old folders call the file after the kind of model."""
    return read_object(next(iter(sorted(folder.glob("sentence_*_config.json"))), folder / "sentence_bert_config.json"))


def configs(folder: Path) -> list[Path]:
    """The files that its modules need to be read."""
    return [folder / path / "config.json" for kind, path in _listed(folder) if kind.endswith((".Pooling", ".Dense"))]


def read(folder: Path) -> Pipeline:
    """The pipeline in `folder`. Raises UsageError for what is not run here, Corrupt, NotFound."""
    first, *others = _modules(folder)
    pooled = [path for kind, path in others if kind == "Pooling"]
    if first[0] != "Transformer" or len(pooled) != 1 or others[0][0] != "Pooling":
        order = " → ".join(kind for kind, _ in (first, *others))
        raise UsageError(f"{folder} is not run here: its modules are {order}.", "One transformer and one pooling are.")
    behind = [(kind, path) for kind, path in others[1:] if kind != "Dropout"]
    kept = [path for kind, path in behind if kind != "Normalize"]
    ways, include_prompt = _pooling(read_object(folder / pooled[0] / "config.json"), folder)
    for path in kept:
        _plain(read_object(folder / path / "config.json"), folder / path)
    return Pipeline(
        pooling=ways,
        then=tuple(NORMALIZE if kind == "Normalize" else path for kind, path in behind),
        hashes=tuple(each for path in kept for each in safetensors_files.of_module(folder / path)),
        include_prompt=include_prompt,
        prompts=_prompts(read_object(folder / CONFIG)),
    )


def _listed(folder: Path) -> list[tuple[str, str]]:
    """Type and path of every module, as the folder writes them."""
    try:
        listed = json.loads((folder / MODULES).read_text(encoding="utf-8"))
        found = [(str(one["type"]), str(one["path"])) for one in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"{folder / MODULES} cannot be read: {error}.", "Copy the model again.") from error
    if not found:
        raise Corrupt(f"{folder / MODULES} lists nothing.", "Copy the model again.")
    return found


def _inside(path: str, folder: Path) -> str:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise UsageError(f"{folder} has a module outside of itself: {path}.", "Copy the whole model.")
    return path


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Class and path of every module. Raises UsageError for an unknown one, by its name."""
    modules = []
    for type_, path in _listed(folder):
        kind = type_.rpartition(".")[2]
        if type_.partition(".")[0] != OWNER or kind not in ("Transformer", "Pooling", *BEHIND):
            raise UsageError(
                f"{folder} has a module {type_}, which is not run here.",
                f"Known are Transformer, Pooling, {', '.join(BEHIND)}; or name a template: {folder.name}#mean",
            )
        modules.append((kind, _inside(path, folder)))
    return modules


def _pooling(config: Mapping[str, Any], folder: Path) -> tuple[tuple[str, ...], bool]:
    said = config.get("pooling_mode")
    ways: Sequence[str] = (said,) if isinstance(said, str) else said or ()
    ways = ways or [way for key, way in POOLINGS.items() if config.get(key)] or ["mean"]
    unknown = sorted(set(ways) - set(POOLINGS.values()))
    if unknown:
        raise UsageError(
            f"{folder} has the pooling {unknown[0]!r}, which is not known here.",
            f"Known are {', '.join(POOLINGS.values())}.",
        )
    return tuple(ways), bool(config.get("include_prompt", True))


def _plain(config: Mapping[str, Any], folder: Path) -> None:
    """UsageError where a module works on something else than the vector of the text."""
    other = {
        key: config[key]
        for key in ("use_residual", "module_input_name", "module_output_name")
        if config.get(key) not in (None, False, "sentence_embedding")
    }
    for key, value in other.items():
        raise UsageError(f"the module {folder} has {key} {value!r}, which is not known here.", "Use another model.")


def _prompts(config: Mapping[str, Any]) -> dict[Role, Prompt]:
    """As encode_query and encode_document of that library choose them."""
    said = config.get("prompts") or {}
    passage = next((said[name] for name in PASSAGES if said.get(name)), "")
    return {"query": Prompt(before=said.get("query") or ""), "passage": Prompt(before=passage)}
