"""Folders of tiny models for tests: copies of the golden ones, with whatever is changed about them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any


def copied(golden: Path, name: str, to: Path) -> Path:
    """The golden model `name` as a folder of its own."""
    return Path(shutil.copytree(golden / "models" / name, to))


def rewrite(file: Path, **values: Any) -> None:
    """Set keys of a JSON file; None takes a key out."""
    content = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    content = {key: value for key, value in {**content, **values}.items() if value is not None}
    file.write_text(json.dumps(content), encoding="utf-8")


def pickled(folder: Path) -> None:
    """Weights as they were published before safetensors."""
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def sharded(folder: Path) -> None:
    """The weights of a folder in two files with an index."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, some in parts.items():
        save_file({name: tensors[name] for name in some}, folder / file, {"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: file for file, some in parts.items() for name in some}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def without_tokenizer_json(folder: Path) -> None:
    """A byte-level BPE as vocab.json and merges.txt, as OPT was published."""
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").unlink()


def shallow(golden: Path, name: str, to: Path, layers: int) -> Path:
    """The golden model `name` with its first `layers` layers alone: an export takes as long as there are layers."""
    from safetensors.torch import load_file, save_file

    folder = copied(golden, name, to)
    rewrite(folder / "config.json", num_hidden_layers=layers)
    tensors = load_file(folder / "model.safetensors")
    numbers = {key: re.search(r"\.layers?\.(\d+)\.", key) for key in tensors}
    first = {key: tensors[key] for key, number in numbers.items() if not number or int(number[1]) < layers}
    save_file(first, folder / "model.safetensors", {"format": "pt"})
    return folder
