"""The files of a release beside the packages: what is in them can be checked against the repository."""

from __future__ import annotations

import json
import re
from types import ModuleType

import pytest
from helpers.scripts import loaded


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return loaded("release.release")


def test_the_bill_of_materials_has_every_locked_version_of_what_is_always_installed(release: ModuleType) -> None:
    bill = json.loads(release.bill_of_materials("0.1.0", 1_700_000_000, "ab" * 32))
    assert (bill["bomFormat"], bill["metadata"]["timestamp"]) == ("CycloneDX", "2023-11-14T22:13:20Z")
    packages = {one["name"]: one for one in bill["components"] if one["type"] == "library"}
    required = {name for name, one in packages.items() if one["scope"] == "required"}
    assert {"numpy", "google-re2", "sqlite-utils", "typer"} <= required
    lock = release.LOCK.read_text(encoding="utf-8")
    for name in required - {"pip"}:  # which every environment has
        assert f"{name}=={packages[name]['version']} " in lock
        (origin,) = packages[name]["externalReferences"]
        assert origin["hashes"] and all(f"sha256:{each['content']}" in lock for each in origin["hashes"])
    licences = [one["licenses"][0]["license"]["name"] for one in bill["components"]]
    assert all(licences) and not any(re.search(r"[`|]", one) for one in licences)
    assert any(one["name"] == "semsearch/models/assets/multilingual/*" for one in bill["components"])


def test_the_same_package_has_the_same_bill(release: ModuleType) -> None:
    first, again = (release.bill_of_materials("0.1.0", 1, "ab" * 32) for _ in range(2))
    assert first == again != release.bill_of_materials("0.1.0", 1, "cd" * 32)


def test_the_notes_are_the_section_of_the_version(release: ModuleType) -> None:
    changelog = "# Changelog\n\n## Unreleased\n\n- a\n\n## 0.2.0 – 2027-01-01\n\n- b\n\n### c\n- d\n\n## 0.1.0\n\n- e\n"
    assert release.notes("0.2.0", changelog) == "## 0.2.0 – 2027-01-01\n\n- b\n\n### c\n- d\n"
    assert release.notes("0.1.0", changelog) == "## 0.1.0\n\n- e\n"
    with pytest.raises(SystemExit):
        release.notes("0.3.0", changelog)
