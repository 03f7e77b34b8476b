"""A writer is killed at random moments. Nothing that it acknowledged may be missing afterwards."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forks
import numpy as np
import pytest
import writers
from helpers.opened import DenseSearch, all_stamps, verify
from helpers.stores import entry, vectors_of
from programme import record, trials

from semsearch import Index
from semsearch.indexing.ingest import BATCH
from semsearch.stores.local import create, open_reader, open_writer

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed with SIGKILL")


KILLS = trials(8, 200)


def acknowledged_until_killed(
    target: Callable[..., None], *arguments: Any, after: float, commits: int = 0
) -> list[str]:
    """All that a process of `target` acknowledged until it was killed.

    That is `after` seconds after it began to work, or after so many commits: on a busy machine the first takes long.
    """
    ended = forks.run(target, *arguments, after=after, first=1 + commits)
    assert ended.killed, "it ended by itself"
    return [uri for message in ended.said for uri in message]


@pytest.mark.slow
def test_nothing_that_was_acknowledged_is_lost_in_a_kill(tmp_path: Path) -> None:
    chance = random.Random(7)
    folder = tmp_path / "notes"
    create(folder).close()
    written, gone = set[str](), set[str]()
    commits = 0
    for kill in range(1, KILLS + 1):
        said = acknowledged_until_killed(
            writers.write, folder, kill * 100_000, after=chance.uniform(0, 0.2), commits=kill % 2 * 3
        )
        commits += len(said)
        written |= {uri for uri in said if not uri.startswith("not ")}
        gone |= {uri.removeprefix("not ") for uri in said if uri.startswith("not ")}
        with open_reader(folder) as reader:
            assert verify(reader) == []
            there = set(all_stamps(reader))
        missing = written - gone - there
        assert not gone & there, "what was deleted is back"
        assert len(missing) <= 1, "acknowledged documents are lost"
        # one change may be on disk whose acknowledgement the kill prevented: a rename, or a deletion
        assert all(uri.endswith(("-0", "-1")) for uri in missing), "an acknowledged document is lost"
        gone |= missing
    assert commits >= KILLS
    record("kill -9 of a writer through the API", KILLS, lost=0, acknowledged=commits)
    with open_writer(folder) as store:
        assert verify(store) == []
        store.replace([entry("after", "All this")], 1)


@pytest.mark.slow
def test_a_kill_while_the_store_is_made_leaves_none_or_a_whole_one(tmp_path: Path) -> None:
    chance = random.Random(3)
    count = trials(10, 100)
    for number in range(count):
        folder = tmp_path / f"n{number}"
        said = acknowledged_until_killed(writers.create, folder, after=chance.uniform(0, 0.03))
        if (folder / "store.db").exists():
            open_writer(folder).close()
        else:
            assert not said
            create(folder).close()
        with open_reader(folder) as store:
            assert verify(store) == []
    record("kill -9 while a store is made", count, half=0)


@pytest.mark.slow
def test_searches_are_right_whenever_a_kill_falls_on_the_building_of_caches(tmp_path: Path) -> None:
    chance, folder = random.Random(5), tmp_path / "notes"
    create(folder).close()
    gone = set[str]()
    for kill in range(1, KILLS + 1):
        said = acknowledged_until_killed(
            writers.build, folder, kill * 100_000, after=chance.uniform(0, 0.1), commits=2 + kill % 3
        )
        gone |= {uri.removeprefix("not ") for uri in said if uri.startswith("not ")}
        with open_writer(folder) as store, open_reader(folder) as reader:
            space, queries = reader.state().spaces[0], vectors_of([f"Text {n}" for n in range(20)])
            ids, cosines, plan = DenseSearch(reader, space, small=-1).search(queries, 10)
            assert plan["cached"] and not plan["warnings"]
            stored = np.concatenate([rows for _, rows in store.reader.vectors(space.id)])
            np.testing.assert_allclose(cosines, -np.sort(-(queries @ stored.T), axis=1)[:, :10], atol=1e-6)
            assert not gone & {passage.document for passage in reader.passages(ids.ravel())}
            assert verify(reader) == []
    record("kill -9 while a cache is built", KILLS, wrong=0)


@pytest.mark.slow
def test_a_file_of_records_is_indexed_once_by_however_many_killed_runs(tmp_path: Path) -> None:
    chance, folder, file, count = random.Random(5), tmp_path / "notes", tmp_path / "many.jsonl", 3000
    file.write_text("".join(f'{{"text": "Engine {n} {"turns and " * 30}turns."}}\n' for n in range(count)))
    Index.create(folder, encoder="hashing").close()
    stored, kills = 0, 0
    while stored < count - 5 * BATCH:
        said = acknowledged_until_killed(writers.index, folder, file, after=chance.uniform(0, 0.1), commits=1)
        with open_reader(folder) as reader:
            assert verify(reader) == []
            now, kills = reader.state().passages, kills + 1
        assert now >= stored + max(map(int, said))
        stored = now
    assert kills > 1
    record("kill -9 while a file of records is indexed", kills, lost=0)
    with Index.open(folder) as index:
        assert (index.sync([file]).added, index.sync([file]).unchanged) == (count - stored, count)
        assert [one["id"] for one in index.documents()] == sorted(f"many.jsonl#{n + 1}" for n in range(count))
        assert all(f"Engine {n} " in index.get(f"many.jsonl#{n + 1}")["text"] for n in range(0, count, 100))
