"""The scripts of the checkout as modules, for tests of what is in them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType


def loaded(name: str) -> ModuleType:
    """`scripts.NAME`, executed anew, for tests that change what is in it."""
    sys.modules.pop(f"scripts.{name}", None)
    return importlib.import_module(f"scripts.{name}")
