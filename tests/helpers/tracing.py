"""Graphs that torch traced, for tests that export a model more than once: an export spends its time on tracing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from semsearch.export import graph

traced_by_torch = graph.trace


@contextmanager
def tracing_once(kept: Path) -> Iterator[None]:
    """What is traced meanwhile goes to the file `kept` too; where that is there already, it is copied instead."""

    def trace(network: Any, example: Any, path: Path, longest: int, **options: Any) -> Path:
        if not kept.exists():
            shutil.copyfile(traced_by_torch(network, example, path, longest, **options), kept)
        return Path(shutil.copyfile(kept, path))

    with patch.object(graph, "trace", trace):
        yield
