"""Training objectives, one per file: which encodings of a text are compared, and the loss on them.

`objectives/<name>.py` has a frozen dataclass `Options`, whose fields may state a range (`_base.ABOVE_ZERO`), and a
class `Objective` (see `_base.BaseObjective`). `semsearch train --method NAME` uses it (`_` is written `-`). An
objective has no access to the network: its `views` define the encodings, and `loss` takes their vectors. So it can be
compared with the formula of its paper, and the vectors of a batch can be computed in parts (gradient caching).

This registry, which also describes the methods, imports PyTorch only when an objective is loaded.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypedDict

from semsearch.errors import UsageError
from semsearch.training.hyperparameters import Shape
from semsearch.types import JsonObject
from semsearch.utils import plugins
from semsearch.utils.plugins import check_options

if TYPE_CHECKING:
    from semsearch.training.objectives._base import BaseObjective

NEEDS = ("torch", "transformers", "safetensors")
SOURCE = re.compile(r"Sources?: (.*?)(https?://[^\s,;:]+)", re.DOTALL)
DATA = {"score": "pairs with a score or label", "class": "pairs with classes", "teacher": "texts, a teacher"}


def names(*, foreign: bool = True) -> tuple[str, ...]:
    """Every objective as `--method` spells it, sorted; without `foreign`, only those of this package, which is fast."""
    return tuple(name.replace("_", "-") for name in plugins.names(sys.modules[__name__], foreign=foreign))


def load(name: str) -> type[BaseObjective]:
    """The class of the objective called `name`. Raises UnknownName."""
    objective: type[BaseObjective] = _module(name).Objective
    return objective


def default_options(name: str) -> JsonObject:
    """The options of the objective called `name` with their defaults. Raises UnknownName."""
    return asdict(_module(name).Options())


def parse_options(name: str, values: Mapping[str, object]) -> Any:
    """The `Options` of the objective called `name`. Raises UnknownName, and UsageError for an invalid value."""
    kind = _module(name).Options
    parsed = check_options(f"training method {name}", values, default_options(name))
    ranges = {field.name: field.metadata.get("range", "0 or more") for field in fields(kind)}
    for option, value in parsed.items():
        expected = ranges[option]
        if type(value) in (int, float) and not _is_in_range(value, expected):
            raise UsageError(f"option {option} of {name} cannot be {value!r}.", f"It has to be {expected}.")
    return kind(**parsed)


def make(name: str, shape: Shape, options: Mapping[str, object] | None = None) -> BaseObjective:
    """The objective called `name` with these options. Raises as `parse_options` does."""
    made: BaseObjective = _module(name).Objective(shape, parse_options(name, options or {}))
    return made


def columns_read(name: str, columns: Sequence[str], options: Mapping[str, object] | None = None) -> list[str]:
    """The columns that the objective called `name` reads of a dataset with `columns`."""
    shape = Shape(width=8, depth=2, dim=8, columns=tuple(columns), classes=2)
    return [view.column for view in make(name, shape, options).views]


def _module(name: str) -> Any:
    return plugins.load(sys.modules[__name__], name.replace("-", "_"))


def _is_in_range(value: float, expected: str) -> bool:
    return math.isfinite(value) and {"above 0": value > 0, "0 or more": value >= 0, "finite": True}[expected]


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
    return [_method(name) for name in names()]


def _method(name: str) -> TrainingMethod:
    kind = load(name)
    text = inspect.getdoc(inspect.getmodule(kind)) or ""
    source = SOURCE.search(text)
    reads_pairs = set(columns_read(name, ("anchor", "positive"))) != {"anchor"}
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
        "options": default_options(name),
    }
