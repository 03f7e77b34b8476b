"""Verifying, compacting, dumping and restoring say what they do, and can be ended at any report without a trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.stores import contents, made

from semsearch.stores.local import LocalWriter, open_reader
from semsearch.stores.local.backup import dump, restore
from semsearch.stores.local.database import steps
from semsearch.types import Progress

Report = Callable[[Progress], None]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports from small data as from large."""
    monkeypatch.setattr(steps, "ROWS", 3)
    monkeypatch.setattr(steps, "INSTRUCTIONS", 50)


@pytest.fixture
def store(tmp_path: Path) -> LocalWriter:
    return made(tmp_path / "notes", 12)[0]


def jobs(store: LocalWriter, place: Path) -> dict[str, Callable[[Report], object]]:
    dump(store.reader, place / "sound.dump")
    return {
        "verify": lambda report: store.reader.verify(report),
        "compact": lambda report: store.compact(report),
        "dump": lambda report: dump(store.reader, place / "new.dump", report),
        "restore": lambda report: restore(place / "sound.dump", place / "new", None, report),
    }


STEPS = {
    "verify": [
        "schema",
        "pages",
        "references",
        "documents",
        "vectors",
        "checksums",
        "counters",
        "records",
        "full text",
        "postings",
    ],
    "compact": ["merging the full-text index", "rewriting the database"],
    "dump": ["copying the database", "verifying the copy", "compacting the copy", "packing it"],
    "restore": ["unpacking", "verifying"],
}


@pytest.mark.parametrize("job", STEPS)
def test_every_step_is_named_and_reported_while_it_goes_on(store: LocalWriter, tmp_path: Path, job: str) -> None:
    told: list[Progress] = []
    jobs(store, tmp_path)[job](told.append)
    named = [one for one in told if one.item]
    assert list(dict.fromkeys(one.item.split(":")[0] for one in named)) == STEPS[job]
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert {one.total for one in told} == {len(STEPS[job])}
    assert len(told) > 2 * len(STEPS[job])


def test_rows_are_counted_on_the_way(store: LocalWriter) -> None:
    told: list[str] = []
    store.reader.verify(lambda step: told.append(step.item))
    assert {"documents: 3 of 12", "documents: 9 of 12", "vectors: 3 of 24", "vectors: 21 of 24"} <= set(told)


class Ended(Exception):
    """As the pages stop a job."""


@pytest.mark.parametrize("error", [Ended, KeyboardInterrupt])
@pytest.mark.parametrize("job", STEPS)
def test_a_job_that_is_ended_at_any_report_leaves_nothing_behind_and_the_store_as_it_was(
    store: LocalWriter, tmp_path: Path, job: str, error: type[BaseException]
) -> None:
    run, before = jobs(store, tmp_path)[job], contents(store)
    files = sorted(path.name for path in tmp_path.iterdir())
    total = 0

    def count(_: Progress) -> None:
        nonlocal total
        total += 1

    store.reader.verify(count)
    for at in {0, 1, 2, 3, 5, 8, 13, 21, 34, total // 2}:
        left = at

        def end(_: Progress) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise error

        try:
            run(end)
        except error:
            assert sorted(path.name for path in tmp_path.iterdir()) == files
        else:  # it had fewer reports
            break
        assert contents(store) == before
    assert store.reader.verify(lambda _: None) == []
    with open_reader(tmp_path / "notes") as reader:
        assert reader.verify(lambda _: None) == []


def test_an_error_of_sqlite_itself_is_not_hidden_by_the_reports(store: LocalWriter) -> None:
    with pytest.raises(sqlite3.OperationalError), steps.watched(store.connection.raw, lambda: None):
        store.connection.raw.execute("SELECT * FROM nothing")
