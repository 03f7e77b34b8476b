"""Pipelines of sentence-transformers folders, read from modules.json without that library.

    transformer → pooling → dense layers, layer norms, normalisation, in the folder's order

Modules are recognised by their class name, so that folders of any version are read. An unknown module would run code
of the folder's author: it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from semsearch.errors import Corrupt, UsageError
from semsearch.models import safetensors_files
from semsearch.prompts import Prompt
from semsearch.types import JsonMapping, JsonObject, Role
from semsearch.utils.json_files import read_object

MODULES = "modules.json"
CONFIG = "config_sentence_transformers.json"
OWNER = "sentence_transformers"
BEHIND = (
    "Dense",
    "LayerNorm",
    "Normalize",
    "Dropout",
)  # modules that may follow the pooling; dropout has no effect in inference
NORMALIZE = "normalize"  # its name in the method's options
POOLINGS = {  # older folders have a flag for each, and concatenate several in this order
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
PASSAGES = ("document", "passage", "corpus")  # names of the prompt for passages


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`then` are the folders of the modules after the pooling, and `hashes` those of their weights."""

    pooling: tuple[str, ...]
    then: tuple[str, ...]
    hashes: tuple[str, ...]
    include_prompt: bool
    prompts: Mapping[Role, Prompt]

    @property
    def options(self) -> JsonObject:
        """Options of the method sentence_transformer."""
        options: JsonObject = {"pooling": self.pooling, "then": self.then}
        return options if self.include_prompt else {**options, "include_prompt": False}


def is_pipeline(folder: Path) -> bool:
    """Whether `folder` contains a pipeline."""
    return (folder / MODULES).is_file()


def transformer(folder: Path) -> str:
    """The path of the model below `folder`; "" if it is that folder itself."""
    (kind, path), *_ = _listed(folder)
    return _inside(path, folder) if kind.endswith(".Transformer") else ""


def sizes(folder: Path) -> JsonObject:
    """max_seq_length and do_lower_case of the model in `folder`. Old folders name the file after the model type."""
    return read_object(next(iter(sorted(folder.glob("sentence_*_config.json"))), folder / "sentence_bert_config.json"))


def configs(folder: Path) -> list[Path]:
    """The configuration files that its modules require."""
    return [folder / path / "config.json" for kind, path in _listed(folder) if kind.endswith((".Pooling", ".Dense"))]


def read(folder: Path) -> Pipeline:
    """The pipeline in `folder`. Raises UsageError for an unsupported one, Corrupt, NotFound."""
    first, *others = _modules(folder)
    pooled = [path for kind, path in others if kind == "Pooling"]
    if first[0] != "Transformer" or len(pooled) != 1 or others[0][0] != "Pooling":
        order = " → ".join(kind for kind, _ in (first, *others))
        raise UsageError(
            f"{folder} is not supported: its modules are {order}.", "Use one with one transformer and one pooling."
        )
    then = [(kind, path) for kind, path in others[1:] if kind != "Dropout"]
    weighted = [path for kind, path in then if kind != "Normalize"]
    ways, include_prompt = _pooling(read_object(folder / pooled[0] / "config.json"), folder)
    for path in weighted:
        _plain(read_object(folder / path / "config.json"), folder / path)
    return Pipeline(
        pooling=ways,
        then=tuple(NORMALIZE if kind == "Normalize" else path for kind, path in then),
        hashes=tuple(each for path in weighted for each in safetensors_files.of_module(folder / path)),
        include_prompt=include_prompt,
        prompts=_prompts(read_object(folder / CONFIG)),
    )


def _listed(folder: Path) -> list[tuple[str, str]]:
    """Type and path of every module as listed in the folder."""
    try:
        listed = json.loads((folder / MODULES).read_text(encoding="utf-8"))
        found = [(str(one["type"]), str(one["path"])) for one in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"{folder / MODULES} cannot be read: {error}.", "Copy the model again.") from error
    if not found:
        raise Corrupt(f"{folder / MODULES} lists no modules.", "Copy the model again.")
    return found


def _inside(path: str, folder: Path) -> str:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise UsageError(f"{folder} refers to a module outside the folder: {path}.", "Copy the whole model.")
    return path


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Class and path of every module. Raises UsageError, which names it, for an unknown one."""
    modules = []
    for type_, path in _listed(folder):
        kind = type_.rpartition(".")[2]
        if type_.partition(".")[0] != OWNER or kind not in ("Transformer", "Pooling", *BEHIND):
            raise UsageError(
                f"{folder} has the unsupported module {type_}.",
                f"Known are Transformer, Pooling, {', '.join(BEHIND)}; or name a template: {folder.name}#mean",
            )
        modules.append((kind, _inside(path, folder)))
    return modules


def _pooling(config: JsonMapping, folder: Path) -> tuple[tuple[str, ...], bool]:
    modes = config.get("pooling_mode")
    ways: Sequence[str] = (modes,) if isinstance(modes, str) else modes or ()
    ways = ways or [way for key, way in POOLINGS.items() if config.get(key)] or ["mean"]
    unknown = sorted(set(ways) - set(POOLINGS.values()))
    if unknown:
        raise UsageError(
            f"{folder} has the unknown pooling {unknown[0]!r}.",
            f"Known are {', '.join(POOLINGS.values())}.",
        )
    return tuple(ways), bool(config.get("include_prompt", True))


def _plain(config: JsonMapping, folder: Path) -> None:
    """UsageError if a module does not map the sentence embedding alone."""
    other = {
        key: config[key]
        for key in ("use_residual", "module_input_name", "module_output_name")
        if config.get(key) not in (None, False, "sentence_embedding")
    }
    for key, value in other.items():
        raise UsageError(f"the module {folder} has the unsupported {key} {value!r}.", "Use another model.")


def _prompts(config: JsonMapping) -> dict[Role, Prompt]:
    """The prompts that encode_query and encode_document of that library choose."""
    prompts = config.get("prompts") or {}
    passage = next((prompts[name] for name in PASSAGES if prompts.get(name)), "")
    return {"query": Prompt(before=prompts.get("query") or ""), "passage": Prompt(before=passage)}
