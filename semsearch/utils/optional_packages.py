"""Optional packages: a check that they are installed, before any work that needs them begins."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from semsearch.errors import MissingExtra


def require(packages: Iterable[str], what: str, extra: str) -> None:
    """Raises MissingExtra, which names `what` and the first of `packages` that is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(what, extra, package)
