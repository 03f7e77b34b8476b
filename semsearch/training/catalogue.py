"""What an encoder can be trained by: each method in a line, its paper, and the figures that hold otherwise untold."""

from __future__ import annotations

import importlib.util
import inspect
import re
from typing import TYPE_CHECKING, Any

from semsearch.utils import optional_packages, plugins

if TYPE_CHECKING:
    from semsearch.training.objectives import Base

NEEDS = ("torch", "transformers", "safetensors")
SOURCE = re.compile(r"Sources?: (.*?)(https?://[^\s,;:]+)", re.DOTALL)
LABELLED = {"score": "pairs with a score or label", "class": "pairs with classes", "teacher": "texts, a teacher"}


def require_packages() -> None:
    """Raises MissingExtra where a package that training needs is not installed."""
    optional_packages.require(NEEDS, "train", "train")


def method_names() -> list[str]:
    """The names of all training methods, found without importing them: PyTorch need not be installed."""
    spec = importlib.util.find_spec("semsearch.training.objectives")
    assert spec is not None
    return [name.replace("_", "-") for name in plugins.names(importlib.util.module_from_spec(spec))]


def training_methods() -> list[dict[str, Any]]:
    """Every method by name: what it does and needs, its `source` and `url`, batch, rate, epochs, tokens, options.

    Raises MissingExtra where PyTorch is not installed.
    """
    require_packages()
    from semsearch.training import objectives

    return [_told(name, objectives.kind(name), objectives.options_of(name)) for name in plugins.names(objectives)]


def _told(name: str, kind: type[Base], options: dict[str, Any]) -> dict[str, Any]:
    text = inspect.getdoc(inspect.getmodule(kind)) or ""
    found = SOURCE.search(text)
    figures = {key: getattr(kind.recipe, key) for key in ("batch", "rate", "epochs", "tokens")}
    return {
        "name": name.replace("_", "-"),
        "what": " ".join(text.partition("\n\n")[0].split()),
        "needs": LABELLED.get(kind.labels) or ("pairs or triplets" if _pairs(name) else "texts"),
        "source": " ".join(found[1].split()).rstrip(" ,:") if found else "",
        "url": found[2].rstrip(".") if found else "",
        **figures,
        "options": options,
    }


def _pairs(name: str) -> bool:
    """Whether the method reads a second text where there is one."""
    from semsearch.training import objectives

    shape = objectives.Shape(width=8, depth=2, dim=8, columns=(objectives.ANCHOR, objectives.POSITIVE), classes=2)
    return any(view.column != objectives.ANCHOR for view in objectives.make(name, shape, {}).views)
