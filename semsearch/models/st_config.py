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
from semsearch.utils.file_contents import read_object

MODULES = "modules.json"
CONFIG = "config_sentence_transformers.json"
AFTER = ("Dense", "LayerNorm", "Normalize", "Dropout")  # may follow the pooling; inference ignores dropout
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
    """`options` are those of the method sentence_transformer, `hashes` those of the modules after the pooling."""

    options: JsonObject
    hashes: tuple[str, ...]
    prompts: Mapping[Role, Prompt]


def is_pipeline(folder: Path) -> bool:
    """Whether `folder` contains a pipeline."""
    return (folder / MODULES).is_file()


def transformer(folder: Path) -> str:
    """The path of the model below `folder`; "" if it is that folder itself."""
    kind, path = _listed(folder)[0] if is_pipeline(folder) else ("", "")
    return path if kind.endswith(".Transformer") else ""


def sizes(folder: Path) -> JsonObject:
    """max_seq_length and do_lower_case of the model in `folder`. Old folders name the file after the model type."""
    return read_object(next(iter(sorted(folder.glob("sentence_*_config.json"))), folder / "sentence_bert_config.json"))


def configs(folder: Path) -> list[Path]:
    """The configuration files that its modules require."""
    if not is_pipeline(folder):
        return []
    return [folder / path / "config.json" for kind, path in _listed(folder) if kind.endswith((".Pooling", ".Dense"))]


def read(folder: Path) -> Pipeline:
    """The pipeline in `folder`. Raises UsageError for an unsupported one, Corrupt, NotFound."""
    first, *others = [(_supported(kind, folder), path) for kind, path in _listed(folder)]
    pooled = [path for kind, path in others if kind == "Pooling"]
    if first[0] != "Transformer" or len(pooled) != 1 or others[0][0] != "Pooling":
        order = " → ".join(kind for kind, _ in (first, *others))
        raise UsageError(
            f"{folder} is not supported: its modules are {order}.", "Use one with one transformer and one pooling."
        )
    then = [(kind, path) for kind, path in others[1:] if kind != "Dropout"]
    weighted = [path for kind, path in then if kind != "Normalize"]
    pooling = read_object(folder / pooled[0] / "config.json")
    options: JsonObject = {
        "pooling": _ways(pooling, folder),
        "then": tuple(NORMALIZE if kind == "Normalize" else path for kind, path in then),
    }
    if not pooling.get("include_prompt", True):
        options["include_prompt"] = False
    for path in weighted:
        _check_plain(folder / path)
    hashes = tuple(each for path in weighted for each in safetensors_files.of_module(folder / path))
    return Pipeline(options, hashes, _prompts(read_object(folder / CONFIG)))


def _listed(folder: Path) -> list[tuple[str, str]]:
    """Type and path of every module as listed in the folder. Raises Corrupt, and UsageError for a path outside it."""
    try:
        listed = json.loads((folder / MODULES).read_text(encoding="utf-8"))
        modules = [(str(one["type"]), str(one["path"])) for one in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"{folder / MODULES} cannot be read: {error}.", "Copy the model again.") from error
    if not modules:
        raise Corrupt(f"{folder / MODULES} lists no modules.", "Copy the model again.")
    for _, path in modules:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise UsageError(f"{folder} refers to a module outside the folder: {path}.", "Copy the whole model.")
    return modules


def _supported(type_: str, folder: Path) -> str:
    """The class name of a module. Raises UsageError for an unsupported one."""
    owner, kind = type_.partition(".")[0], type_.rpartition(".")[2]
    if owner != "sentence_transformers" or kind not in ("Transformer", "Pooling", *AFTER):
        raise UsageError(
            f"{folder} has the unsupported module {type_}.",
            f"Known are Transformer, Pooling, {', '.join(AFTER)}; or name a template: {folder.name}#mean",
        )
    return kind


def _ways(config: JsonMapping, folder: Path) -> tuple[str, ...]:
    """The names of the pooling or poolings. Raises UsageError for an unknown one."""
    modes = config.get("pooling_mode")
    ways: Sequence[str] = (modes,) if isinstance(modes, str) else modes or ()
    ways = ways or [way for key, way in POOLINGS.items() if config.get(key)] or ["mean"]
    if unknown := sorted(set(ways) - set(POOLINGS.values())):
        raise UsageError(
            f"{folder} has the unknown pooling {unknown[0]!r}.", f"Known are {', '.join(POOLINGS.values())}."
        )
    return tuple(ways)


def _check_plain(folder: Path) -> None:
    """Raises UsageError if the module in `folder` maps anything but the sentence embedding."""
    config = read_object(folder / "config.json")
    for key in ("use_residual", "module_input_name", "module_output_name"):
        if (value := config.get(key)) not in (None, False, "sentence_embedding"):
            raise UsageError(f"the module {folder} has the unsupported {key} {value!r}.", "Use another model.")


def _prompts(config: JsonMapping) -> dict[Role, Prompt]:
    """The prompts of encode_query and encode_document in that library."""
    prompts = config.get("prompts") or {}
    passage = next((prompts[name] for name in PASSAGES if prompts.get(name)), "")
    return {"query": Prompt(before=prompts.get("query") or ""), "passage": Prompt(before=passage)}
