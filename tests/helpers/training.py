"""Small runs for tests: a few texts, a dev set that they are judged by, and learners of tiny models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from semsearch.training import Dataset

SENTENCE = "the cat sat on a mat near old bridge cost of winter repair is red car small house man plays music"
WORDS = SENTENCE.split()
TEXTS = [" ".join(WORDS[(3 * at + 5 * each) % len(WORDS)] for each in range(1 + at % 7)) for at in range(24)]
LABELS = [float(at * 7 % 5) for at in range(len(TEXTS))]


def examples(rows: int = 12, *, columns: Sequence[str] = ("anchor",), labels: bool = False) -> Dataset:
    """`rows` texts, or rows of texts, of 1 to 7 words."""
    texts = {name: [TEXTS[(row + 5 * at) % len(TEXTS)] for row in range(rows)] for at, name in enumerate(columns)}
    return Dataset(texts, LABELS[:rows] if labels else None, source="a few texts")


class Rising:
    """A dev set that every encoder is better on than the one before, and that remembers what it was asked."""

    measure = "how often it was asked"

    def __init__(self, scores: Sequence[float] = ()) -> None:
        self.scores, self.vectors = list(scores), []  # type: tuple[list[float], list[Any]]

    def score(self, encode: Any) -> float:
        self.vectors.append(encode(TEXTS[:3]))
        return self.scores[len(self.vectors) - 1] if self.scores else float(len(self.vectors))


class Near:
    """A dev set whose score follows from the encoder alone."""

    measure = "cosine of two texts"

    def score(self, encode: Any) -> float:
        one, other = encode(TEXTS[3:5])
        return float(100 * (one @ other))


def learner(base: str | Path, method: str, *, double: bool = False, **recipe: Any) -> tuple[Any, Any]:
    """The learner of a method and its objective, as train() makes them, in evaluation mode; both random for ever."""
    from dataclasses import replace

    import torch

    from semsearch.training import objectives
    from semsearch.training.base_model import load_base
    from semsearch.training.model import TrainableModel

    torch.manual_seed(5)
    kind, options = objectives.load(method), recipe.pop("options", {})
    columns = recipe.pop("columns", ("anchor",))
    told = replace(kind.hyperparameters, **recipe)
    made = TrainableModel(load_base(base, told), told, method, options, device="cpu")
    objective = objectives.make(method, replace(made.shape, columns=columns, classes=3), options)
    if double:
        made.network.double()
        objective.double()
        if made.frozen is not None:
            made.frozen.double()
    return made, objective.train(False)


def said(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run, without what differs from time to time."""
    lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def outcome(folder: Path) -> tuple[Any, ...]:
    """All that has to be the same of two runs: weights and manifest bit for bit, metrics and result but for time."""
    result = json.loads((folder / "run" / "result.json").read_text())
    manifest = json.loads((folder / "encoder.json").read_text())
    weights = {file.name: file.read_bytes() for file in sorted(folder.glob("*.safetensors"))}
    same = {key: value for key, value in result.items() if key != "seconds"}
    return weights, said(folder), same, {**manifest, "name": "", "sha256": ""}
