"""The planted faults stay in step with the source: each patch applies, and the tests that it names are there.

That these tests fail then is shown by `scripts/faults/planted.py`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from helpers.scripts import loaded

CHECKOUT = Path(__file__).resolve().parents[2]
PATCHES = sorted((CHECKOUT / "tests" / "faults" / "planted").glob("*.patch"))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded("faults.planted")


def test_there_are_ten_at_least(script: ModuleType) -> None:
    assert len(script.faults()) == len(PATCHES) >= 10


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patches")
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_fault_applies_to_the_source_and_names_tests_that_exist(script: ModuleType, patch: Path) -> None:
    fault = script.read(patch)
    assert script.apply(fault, CHECKOUT, "--check") == ""
    assert re.findall(r"^\+\+\+ b/(?!semsearch/|ui/)", patch.read_text(), flags=re.MULTILINE) == []
    for test in fault.tests:
        file, _, function = test.partition("::")
        assert not function or f"def {function}(" in (CHECKOUT / file).read_text(encoding="utf-8")
        assert (CHECKOUT / file).is_file()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A checkout of one file, and a patch for it beside."""
    (tmp_path / "semsearch").mkdir()
    (tmp_path / "semsearch" / "errors.py").write_text("sound\n")
    diff = "--- a/semsearch/errors.py\n+++ b/semsearch/errors.py\n@@ -1 +1 @@\n-sound\n+broken\n"
    head = "Breaks: all.\nFound by: tests/test_structure.py\n\ndiff --git a/semsearch/errors.py b/semsearch/errors.py\n"
    (tmp_path / "small.patch").write_text(head + diff)
    return tmp_path


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patches")
@pytest.mark.parametrize(("code", "said"), [(1, "found"), (0, "NOT FOUND"), (2, "pytest ended with 2")])
def test_only_tests_that_fail_find_a_fault(
    script: ModuleType, small: Path, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = small / "semsearch" / "errors.py"
    ran: list[tuple[str, tuple[str, ...]]] = []
    monkeypatch.setattr(script, "outcome", lambda checkout, tests: ran.append((file.read_text(), tests)) or code)
    assert script.planted(script.read(small / "small.patch"), small) == said
    assert ran == [("broken\n", ("tests/test_structure.py",))]
    assert file.read_text() == "sound\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patches")
def test_a_patch_that_does_not_fit_is_reported(script: ModuleType, small: Path) -> None:
    patch, file = small / "small.patch", small / "semsearch" / "errors.py"
    file.write_text("another line\n")
    assert "patch does not apply" in script.planted(script.read(patch), small)
    assert file.read_text() == "another line\n"
    patch.write_text(patch.read_text().partition("\n")[2])
    with pytest.raises(ValueError, match="Breaks"):
        script.read(patch)
