"""Errors: what they suggest works."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from semsearch import errors


class Distribution:
    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        return self.direct_url if name == "direct_url.json" else None


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, "pip install 'semsearch[ui]'"),
        (
            '{"url": "file:///a/semsearch.whl", "archive_info": {}}',
            "pip install 'semsearch[ui] @ file:///a/semsearch.whl'",
        ),
        ('{"url": "file:///a/checkout", "dir_info": {}}', "pip install 'semsearch[ui] @ file:///a/checkout'"),
        (
            '{"url": "https://example.org/s.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}',
            "pip install 'semsearch[ui] @ git+https://example.org/s.git'",
        ),
    ],
)
def test_an_extra_is_installed_from_where_semsearch_came(
    direct_url: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages" / "semsearch" / "errors.py"))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution(direct_url))
    assert errors.install_command("ui") == expected
    assert errors.MissingExtra("The page", "ui", "streamlit").fix == f"Install it: {expected}"


def test_in_a_checkout_the_extra_is_installed_from_the_checkout() -> None:
    checkout = Path(errors.__file__).resolve().parents[1]
    assert errors.install_command("cpu,ui") == f"pip install -e '{checkout}[cpu,ui]'"
    assert (checkout / "pyproject.toml").is_file()


def test_an_unknown_name_suggests_the_closest_and_lists_all() -> None:
    error = errors.UnknownName("loader", "jsnol", ["csv", "jsonl"])
    assert str(error) == "no loader is called 'jsnol'. Did you mean 'jsonl'? Choose from: csv, jsonl."
