"""Fixtures for the tests of stores."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test makes its store: not there yet."""
    return tmp_path / "notes"
