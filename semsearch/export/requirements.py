"""The packages that an export needs: PyTorch to trace the model, and ONNX to write and run the graph."""

from __future__ import annotations

import importlib

from semsearch.utils import plugins

PACKAGES = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")


def require_packages(what: str = "export") -> None:
    """Raises MissingExtra where one of the packages is not installed; `what` is named in the message."""
    plugins.require(PACKAGES, what, "train")


def versions() -> dict[str, str]:
    """The version of each package, as the manifest of an export records it."""
    named = (name for name in PACKAGES if name != "onnxscript")  # modules: wheels have other names for a GPU
    return {name: str(importlib.import_module(name).__version__).partition("+")[0] for name in named}
