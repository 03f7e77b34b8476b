"""What sentence-transformers needs in a folder to read it as we do: modules.json, the pooling, the longest input.

Only for what that library can do: mean pooling and [CLS] of the last layer without a text around the sentence, and its
own pipelines. A folder under another method gets no modules.json: it would be read in another way, without a sign.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from semsearch.models.bundle import Bundle
from semsearch.models.st_config import CONFIG, MODULES, NORMALIZE, POOLINGS
from semsearch.prompts import Prompt
from semsearch.types import JsonObject

SIZES = "sentence_bert_config.json"
TYPES = "sentence_transformers.models."  # every version of that library knows its modules by these names
PLAIN = {"mean": "mean", "cls": "cls"}  # method -> what sentence-transformers calls that pooling


def save(bundle: Bundle, width: int, out: Path) -> None:
    """Write what is said of the network of `width` numbers in `out`, where `bundle` can be read by that library."""
    if bundle.method == "sentence_transformer":
        options = bundle.options
        _write(bundle, options["pooling"], options["then"], width, out, whole=options.get("include_prompt", True))
        if (bundle.folder / CONFIG).is_file():  # its prompts
            shutil.copy(bundle.folder / CONFIG, out)
    elif bundle.method in PLAIN and _alone(bundle):
        _write(bundle, (PLAIN[bundle.method],), (NORMALIZE,), width, out)


def _alone(bundle: Bundle) -> bool:
    """Whether the last layer is read, with nothing around the sentence and nothing behind it.

    That library leaves runs of white space as they are, which WordPiece does not see.
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
    if [way for way in POOLINGS.values() if way in ways] != list(ways):  # newer folders say in which order
        pooling["pooling_mode"] = list(ways)
    for path in paths:
        (out / path).mkdir(exist_ok=True)
    _put(out / paths[1] / "config.json", pooling)
    _put(out / SIZES, {"max_seq_length": bundle.max_tokens, "do_lower_case": False})  # tokenizer.json lower-cases
    _put(out / MODULES, modules)


def _kind(name: str, out: Path) -> str:
    """The class of a module behind the pooling, which lies in `out` already."""
    if name == NORMALIZE:
        return "Normalize"
    config = json.loads((out / name / "config.json").read_text(encoding="utf-8"))
    return "LayerNorm" if "dimension" in config else "Dense"


def _put(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
