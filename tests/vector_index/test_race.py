"""The vector indexes are compared on the stored vectors, and the fastest can be kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semsearch import Document, Index, admin
from semsearch.vector_index.race import BackendFigures, fastest

COUNT, WIDTH = 400, 16


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "vectors", encoder=None, dimensions=WIDTH) as made:
        add(made, 0, COUNT)
        yield made


def add(index: Index, begin: int, end: int) -> None:
    rows = np.random.default_rng(begin).normal(size=(end - begin, WIDTH))
    index.add([Document(str(n), f"Passage {n}") for n in range(begin, end)], vectors=rows)


def measured(index: Index) -> dict[str, object]:
    found: dict[str, object] = index.info()["recipe"].get("measured", {})
    return found


def test_every_vector_index_is_measured_and_exact_ones_find_everything(index: Index) -> None:
    found = admin.bench(index, sample=20)
    rows = {row["backend"]: row for row in found["backends"]}
    assert set(rows) == set(admin.backends()) - {"auto"}
    assert found["fastest"] in rows and not found["kept"] and measured(index) == {}
    for name in ("exact", "flat"):
        assert rows[name]["recall"] == rows[name]["filtered_recall"] == 1.0
    assert all(row["query_ms"] > 0 and row["bytes_per_vector"] > 0 for row in rows.values())


def test_the_fastest_is_kept_until_the_index_has_doubled(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.vector_index.race.fastest", lambda found, recall: "ivf")
    assert admin.bench(index, sample=5, keep=True)["kept"]
    assert measured(index) == {"backend": "ivf", "vectors": COUNT}
    assert index.info()["spaces"][0]["backend"].startswith("ivf")
    admin.compact(index)
    assert index.info()["spaces"][0]["backend"].startswith("ivf")
    add(index, COUNT, 3 * COUNT)
    admin.compact(index)
    assert index.info()["spaces"][0]["backend"].startswith("flat")


def test_a_backend_that_is_asked_for_takes_the_place_of_a_measured_one(index: Index) -> None:
    admin.bench(index, sample=5, keep=True)
    admin.rebuild(index, "exact")
    assert measured(index) == {} and index.info()["recipe"]["backend"] == "exact"


def test_only_one_that_reaches_the_recall_with_a_filter_too_may_win() -> None:
    rows = [
        BackendFigures("quick", recall=0.99, filtered_recall=0.9, query_ms=0.1),
        BackendFigures("good", recall=0.97, filtered_recall=0.96, query_ms=0.5),
        BackendFigures("slow", recall=1.0, filtered_recall=1.0, query_ms=2.0),
        BackendFigures("large", problem="it needs 9 GB"),
    ]
    assert fastest(rows, 0.95) == "good"
    assert fastest(rows, 0.9) == "quick"
    assert fastest(rows[3:], 0.0) is None


def test_an_empty_index_has_nothing_to_race(tmp_path: Path) -> None:
    with Index.create(tmp_path / "empty", encoder="hashing") as empty:
        found = admin.bench(empty, keep=True)
    assert (found["vectors"], found["backends"], found["fastest"], found["kept"]) == (0, [], None, False)
