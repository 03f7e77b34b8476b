"""A training session packed for a machine without the teachers, the texts and the network: token ids and targets.

DIR/shards/000.npz …      token ids under the template of each text's role, roles, and targets in half precision
DIR/choice.json.xz        what choices are made on: pairs, queries, documents
DIR/NAME/                 the weights that a student starts from, in half precision, with their tokenizer
DIR/session.json          the template, and the teachers of the targets
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from transformers import AutoModel

from scripts.encoders import student
from scripts.encoders.corpus import Text
from scripts.encoders.distillation import NEAR, Settings, Shard, Shards
from scripts.encoders.targets import neighbours
from semsearch.types import JsonMapping

FACTS, CHOICE = "session.json", "choice.json.xz"
ROLES = ("query", "passage")


def write_shards(
    folder: Path, shards: Iterable[tuple[Sequence[Text], NDArray[np.float32]]], learner: student.Student, most: int
) -> int:
    """Write texts and targets, shard by shard, until the files have `most` bytes; the number of texts."""
    folder.mkdir(parents=True, exist_ok=True)
    count, written = 0, 0
    for at, (texts, targets) in enumerate(shards):
        path = folder / f"{at:03}.npz"
        rows = learner.rows(texts)
        np.savez_compressed(
            path,
            ids=np.concatenate([np.asarray(row, np.uint16) for row in rows]),
            sizes=np.array([len(row) for row in rows], np.uint16),
            roles=np.array([ROLES.index(each.role) for each in texts], np.uint8),
            targets=targets.astype(np.float16),
        )
        written += path.stat().st_size
        if written > most:
            path.unlink()
            break
        count += len(texts)
    return count


def write_base(source: Path, folder: Path) -> None:
    """The network in `source` in half precision, with its tokenizer."""
    AutoModel.from_pretrained(source, add_pooling_layer=False).half().save_pretrained(folder)
    student.copy_tokenizer(source, folder)


def write_facts(folder: Path, facts: JsonMapping) -> None:
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def facts(folder: Path) -> Mapping[str, str]:
    content: dict[str, str] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    return content


class PreparedShards(Shards):
    """Prepared shards; their texts only tell the role."""

    def __init__(self, paths: Sequence[Path], settings: Settings) -> None:
        self._begin(paths, settings)

    def _read(self, path: Path) -> Shard:
        if self._last is None or self._last[0] != path:
            with np.load(path, allow_pickle=False) as file:
                targets = file["targets"].astype(np.float32)
                targets /= np.linalg.norm(targets, axis=1, keepdims=True)
                texts = [Text("", ROLES[each]) for each in file["roles"].tolist()]  # type: ignore[arg-type]
                rows = list(_rows(file["ids"], file["sizes"]))
            self._last = path, Shard(texts, targets, neighbours(targets, NEAR), rows)
        return self._last[1]


def _rows(ids: NDArray[np.uint16], sizes: NDArray[np.uint16]) -> Iterator[list[int]]:
    ends = np.cumsum(sizes, dtype=np.int64)
    for start, end in zip(ends - sizes, ends, strict=True):
        yield ids[start:end].tolist()
