"""What every test of the pages needs: a home, an index in it, and one look at what is installed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def components_found_once() -> Iterator[None]:
    """Streamlit reads the metadata of all that is installed for every page that a test opens; a server does it once."""
    scanner = pytest.importorskip("streamlit.components.v2.manifest_scanner")
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(scanner, "scan_component_manifests", cache(scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session", autouse=True)
def scripts_waited_for() -> Iterator[None]:
    """AppTest looks a thousand times a second whether its script has ended, and takes the turn of the script for it."""
    runner = pytest.importorskip("streamlit.testing.v1.local_script_runner")
    asked = runner.require_widgets_deltas

    def joined(one: Any, timeout: float) -> None:
        one._script_thread.join(timeout)
        asked(one, 1)

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(runner, "require_widgets_deltas", joined)
        yield


@pytest.fixture(scope="session", autouse=True)
def garbage_left_to_python() -> Iterator[None]:
    """Streamlit looks through every object of the process whenever a script has ended: half a second in a whole run."""
    runner = pytest.importorskip("streamlit.runtime.scriptrunner.script_runner")
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(runner, "gc", SimpleNamespace(collect=lambda _: 0))
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of indexes of the pages, which is also where they run."""
    from helpers.pages import at_home

    with at_home(tmp_path, tmp_path, monkeypatch):
        yield tmp_path


@pytest.fixture
def notes(home: Path, request: pytest.FixtureRequest) -> Path:
    """An index of the module's DOCUMENTS, which is all that the home has."""
    from semsearch import Index

    with Index.create("notes", encoder="hashing") as index:
        index.add(request.module.DOCUMENTS)
    return index.path
