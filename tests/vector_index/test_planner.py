"""The planner keeps to the measured limits, says why, and does not change its mind at the edge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.utils import plugins
from semsearch.vector_index import backends, planner

GB = 10**9


@pytest.mark.parametrize(
    ("count", "backend"),
    [
        (0, "flat"),
        (1, "flat"),
        (50_000, "flat"),
        (50_001, "ivf"),
        (1_000_000, "ivf"),
        (100_000_000, "ivf"),
    ],
)
def test_size_decides(count: int, backend: str) -> None:
    assert planner.choose(count, 384).backend == backend


def test_little_memory_asks_for_compression() -> None:
    assert planner.choose(50_000, 384, memory=GB).backend == "flat"
    assert planner.choose(50_000, 384, memory=GB // 20).backend == "ivf"
    assert planner.choose(50_000, 384, memory=GB // 100).backend == "compressed"
    assert planner.choose(1_000_000, 384, memory=GB // 4).backend == "compressed"


def test_a_perfect_recall_asks_for_exact_search_while_memory_lasts() -> None:
    assert planner.choose(1_000_000, 384, recall=1.0).backend == "flat"
    assert planner.choose(1_000_000, 384, recall=1.0, memory=GB).backend == "ivf"


def test_a_shortage_of_memory_is_said_aloud() -> None:
    assert "2.6 GB of the 1.0 GB" in planner.choose(10_000_000, 384, memory=GB).why
    assert "GB" not in planner.choose(10_000_000, 384).why


@given(st.integers(0, 10**9), st.integers(1, 8192), st.floats(0.5, 1), st.none() | st.integers(0, 10**13))
def test_every_choice_is_a_backend_and_a_sentence(count: int, dim: int, recall: float, memory: int | None) -> None:
    choice = planner.choose(count, dim, recall=recall, memory=memory)
    assert choice.backend in plugins.names(backends)
    assert choice.why.startswith(f"{count:,} vectors; ") and not choice.why.endswith(".")


@given(st.integers(0, 10**8), st.integers(1, 2048), st.none() | st.integers(10**6, 10**12))
def test_a_choice_fits_where_it_was_made(count: int, dim: int, memory: int | None) -> None:
    assert planner.fits(planner.choose(count, dim, memory=memory).backend, count, dim, memory=memory)


def test_a_few_more_documents_do_not_flip_the_backend() -> None:
    assert planner.fits("flat", 50_010, 384)
    assert planner.fits("ivf", 49_990, 384)
    assert not planner.fits("flat", 70_000, 384)
    assert not planner.fits("ivf", 30_000, 384)
    assert not planner.fits("exact", 30_000, 384)


def test_allowed_memory_is_half_of_what_is_there_and_steady() -> None:
    once, again = planner.allowed_memory(), planner.allowed_memory()
    assert once == again
    assert once is None or once > 10**7
