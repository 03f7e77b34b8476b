"""Saved networks: folders of safetensors that transformers and `networks.loading` can read.

The files of sentence-transformers (modules.json, the pooling, the longest input) are written only for what that library
supports: mean pooling and [CLS] of the last layer without a prompt, and its own pipelines. For any other method there
is no modules.json, with which it would silently compute other vectors.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn

from semsearch.models import safetensors_files
from semsearch.models.bundle import Bundle
from semsearch.models.networks import adapters, loading
from semsearch.models.networks.masked import MaskedNetwork, Network
from semsearch.models.st_config import CONFIG, MODULES, NORMALIZE, POOLINGS
from semsearch.prompts import Prompt
from semsearch.types import JsonObject
from semsearch.utils.file_contents import read_object

# files copied along where they exist: the tokenizer, and the licence of the weights
BESIDE = ("tokenizer*.json", "vocab.*", "merges.txt", "special_tokens_map.json", "*.model", "generation_config.json")
TERMS = ("LICENSE*", "LICENCE*", "NOTICE*")
ADAPTER = "adapter"  # a subfolder: beside the model, transformers would add the merged adapters again
SIZES = "sentence_bert_config.json"
TYPES = "sentence_transformers.models."  # prefix of module names, the same in every version
PLAIN = ("mean", "cls")  # methods that are a pooling of sentence-transformers


def save(network: Network, bundle: Bundle, out: Path) -> None:
    """Write config.json and model.safetensors into `out`, and beside them the learned prompt and the modules.

    `bundle` describes method and prompts; tokenizer and licence are copied from its folder. If sentence-transformers
    supports that method, its files are written too. Adapters are merged into the weights, so that
    the folder is an ordinary model, and also saved alone in `out`/adapter.
    """
    source, home = bundle.folder, (bundle.folder / bundle.weights).parent
    (whole,) = network.whole
    if any(adapters.adapted(network)):
        adapters.save(network, out / ADAPTER)
        whole = adapters.added(network, source)
    state = {name: value for name, value in whole.state_dict().items() if "pooler" not in name}
    prefix = "" if network.whole[0] is network.model else f"{whole.base_model_prefix}."
    state |= {prefix + name: value for name, value in _pooler(network).items()}
    with loading.quiet():
        whole.save_pretrained(out, state_dict={name: value.contiguous() for name, value in state.items()})
    if isinstance(network, MaskedNetwork) and network.prompt is not None:
        save_file({"vectors": network.prompt.detach().contiguous()}, out / safetensors_files.PROMPT)
    for name, module in network.then.items():
        _save_module(module, source / name, out / name)
    _copy(home, out, BESIDE)
    _copy(source, out, TERMS)
    _save_pipeline(bundle, network.width, out)


def clear(folder: Path) -> None:
    """Delete what `save` wrote into `folder`, so that no file of an earlier encoder is read as part of a new one."""
    for pattern in ("*.safetensors", "*.index.json", "config*.json", *BESIDE, MODULES, SIZES):
        for file in folder.glob(pattern):
            file.unlink()
    for inner in (*folder.glob("[0-9]*_*/config.json"), folder / ADAPTER / "adapter_config.json"):
        if inner.is_file():
            shutil.rmtree(inner.parent)


def _pooler(network: Network) -> dict[str, Tensor]:
    """The pooler's parameters under the names of transformers."""
    if not isinstance(network.pooler, nn.Sequential):
        return {}
    prefix = "pooler." if network.model.config.model_type == "albert" else "pooler.dense."
    return {prefix + name: value for name, value in network.pooler[0].state_dict().items()}


def _save_module(module: nn.Module, source: Path, out: Path) -> None:
    """Write a dense layer or a layer norm under the parameter names of its source."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "config.json", out)
    name = "norm" if "dimension" in read_object(source / "config.json") else "linear"
    state = {key.replace("0.", f"{name}.", 1): value.contiguous() for key, value in module.state_dict().items()}
    save_file(state, out / safetensors_files.WHOLE)


def _copy(source: Path, out: Path, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        for file in source.glob(pattern):
            if not (out / file.name).exists():
                shutil.copy(file, out)


def _save_pipeline(bundle: Bundle, width: int, out: Path) -> None:
    """Write the files of sentence-transformers for a network of hidden width `width`, if it supports `bundle`."""
    if bundle.method == "sentence_transformer":
        options = bundle.options
        _write(bundle, options["pooling"], options["then"], width, out, whole=options.get("include_prompt", True))
        if (bundle.folder / CONFIG).is_file():  # its prompts
            shutil.copy(bundle.folder / CONFIG, out)
    elif bundle.method in PLAIN and _is_plain(bundle):
        _write(bundle, (bundle.method,), (NORMALIZE,), width, out)


def _is_plain(bundle: Bundle) -> bool:
    """Whether the last layer is read, without prompt and head.

    That library does not collapse white space, which makes no difference to WordPiece.
    """
    usual = {"layer": -1, "head": ""}
    plain = all(replace(prompt, spaces=False) == Prompt() for prompt in bundle.prompts.values())
    return plain and all(usual.get(key) == value for key, value in bundle.options.items())


def _write(
    bundle: Bundle, ways: Sequence[str], then: Sequence[str], width: int, out: Path, *, whole: bool = True
) -> None:
    paths = ["", "1_Pooling", *(f"{at}_Normalize" if name == NORMALIZE else name for at, name in enumerate(then, 2))]
    kinds = ["Transformer", "Pooling", *(_kind(name, out) for name in then)]
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": TYPES + kind}
        for at, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    pooling: JsonObject = {"word_embedding_dimension": width, "include_prompt": whole}
    pooling |= {key: way in ways for key, way in POOLINGS.items()}
    if [way for way in POOLINGS.values() if way in ways] != list(ways):  # newer folders state the order
        pooling["pooling_mode"] = list(ways)
    for path in paths:
        (out / path).mkdir(exist_ok=True)
    sizes = {"max_seq_length": bundle.max_tokens, "do_lower_case": False}  # tokenizer.json lower-cases
    for name, content in ((f"{paths[1]}/config.json", pooling), (SIZES, sizes), (MODULES, modules)):
        (out / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _kind(name: str, out: Path) -> str:
    """The class of a module after the pooling; its files are in `out` already."""
    if name == NORMALIZE:
        return "Normalize"
    return "LayerNorm" if "dimension" in read_object(out / name / "config.json") else "Dense"
