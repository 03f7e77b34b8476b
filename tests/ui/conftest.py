"""What every test of the pages needs to be quick."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest


@pytest.fixture(scope="session", autouse=True)
def components_found_once() -> Iterator[None]:
    """Streamlit reads the metadata of all that is installed for every page that a test opens; a server does it once."""
    scanner = pytest.importorskip("streamlit.components.v2.manifest_scanner")
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(scanner, "scan_component_manifests", cache(scanner.scan_component_manifests))
        yield
