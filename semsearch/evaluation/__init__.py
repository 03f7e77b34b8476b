"""Evaluation: how good an encoder or an index is, in numbers.

The public names are listed in `__init__.pyi`. Each is imported on first use; those that look inside a network need
PyTorch and raise MissingExtra without it.
"""

import lazy_loader

from semsearch.errors import MissingExtra

_resolve, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        return _resolve(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtra(f"semsearch.evaluation.{name}", "train", "PyTorch") from error
