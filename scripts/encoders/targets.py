"""What a student learns to reproduce: the vectors of several teachers, put together, computed once per shard.

The cosine of two targets is the weighted mean of the teachers' cosines, each whitened in part, but for the directions
in which the targets of the first shard vary least: they are left out, so that a target is as wide as a student. A
teacher reads a query under its own prompt for queries, and may have another weight there; the weight of a cosine of
texts of two roles is the geometric mean of its two weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from scripts.encoders import corpus
from scripts.encoders.corpus import Text
from scripts.encoders.teachers import unit
from semsearch.evaluation.papers import whitening

Encode = Callable[[Sequence[Text]], NDArray[np.float32]]
WIDTH = 384


@dataclass(frozen=True, slots=True)
class Part:
    """The share of a teacher in a target: the weight of its cosine, the power that it is whitened to, and the weight
    of its cosine for queries where that is another one."""

    weight: float
    power: float
    query_weight: float | None = None

    def factors(self, texts: Sequence[Text]) -> NDArray[np.float64]:
        """The square roots of the weights: (n, 1)."""
        weight = {"passage": self.weight, "query": self.weight if self.query_weight is None else self.query_weight}
        return np.sqrt([[weight[each.role]] for each in texts])


class Vectors:
    """The teachers' vectors of each shard, in half precision, one file for a teacher and shard."""

    def __init__(self, folder: Path, teachers: Mapping[str, Encode]) -> None:
        self._folder, self._teachers = folder, teachers

    def of(self, shard: Path) -> dict[str, NDArray[np.float32]]:
        """The vectors (n, d) of every teacher, computed where the file is missing."""
        return {name: self._one(name, shard).astype(np.float32) for name in self._teachers}

    def _one(self, name: str, shard: Path) -> NDArray[np.float16]:
        path = self._folder / name / f"{shard.stem}.npy"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            with unfinished.open("wb") as file:
                vectors = self._teachers[name](corpus.read(shard))
                np.save(file, np.asarray(vectors, np.float16), allow_pickle=False)
            unfinished.replace(path)
        return np.asarray(np.load(path, allow_pickle=False), np.float16)


class Target:
    """Teachers' vectors -> unit vectors (n, WIDTH). Fitted on the texts of one shard and their vectors."""

    def __init__(
        self, parts: Mapping[str, Part], texts: Sequence[Text], fitted: Mapping[str, NDArray[np.float32]]
    ) -> None:
        self.parts = dict(parts)
        self._whitenings = {
            name: whitening.fit([unit(fitted[name])], power=part.power) if part.power else np.asarray
            for name, part in parts.items()
        }
        joined = self._joined(texts, fitted)
        self._directions = np.linalg.svd(joined.T @ joined)[0][:, :WIDTH]

    def __call__(self, texts: Sequence[Text], vectors: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        return unit(self._joined(texts, vectors) @ self._directions).astype(np.float32)

    def _joined(self, texts: Sequence[Text], vectors: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float64]:
        """Side by side, of length 1: the square of a factor is the weight of a cosine."""
        return unit(
            np.hstack(
                [
                    part.factors(texts) * unit(np.asarray(self._whitenings[name](unit(vectors[name]))))
                    for name, part in self.parts.items()
                ]
            )
        )


def neighbours(vectors: NDArray[np.float32], count: int, device: str = "cpu") -> NDArray[np.int64]:
    """The places (n, count) of the vectors nearest to each, without itself, the nearest first."""
    rows = torch.from_numpy(vectors).to(device)
    nearest = torch.empty((len(rows), count), dtype=torch.int64)
    for start in range(0, len(rows), 1024):
        cosines = rows[start : start + 1024] @ rows.T
        cosines[torch.arange(len(cosines)), torch.arange(start, start + len(cosines))] = -torch.inf
        nearest[start : start + 1024] = cosines.topk(count, dim=1).indices.cpu()
    return nearest.numpy()


def parsed(text: str) -> dict[str, Part]:
    """Parts written as JSON: {"bge-small": [0.6, 0.2]}, a weight and a power for each, and a weight for queries."""
    return {name: Part(*values) for name, values in json.loads(text).items()}
