"""A training session packed for a machine without the data and the network: texts, teachers, and what to start from.

DIR/texts.jsonl.xz        the shards of texts, each a list of texts with their roles
DIR/choice.json.xz        what choices are made on: pairs, queries, documents
DIR/NAME/                 a network, in half precision, with its tokenizer: a teacher, or what a student starts from
DIR/session.json          the template, and the parts of the target

On the machine, `write_shard` keeps what a student reads of each shard: token ids, roles, targets and near texts.
"""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import AutoModel

from scripts.encoders import corpus
from scripts.encoders.corpus import Text
from scripts.encoders.distillation import NEAR, Settings, Shard, Shards
from scripts.encoders.targets import neighbours

FACTS, CHOICE, TEXTS = "session.json", "choice.json.xz", "texts.jsonl.xz"
ROLES = ("query", "passage")
DICTIONARY = 1 << 28  # bytes that xz looks back for a document that was cut in another way before


def write_texts(file: Path, shards: Iterable[Path]) -> int:
    """Pack the texts of the shards, a line of JSON each; their number."""
    file.parent.mkdir(parents=True, exist_ok=True)
    count, filters = 0, [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": DICTIONARY}]
    with lzma.open(file, "wt", encoding="utf-8", filters=filters) as lines:
        for shard in shards:
            texts = corpus.read(shard)
            lines.write(json.dumps(texts, ensure_ascii=False) + "\n")
            count += len(texts)
    return count


def read_texts(file: Path) -> Iterator[list[Text]]:
    """The texts of each shard."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield [Text(*each) for each in json.loads(line)]


def write_network(source: Path, folder: Path) -> None:
    """The encoder in `source` with its network in half precision."""
    folder.mkdir(parents=True, exist_ok=True)
    large = (".safetensors", ".bin", ".onnx")
    for path in source.iterdir():
        if path.suffix not in large:
            (shutil.copytree if path.is_dir() else shutil.copy)(path, folder / path.name)
    AutoModel.from_pretrained(source, add_pooling_layer=False).half().save_pretrained(folder)


def write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def facts(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    return content


def write_shard(
    path: Path, texts: Sequence[Text], rows: Sequence[Sequence[int]], targets: NDArray[np.float32], device: str
) -> None:
    """Keep what a student reads of a shard: the token ids of its texts, their targets, and the texts near each."""
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(
            file,
            texts=np.frombuffer(json.dumps(texts).encode(), np.uint8),
            ids=np.concatenate([np.asarray(row, np.uint16) for row in rows]),
            sizes=np.array([len(row) for row in rows], np.uint16),
            roles=np.array([ROLES.index(each.role) for each in texts], np.uint8),
            targets=targets.astype(np.float16),
            near=neighbours(targets, NEAR, device).astype(np.uint16),
        )
    unfinished.replace(path)


class PreparedShards(Shards):
    """The shards that `write_shard` kept, all in memory; their texts are read where `settings` need them."""

    def __init__(self, paths: Sequence[Path], settings: Settings) -> None:
        self._begin(paths, settings)
        self._all: dict[Path, Shard] = {}

    def _read(self, path: Path) -> Shard:
        if path not in self._all:
            with np.load(path, allow_pickle=False) as file:
                targets = file["targets"].astype(np.float32)
                targets /= np.linalg.norm(targets, axis=1, keepdims=True)
                texts = [Text("", ROLES[each]) for each in file["roles"].tolist()]  # type: ignore[arg-type]
                if self._settings.contrast:
                    texts = [Text(*each) for each in json.loads(file["texts"].tobytes())]
                ends = np.cumsum(file["sizes"], dtype=np.int64)
                rows: list[Any] = np.split(file["ids"], ends[:-1])
                self._all[path] = Shard(texts, targets, file["near"].astype(np.int64), rows)
        return self._all[path]
