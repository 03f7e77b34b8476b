"""The planted faults stay in step with the source: each patch applies, and the tests that it names are there.

That these tests fail then is shown by `scripts/planted_faults.py`.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PATCHES = sorted((CHECKOUT / "tests" / "faults" / "planted").glob("*.patch"))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("planted_faults", CHECKOUT / "scripts" / "planted_faults.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks up its annotations
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patches")
def test_a_patch_that_does_not_fit_is_reported(script: ModuleType, tmp_path: Path) -> None:
    head = "Breaks: nothing.\nFound by: tests/test_structure.py\n\n"
    file = "semsearch/errors.py"
    diff = f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -1,1 +1,1 @@\n-no such line\n+another\n"
    (tmp_path / "stale.patch").write_text(head + diff)
    assert "patch does not apply" in script.apply(script.read(tmp_path / "stale.patch"), CHECKOUT, "--check")
    (tmp_path / "stale.patch").write_text(diff)
    with pytest.raises(ValueError, match="Breaks"):
        script.read(tmp_path / "stale.patch")
