"""Saved runs: read back whole and in order, and never listed as an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch import admin
from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import delete_run, list_runs, save_run


def test_runs_are_read_back_as_they_were_oldest_first(tmp_path: Path) -> None:
    runs = [{"measure": f"m{at}", "rows": [{"nDCG@10": 0.1 * at, "text": "<b>ü</b>"}]} for at in range(5)]
    names = [save_run(run, tmp_path) for run in runs]
    assert list(list_runs(tmp_path).items()) == list(zip(names, runs, strict=True))


def test_deleting_a_run_keeps_the_others(tmp_path: Path) -> None:
    first, second = (save_run({"at": at}, tmp_path) for at in (1, 2))
    delete_run(first, tmp_path)
    assert list(list_runs(tmp_path)) == [second]
    for name in (first, "../store", "", second[:-1]):
        with pytest.raises(NotFound):
            delete_run(name, tmp_path)
    assert list(list_runs(tmp_path)) == [second]


def test_a_broken_file_hides_no_other_run_and_is_not_deleted(tmp_path: Path) -> None:
    first, second = (save_run({"at": at}, tmp_path) for at in (1, 2))
    file = tmp_path / ".evaluations" / f"{first}.json"
    file.write_text('{"at": ', "utf-8")
    (file.parent / "mine.json").write_text("{}", "utf-8")
    assert list(list_runs(tmp_path)) == [second]
    assert file.is_file()


def test_values_that_json_cannot_represent_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for wrong in ({"a": float("nan")}, {"a": object()}):
        with pytest.raises(UsageError):
            save_run(wrong, tmp_path)
    assert list_runs(tmp_path) == {}


def test_saved_runs_are_not_listed_as_an_index(tmp_path: Path) -> None:
    save_run({}, tmp_path)
    assert admin.names(tmp_path) == []
