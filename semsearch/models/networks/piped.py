"""Files that make sentence-transformers compute the same vectors: modules.json, the pooling, the longest input.

They are written only for what that library supports: mean pooling and [CLS] of the last layer without a prompt, and its
own pipelines. With any other method it would silently compute other vectors, so there is no modules.json.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from semsearch.models.bundle import Bundle
from semsearch.models.st_config import CONFIG, MODULES, NORMALIZE, POOLINGS
from semsearch.prompts import Prompt
from semsearch.types import JsonObject

SIZES = "sentence_bert_config.json"
TYPES = "sentence_transformers.models."  # prefix of module names, the same in every version
PLAIN = {"mean": "mean", "cls": "cls"}  # method -> pooling of sentence-transformers


def save(bundle: Bundle, width: int, out: Path) -> None:
    """Write the files for a network of hidden width `width` into `out`, if the library supports `bundle`."""
    if bundle.method == "sentence_transformer":
        options = bundle.options
        _write(bundle, options["pooling"], options["then"], width, out, whole=options.get("include_prompt", True))
        if (bundle.folder / CONFIG).is_file():  # its prompts
            shutil.copy(bundle.folder / CONFIG, out)
    elif bundle.method in PLAIN and _is_plain(bundle):
        _write(bundle, (PLAIN[bundle.method],), (NORMALIZE,), width, out)


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
    _put(out / paths[1] / "config.json", pooling)
    _put(out / SIZES, {"max_seq_length": bundle.max_tokens, "do_lower_case": False})  # tokenizer.json lower-cases
    _put(out / MODULES, modules)


def _kind(name: str, out: Path) -> str:
    """The class of a module after the pooling; its files are in `out` already."""
    if name == NORMALIZE:
        return "Normalize"
    config = json.loads((out / name / "config.json").read_text(encoding="utf-8"))
    return "LayerNorm" if "dimension" in config else "Dense"


def _put(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
