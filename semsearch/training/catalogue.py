"""The catalogue of training methods: a line about each, its paper, and its default hyperparameters."""

from __future__ import annotations

import inspect
import re
from typing import TypedDict

from semsearch.training import objectives
from semsearch.types import JsonObject
from semsearch.utils import plugins

NEEDS = ("torch", "transformers", "safetensors")
SOURCE = re.compile(r"Sources?: (.*?)(https?://[^\s,;:]+)", re.DOTALL)
DATA = {"score": "pairs with a score or label", "class": "pairs with classes", "teacher": "texts, a teacher"}


class TrainingMethod(TypedDict):
    """`what` it does and the data it `needs`; `source` and `url` of its paper; defaults of its hyperparameters."""

    name: str
    what: str
    needs: str
    source: str
    url: str
    batch_size: int
    learning_rate: float
    epochs: float
    max_length: int
    options: JsonObject


def require_packages() -> None:
    """Raises MissingExtra where a package that training needs is not installed."""
    plugins.require(NEEDS, "train", "train")


def training_methods() -> list[TrainingMethod]:
    """Every training method, sorted by name. Raises MissingExtra where PyTorch is not installed."""
    require_packages()
    return [_method(name) for name in objectives.names()]


def _method(name: str) -> TrainingMethod:
    kind = objectives.load(name)
    text = inspect.getdoc(inspect.getmodule(kind)) or ""
    source = SOURCE.search(text)
    reads_pairs = set(objectives.columns_read(name, ("anchor", "positive"))) != {"anchor"}
    defaults = kind.hyperparameters
    return {
        "name": name,
        "what": " ".join(text.partition("\n\n")[0].split()),
        "needs": DATA.get(kind.labels) or ("pairs or triplets" if reads_pairs else "texts"),
        "source": " ".join(source[1].split()).rstrip(" ,:") if source else "",
        "url": source[2].rstrip(".") if source else "",
        "batch_size": defaults.batch_size,
        "learning_rate": defaults.learning_rate,
        "epochs": defaults.epochs,
        "max_length": defaults.max_length,
        "options": objectives.default_options(name),
    }
