"""The wheel has every file that the packages need, and its bytes do not depend on where and when it is built."""

from __future__ import annotations

import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest
from helpers.scripts import loaded

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = {"semsearch": "semsearch", "ui": "semsearch_ui", "scripts/sample": "semsearch_ui/sample"}
LEFT_OUT = {"scripts/sample/README.md", "scripts/sample/queries.tsv"}  # for those who measure
NOBODY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@pytest.fixture(scope="module")
def build_package() -> ModuleType:
    return loaded("release.build_package")


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The paths of the tracked files."""
    listed = subprocess.run(["git", "-C", str(CHECKOUT), "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this checkout has no history: git ls-files failed")
    return [path for path in listed.stdout.decode().split("\0") if (CHECKOUT / path).is_file()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, tracked: list[str]) -> Path:
    """A repository with the files that are packed, as they are now; graphs are empty, for the sake of time."""
    folder = tmp_path_factory.mktemp("checkout")
    for path in tracked:
        if path.startswith(("semsearch/", "ui/", "scripts/sample/", "tests/test_")) or "/" not in path:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(b"" if path.endswith(".onnx") else (CHECKOUT / path).read_bytes())
    git(folder, "init", "-q")
    git(folder, "add", "-Af")
    git(folder, "commit", "-qm", "all", GIT_COMMITTER_DATE="2024-02-03T04:05:06Z")
    return folder


def git(folder: Path, *words: str, **variables: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, env=os.environ | NOBODY | variables)


@pytest.fixture(scope="module")
def built(build_package: ModuleType, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    paths: list[Path] = build_package.build(checkout, tmp_path_factory.mktemp("dist"))
    return paths


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Another time zone, another home, and files that nobody else may read."""
    variables: Mapping[str, str] = {"TZ": "Asia/Tokyo", "HOME": str(tmp_path), "PYTHONHASHSEED": "7", "LANG": "C"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.long
@pytest.mark.usefixtures("elsewhere")
def test_both_files_have_the_same_bytes_when_built_elsewhere(
    build_package: ModuleType, checkout: Path, built: list[Path], tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(checkout), "clone")
    again = build_package.build(tmp_path / "clone", tmp_path / "dist")
    assert [path.name for path in again] == [path.name for path in built]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in built]


def test_the_wheel_has_every_tracked_file_of_the_packages(built: list[Path], tracked: list[str]) -> None:
    wanted = {
        package + path.removeprefix(folder)
        for path in tracked
        for folder, package in PACKAGES.items()
        if path.startswith(f"{folder}/") and path not in LEFT_OUT
    }
    with zipfile.ZipFile(built[1]) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == wanted


def test_the_metadata_says_what_a_package_index_shows(built: list[Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        said = wheel.read(name).decode()
    for field in ("Summary", "License-Expression", "License-File", "Requires-Python", "Keywords", "Classifier"):
        assert f"\n{field}: " in said
    assert "Description-Content-Type: text/markdown" in said
    assert "# semsearch" in said


def test_the_source_distribution_names_nobody_and_has_no_stray_tests(built: list[Path]) -> None:
    with tarfile.open(built[0]) as archive:
        members = archive.getmembers()
    assert {(each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, "", "")}
    assert not [each.name for each in members if "/tests" in each.name]
