"""Drivers of remote stores with an address, so that tests can call them like that of a local store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from helpers.scripts import loaded
from semsearch.stores import milvus


class Addressed:
    """A driver whose new stores are all at one address."""

    def __init__(self, driver: Any, address: str) -> None:
        self._driver, self.address = driver, address

    def create(self, location: Path, fill: Callable[..., None] | None = None, /, *, address: str = "") -> Any:
        return self._driver.create(location, fill, address=address or self.address)

    def restore(self, file: Path, location: Path, prepare: Any, progress: Any, /, *, address: str = "") -> None:
        self._driver.restore(file, location, prepare, progress, address=address or self.address)

    def link(self, location: Path, address: str, /) -> bool:
        return bool(self._driver.link(location, address or self.address))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


@contextmanager
def milvus_lite(folder: Path) -> Iterator[Any]:
    """Milvus Lite with a file in `folder`."""
    _require("milvus_lite")
    yield Addressed(milvus, f"{folder}/milvus.db?patience=5")


@contextmanager
def milvus_server(folder: Path) -> Iterator[Any]:
    """A real Milvus server, in a network namespace of its own: for scripts/test --scale."""
    _require()
    standalone = loaded("milvus_standalone")
    try:
        standalone.require_namespace()
        standalone.python()
    except RuntimeError as error:
        pytest.skip(str(error))
    with standalone.running(folder / "server") as server:
        yield Addressed(milvus, server.address)


MILVUS = (milvus_lite, milvus_server)  # what stands in for a server, and a real one


def _require(*more: str) -> None:
    for package in ("pymilvus", *more):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: the extras scale and dev have it")
