"""Several machines that write to one index: the ids of their documents differ, though their folders have one name."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch import Index
from semsearch.indexing.sources import Roots, update
from semsearch.indexing.sources import SyncOptions as Options
from semsearch.stores import machine_recipes


@pytest.mark.parametrize(("taken", "prefix"), [([], ""), ([""], "docs/"), (["", "docs/"], "docs-2/")])
def test_a_folder_gets_a_prefix_that_no_other_machine_has(tmp_path: Path, taken: list[str], prefix: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("One")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        recipe = {**index.info()["recipe"], "taken": taken}
    found = update([tmp_path / "docs"], Options(), recipe)
    assert dict(found.roots.bases) == {str((tmp_path / "docs").resolve()): prefix}
    assert Roots.of(found.recipe) == found.roots


def test_a_machine_has_the_name_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_recipes.VARIABLE, "")
    assert machine_recipes.name()
    monkeypatch.setenv(machine_recipes.VARIABLE, "lab-3")
    assert machine_recipes.name() == "lab-3"
