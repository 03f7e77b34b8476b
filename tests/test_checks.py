"""The linters are clean: style and format, types, layers, and the API reference written from the code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
CHECKOUT = Path(__file__).resolve().parents[1]


def test_scripts_check_finds_nothing() -> None:
    ran = subprocess.run([CHECKOUT / "scripts" / "check"], cwd=CHECKOUT, capture_output=True, text=True)
    assert not ran.returncode, ran.stdout + ran.stderr
